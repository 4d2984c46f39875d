package bridge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// fakeMachine is a host that answers without checking anything.
type fakeMachine struct {
	info func(*RemoteInfo)
	// foreign is the branch to which it reports to have committed; "" for the Orchestrator's own.
	foreign string
	mu      sync.Mutex
	of      Owner
	p       RemoteParams
}

func (m *fakeMachine) Begin(_ context.Context, of Owner, p RemoteParams) (RemoteInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of, m.p = of, p
	info := RemoteInfo{Hostname: "box", OS: "linux", Arch: "amd64", Home: "/home/far", Dir: "/srv/far",
		Cache: "/srv/far/cache/.git", Sandbox: "/usr/bin/bwrap"}
	if m.info != nil {
		m.info(&info)
	}
	return info, nil
}

func (m *fakeMachine) Resolve(_ context.Context, paths []string) (all []ResolvedPath) {
	for _, path := range paths {
		all = append(all, ResolvedPath{Path: path})
	}
	return all
}

func (m *fakeMachine) Inventory(_ context.Context, p InventoryParams) (InventoryResult, error) {
	return InventoryResult{Dir: p.Dir, Root: p.Dir, Items: []InventoryItem{{Kind: "hook", File: "a", What: "x"}}}, nil
}

func (m *fakeMachine) PrepareWork(_ context.Context, p PrepareWorkParams) (WorkResult, error) {
	dir := fmt.Sprintf("/srv/far/%.8s/orch-%d", m.of.Run, p.Orchestrator)
	return WorkResult{Dir: dir, CWD: dir + "/sub", Branch: m.branch(p.Orchestrator), Base: p.Base, Kind: p.Kind}, nil
}

func (m *fakeMachine) CommitWork(_ context.Context, p CommitWorkParams) (CommitWorkResult, error) {
	return CommitWorkResult{Head: "c0ffee", Branch: m.branch(p.Orchestrator)}, nil
}

func (m *fakeMachine) branch(orchestrator int) string {
	return cmp.Or(m.foreign, fmt.Sprintf("arbiter/%.8s/orch-%d.1", m.of.Run, orchestrator))
}

func (m *fakeMachine) RemoveWork(context.Context, RemoveWorkParams) (RemoveWorkResult, error) {
	return RemoveWorkResult{}, nil
}

// sinceStart returns a clock for leases in a bubble.
func sinceStart() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// network joins two pipes, with the delays and failures of a network.
type network struct {
	near, far net.Conn // its own ends
	over      chan struct{}
	once      sync.Once
	work      sync.WaitGroup

	mu    sync.Mutex
	delay time.Duration // each way
	hole  bool          // nothing arrives any more
}

// newNetwork returns the ends for a client and a server.
func newNetwork() (n *network, client, server net.Conn) {
	n = &network{over: make(chan struct{})}
	client, n.near = net.Pipe()
	server, n.far = net.Pipe()
	n.work.Go(func() { n.carry(n.far, n.near) })
	n.work.Go(func() { n.carry(n.near, n.far) })
	return n, client, server
}

type parcel struct {
	data []byte
	due  time.Time
}

func (n *network) carry(to, from net.Conn) {
	way := make(chan parcel, 10_000)
	n.work.Go(func() {
		defer to.Close()
		for p := range way {
			<-time.After(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				from.Close()
			}
		}
	})
	defer close(way)
	buf := make([]byte, 64<<10)
	for {
		got, err := from.Read(buf)
		n.mu.Lock()
		delay, hole := n.delay, n.hole
		n.mu.Unlock()
		if got > 0 && !hole {
			way <- parcel{append([]byte(nil), buf[:got]...), time.Now().Add(delay)}
		}
		if err != nil {
			if hole { // a side that receives nothing does not learn of the end either
				<-n.over
			}
			return
		}
	}
}

func (n *network) slow(delay time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = delay
}

func (n *network) swallow() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hole = true
}

// reset breaks the connection, and returns when nothing is in transit any more.
func (n *network) reset() {
	n.once.Do(func() { close(n.over) })
	n.near.Close()
	n.far.Close()
	n.work.Wait()
}

// remoteRig is a client and a remote bridge with a network between them.
type remoteRig struct {
	*rig
	net     *network
	machine *fakeMachine
	awake   *drowsy // the bridge's clock
	began   time.Time
	lease   time.Duration
}

// drowsy is a clock that also counts the time during which the machine slept.
type drowsy struct {
	now func() time.Duration

	mu    sync.Mutex
	slept time.Duration
}

func (d *drowsy) Now() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now() + d.slept
}

func (d *drowsy) sleep(length time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slept += length
}

func newRemoteRig(t *testing.T, lease time.Duration, h *recorder) *remoteRig {
	t.Helper()
	r := &remoteRig{rig: &rig{l: &fakeLauncher{}, h: h, ctx: t.Context(), served: make(chan error, 1)},
		machine: &fakeMachine{}, awake: &drowsy{now: sinceStart()}, began: time.Now(), lease: lease}
	var near, far io.ReadWriteCloser
	r.net, near, far = func() (*network, io.ReadWriteCloser, io.ReadWriteCloser) {
		n, c, s := newNetwork()
		return n, c, s
	}()
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	log := testLog(t)
	server := NewServer(r.l, ServerOptions{Version: "test", Logger: log, Machine: r.machine, Now: r.awake.Now})
	go func() { r.served <- server.Serve(ctx, far) }()
	r.Client = newClient(near, h, log)
	r.Client.contact.now = sinceStart()
	r.Client.start()
	_, err := r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1", Bridge: "box",
		Remote: &RemoteParams{Version: "test", LeaseMS: lease.Milliseconds(),
			PassEnv: map[string]string{"NPM_TOKEN": "x", "MODE": "far"}}})
	if err != nil {
		t.Fatalf("initialize: %v", err)
	}
	return r
}

// end waits for both sides.
func (r *remoteRig) end(t *testing.T) error {
	t.Helper()
	r.Close()
	r.net.reset()
	err := <-r.served
	r.stop()
	return err
}
