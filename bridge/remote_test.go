package bridge

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func remoteParams() InitializeParams {
	return InitializeParams{Client: "test", Run: "run-1", Bridge: "box",
		Remote: &RemoteParams{Version: "test", LeaseMS: 60_000}}
}

// TestRemoteBridge reports its host, and passes variables to agents, terminals and queries, not to checks.
func TestRemoteBridge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRemoteRig(t, time.Minute, &recorder{})
		testkit.Check(t, r.machine.of == (Owner{"run-1", "box"}), "the machine began for %+v", r.machine.of)
		var got map[string]string
		r.l.launch = func(_ context.Context, p SpawnParams, host Host) (Agent, error) {
			got = p.Config.Env
			return r.l.add(p, host), nil
		}
		p := spawnParams("orch-1", 1)
		p.Config.Env = map[string]string{"MODE": "own"}
		testkit.Must(r.Spawn(r.ctx, p))(t)
		testkit.Check(t, got["NPM_TOKEN"] == "x" && got["MODE"] == "own", "the agent's environment: %v", got)
		found, err := r.Resolve(r.ctx, ResolveParams{Paths: []string{"/a", "/b"}})
		testkit.Check(t, err == nil && len(found.Paths) == 2 && found.Paths[1].Path == "/b", "resolve: %+v, %v", found,
			err)
		for what, err := range map[string]error{
			"a relative path":      errOf(r.Resolve(r.ctx, ResolveParams{Paths: []string{"a"}})),
			"a relative directory": errOf(r.Inventory(r.ctx, InventoryParams{Dir: "w"})),
			"a branch as base": errOf(r.PrepareWork(r.ctx, PrepareWorkParams{Orchestrator: 1, Generation: 1,
				Kind: "worktree", Base: "--upload-pack=x"})),
			"a directory above": errOf(r.PrepareWork(r.ctx, PrepareWorkParams{Orchestrator: 1, Generation: 1,
				Kind: "clone", Base: strings.Repeat("0", 40), Subdir: "../x"})),
		} {
			testkit.Same(t, fmt.Sprintf("%s: %v", what, err), -32602, codeOf(err))
		}
		r.end(t)
	})
}

// TestRemoteRefusals: the error says what to do about a bridge that cannot be used.
func TestRemoteRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		machine Machine
		change  func(*InitializeParams)
		code    int
		want    string
	}{
		"another version": {"1.4.0", &fakeMachine{}, func(p *InitializeParams) { p.Remote.Version = "1.5.0" },
			CodeVersion,
			"arbiter on the host is version 1.4.0, here it is 1.5.0; run there: go install " +
				"github.com/arbiter-cli/arbiter/cmd/arbiter@v1.5.0"},
		"another build": {"1.4.0", &fakeMachine{}, func(p *InitializeParams) { p.Remote.Version = "devel-0123456789ab" },
			CodeVersion, "cmd/arbiter@0123456789ab"},
		"an unknown build": {"1.4.0", &fakeMachine{}, func(p *InitializeParams) { p.Remote.Version = "devel" }, CodeVersion,
			"copy this program to the host"},
		"another protocol": {"test", &fakeMachine{}, func(p *InitializeParams) { p.ProtocolVersion = 1 }, CodeVersion,
			"protocol version"},
		"without --remote": {"test", nil, func(p *InitializeParams) {}, CodeUnsupported, "not started with --remote"},
		"without remote": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Remote = nil }, CodeUnsupported,
			"was started with --remote"},
		"no name": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Bridge = "" }, -32602,
			"bridge is missing"},
		"a name that is a path": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Bridge = "../x" }, -32602, "bridge"},
		"no lease": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Remote.LeaseMS = 0 }, -32602,
			"lease_ms"},
		"no CLI": {"test", &fakeMachine{}, func(p *InitializeParams) { p.Claude.Path = "/missing" }, CodeClaude,
			"run on the host: npm install -g @anthropic-ai/claude-code"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				near, far := net.Pipe()
				served := make(chan error, 1)
				l := &fakeLauncher{detect: func(_ context.Context, spec ClaudeSpec) (ClaudeInfo, error) {
					if spec.Path == "/missing" {
						return ClaudeInfo{}, &RPCError{Code: CodeClaude, Category: CatClaudeMissing, Message: "none"}
					}
					return ClaudeInfo{}, nil
				}}
				server := NewServer(l, ServerOptions{Version: tc.version, Machine: tc.machine, Now: sinceStart()})
				go func() { served <- server.Serve(t.Context(), far) }()
				c := NewClient(near, &recorder{}, testLog(t))
				p := remoteParams()
				tc.change(&p)
				_, err := c.Initialize(t.Context(), p)
				testkit.Check(t, codeOf(err) == tc.code && strings.Contains(err.Error(), tc.want), "got %v", err)
				c.Close()
				<-served
			})
		})
	}
}

// TestHostilePeer: the client leaves a host that breaks the protocol, and reports how it did so.
func TestHostilePeer(t *testing.T) {
	event := func(n int, id string, generation int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"event","params":{"n":%d,"id":%q,"generation":%d,"event":"delta",`+
			`"text":"x"}}`, n, id, generation)
	}
	request := func(id, method, agent string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":{"id":%q,"generation":1,"tool":"Bash",`+
			`"input":{}}}`, id, method, agent)
	}
	for name, tc := range map[string]struct {
		script func(send func(string))
		want   string
	}{
		"an event again": {func(send func(string)) {
			send(event(1, "orch-1", 1))
			send(event(2, "orch-1", 1))
			send(event(1, "orch-1", 1))
		}, "the event with the number 1 came after number 2"},
		"an event without a number": {func(send func(string)) { send(event(0, "orch-1", 1)) },
			"number 0 came after number 0"},
		"another agent's event": {func(send func(string)) { send(event(1, "arbiter", 1)) }, `an event of "arbiter#1"`},
		"a later generation":    {func(send func(string)) { send(event(1, "orch-1", 2)) }, `an event of "orch-1#2"`},
		"another agent's tool call": {func(send func(string)) { send(request("c1", MethodToolCall, "arbiter")) },
			`a request of "arbiter#1"`},
		"another agent's permission": {func(send func(string)) { send(request("c1", MethodPermission, "orch-2")) },
			`a request of "orch-2#1"`},
		"another agent's judgement": {func(send func(string)) { send(request("c1", MethodJudge, "orch-2")) },
			`a request of "orch-2#1"`},
		"a request again": {func(send func(string)) {
			send(request("c7", MethodToolCall, "orch-1"))
			send(request("c7", MethodToolCall, "orch-1"))
		}, "the request c7 came again"},
		"a line without end": {func(send func(string)) {
			long := strings.Repeat("x", 1<<20)
			for range maxLine>>20 + 1 {
				send("\x00" + long) // then say adds no line end
			}
		}, "a line of more than"},
		"lines that are not messages": {func(send func(string)) {
			for range maxStray + 1 {
				send("Welcome to box!")
			}
		}, "lines that are not messages"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, send := hostilePeer(t, func(*InitializeResult) {})
				testkit.Must(c.Initialize(t.Context(), remoteParams()))(t)
				testkit.Must(c.Spawn(t.Context(), spawnParams("orch-1", 1)))(t)
				go tc.script(send)
				<-c.Done()
				var broke *ViolationError
				if err := c.Err(); !errors.As(err, &broke) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("the connection ended with %v", err)
				}
			})
		})
	}
}

// TestFalseInitializeAnswer: the client does not believe a host's report about itself where it matters.
func TestFalseInitializeAnswer(t *testing.T) {
	for name, change := range map[string]func(*InitializeResult){
		"no remote":            func(r *InitializeResult) { r.Remote = nil },
		"another version":      func(r *InitializeResult) { r.Version = "another" },
		"a longer lease":       func(r *InitializeResult) { r.Remote.LeaseMS *= 2 },
		"no home":              func(r *InitializeResult) { r.Remote.Home = "" },
		"a relative directory": func(r *InitializeResult) { r.Remote.Dir = "srv" },
		"a directory with ..":  func(r *InitializeResult) { r.Remote.Dir = "/srv/../etc" },
		"a directory for a shell": func(r *InitializeResult) {
			r.Remote.Dir, r.Remote.Cache = "/srv/$(id)", "/srv/$(id)/cache"
		},
		"a cache elsewhere":  func(r *InitializeResult) { r.Remote.Cache = "/home/other/.git" },
		"a relative sandbox": func(r *InitializeResult) { r.Remote.Sandbox = "bwrap" },
		"a long tale":        func(r *InitializeResult) { r.Remote.Hostname = strings.Repeat("x", 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, _ := hostilePeer(t, change)
				_, err := c.Initialize(t.Context(), remoteParams())
				var broke *ViolationError
				testkit.Check(t, errors.As(err, &broke), "initialize: %v", err)
				<-c.Done()
				if !errors.As(c.Err(), &broke) {
					t.Errorf("the connection ended with %v", c.Err())
				}
			})
		})
	}
}

// TestWorkOfAnotherRun: a branch or a directory that does not belong to the Orchestrator ends the connection.
func TestWorkOfAnotherRun(t *testing.T) {
	const branch, dir = "arbiter/01234567/orch-1.2", "/srv/far/01234567/orch-1"
	p := placed{strict: true}
	p.setWorkPlace("0123456789", "/srv/far")
	testkit.OK(t, p.work(1, branch, dir, dir+"/sub"))
	for _, b := range []string{"", "main", "arbiter/01234567/main", "arbiter/01234567/orch-2.2",
		"arbiter/01234567/orch-11.2", "arbiter/ffffffff/orch-1.2", branch + "/x",
		branch + ":refs/heads/main", "arbiter/01234567/orch-1.+2"} {
		var broke *ViolationError
		err := p.work(1, b, dir)
		testkit.Check(t, errors.As(err, &broke), "branch %q: %v", b, err)
	}
	for _, d := range []string{"", "/srv/far/01234567/orch-2", dir + "/../orch-2", "/srv/far/01234567", dir + "1"} {
		var broke *ViolationError
		err := p.work(1, branch, d)
		testkit.Check(t, errors.As(err, &broke), "directory %q: %v", d, err)
	}
	bubble(t, func(t *testing.T) {
		r := newRemoteRig(t, time.Minute, &recorder{})
		r.machine.foreign = "main"
		testkit.Fails(t, "a foreign branch was taken",
			testkit.Err(r.CommitWork(r.ctx, CommitWorkParams{Orchestrator: 1, Message: "work"})))
		<-r.Done()
		var broke *ViolationError
		testkit.Check(t, errors.As(r.Err(), &broke), "the connection ended with %v", r.Err())
	})
}

// hostilePeer answers initialize, with false data, and spawn. say writes a line to the client.
func hostilePeer(t *testing.T, change func(*InitializeResult)) (c *Client, send func(string)) {
	t.Helper()
	near, far := net.Pipe()
	c = newClient(near, &recorder{}, testLog(t))
	c.contact.now = sinceStart()
	c.start()
	send = func(line string) {
		if rest, open := strings.CutPrefix(line, "\x00"); open {
			_, _ = far.Write([]byte(rest))
			return
		}
		_, _ = far.Write([]byte(line + "\n"))
	}
	go func() {
		lines := bufio.NewScanner(far)
		for lines.Scan() {
			var m struct {
				ID     string
				Method string
			}
			if json.Unmarshal(lines.Bytes(), &m) != nil || m.Method == "" {
				continue
			}
			info, _ := (&fakeMachine{}).Begin(t.Context(), Owner{}, RemoteParams{})
			info.LeaseMS = 60_000
			result := InitializeResult{ProtocolVersion: ProtocolVersion, Version: "test", Remote: &info}
			change(&result)
			answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
			if m.Method != MethodInitialize {
				answer, _ = json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": SpawnResult{}})
			}
			send(string(answer))
		}
	}()
	return c, send
}

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
	return testkit.Each(paths, func(path string) ResolvedPath { return ResolvedPath{Path: path} })
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
	var near, far net.Conn
	r.net, near, far = newNetwork()
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	log := testLog(t)
	server := NewServer(r.l, ServerOptions{Version: "test", Logger: log, Machine: r.machine, Now: r.awake.Now})
	go func() { r.served <- server.Serve(ctx, far) }()
	r.Client = newClient(near, h, log)
	r.Client.contact.now = sinceStart()
	r.Client.start()
	testkit.Must(r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1", Bridge: "box",
		Remote: &RemoteParams{Version: "test", LeaseMS: lease.Milliseconds(),
			PassEnv: map[string]string{"NPM_TOKEN": "x", "MODE": "far"}}}))(t)
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

// TestLeaseOverSlowNetworks: with any delay up to a sixth of the lease, both sides keep the lease, and
// calls work.
func TestLeaseOverSlowNetworks(t *testing.T) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRemoteRig(t, time.Minute, &recorder{})
				r.net.slow(delay)
				a := r.spawn(t, "orch-1", 1)
				time.Sleep(time.Hour)
				err := r.Message(r.ctx, MessageParams{AgentRef{"orch-1", 1}, "m", "hi", false, nil})
				testkit.Check(t, err == nil, "after an hour: %v", err)
				by, certain := r.Stopped()
				if left := time.Until(by); certain || left < time.Minute/2 || left > time.Minute+LeaseGrace {
					t.Errorf("while it lives it has stopped for certain in %v: %v", left, certain)
				}
				select {
				case <-a.done:
					t.Error("the agent has ended")
				default:
				}
				r.end(t)
			})
		})
	}
}

// TestLeaseEndsBothSides: after any failure of the connection, the bridge ends its agents before the client reports it.
func TestLeaseEndsBothSides(t *testing.T) {
	const length = 20 * time.Second
	for name, tc := range map[string]struct {
		happen func(*remoteRig)
		notice time.Duration // the client's maximum time to notice
	}{
		"a black hole": {func(r *remoteRig) { r.net.swallow() }, length/2 + time.Second},
		"a black hole on a slow network": {func(r *remoteRig) {
			r.net.slow(2 * time.Second)
			time.Sleep(time.Minute)
			r.net.swallow()
		}, length/2 + 3*time.Second}, // a tick that was under way still arrives
		"a reset": {func(r *remoteRig) { r.net.reset() }, time.Second},
		"the far side sleeps": {func(r *remoteRig) {
			r.net.swallow()
			time.Sleep(length / 8)
			r.awake.sleep(time.Hour)
		}, length/2 + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRemoteRig(t, length, &recorder{})
				a := r.spawn(t, "orch-1", 1)
				time.Sleep(time.Minute)
				tc.happen(r)
				began := time.Now()
				<-r.Done()
				took := time.Since(began)
				testkit.Check(t, took <= tc.notice, "the client noticed after %v", took)
				by, certain := r.Stopped()
				testkit.Check(t, !certain, "it is certain that all has ended in the moment of the loss")
				<-a.done
				late := time.Since(by)
				testkit.Check(t, late <= 0, "the agent ended %v after the time from which on it was certain", late)
				if time.Until(by) > length+LeaseGrace {
					t.Errorf("it is certain in %v only", time.Until(by))
				}
				r.end(t)
			})
		})
	}
}

// TestNothingContinuesAfterTheLease: a bridge that was stopped, or whose machine slept, checks the clock
// first when it continues. Answers from that time do not renew its lease.
func TestNothingContinuesAfterTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		h := &recorder{judge: func(context.Context, JudgeParams) (JudgeResult, error) {
			<-release
			return JudgeResult{Behavior: Pass}, nil
		}}
		r := newRemoteRig(t, time.Minute, h)
		a := r.spawn(t, "orch-1", 1)
		judged := make(chan JudgeResult, 1)
		go func() {
			got, _ := a.host.Judge(r.ctx, JudgeParams{Tool: "Bash", Input: json.RawMessage(`{}`)})
			judged <- got
		}()
		synctest.Wait()
		r.awake.sleep(time.Hour)
		close(release)
		if got := <-judged; got.Behavior != Deny || !strings.Contains(got.Message, "lease") {
			t.Errorf("a tool call that was allowed an hour ago: %+v", got)
		}
		testkit.Fails(t, "a spawn after the lease", testkit.Err(r.Spawn(r.ctx, spawnParams("orch-2", 1))), ErrClosed)
		<-a.done
		testkit.Fails(t, "the bridge ended", r.end(t), errLeaseOver)
	})
}

// TestAnsweredAfterTheEnd: an answer that arrives after the lease has expired changes nothing, however new
// its tick is.
func TestAnsweredAfterTheEnd(t *testing.T) {
	now := time.Duration(1)
	l := newLease(time.Minute, func() time.Duration { return now }, nil, nil)
	now += 59 * time.Second
	l.renew(now)
	now += 59 * time.Second
	testkit.Check(t, l.holds(), "a renewed lease does not hold")
	l.renew(now - 59*time.Second) // an older answer
	now += 2 * time.Second
	l.renew(now)
	testkit.Check(t, !l.holds() && l.check() != nil, "it was renewed after its end")
	testkit.Check(t, (*lease)(nil).check() == nil, "the bridge ended without a lease")
}

// TestClientSleeps: the client's machine slept for an hour. The client gives up the bridge, which has
// ended.
func TestClientSleeps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near := &drowsy{now: sinceStart()}
		c := &contact{now: near.Now, begun: make(chan struct{})}
		c.begin(time.Minute)
		lost := make(chan error, 1)
		go c.watch(nil, func(err error) { lost <- err })
		_, err := c.tick(t.Context(), TickParams{})
		testkit.Check(t, err == nil, "%v", err)
		near.sleep(time.Hour)
		var silent *SilentError
		err = <-lost
		testkit.Check(t, errors.As(err, &silent) && silent.For >= time.Hour, "got %v", err)
		testkit.Same(t, "the bridge ends in only", 0, c.left())
		_, err = c.tick(t.Context(), TickParams{})
		testkit.Check(t, codeOf(err) == CodeShuttingDown, "a tick after it was given up: %v", err)
	})
}

// TestShutdownIsCertain: the client does not wait for a bridge that reports that it stopped everything.
func TestShutdownIsCertain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRemoteRig(t, time.Minute, &recorder{})
		r.spawn(t, "orch-1", 1)
		testkit.Works(t, "Shutdown", testkit.Err(r.Shutdown(r.ctx, ShutdownParams{})))
		_, certain := r.Stopped()
		testkit.Check(t, certain, "it is not certain")
		r.end(t)
	})
	bubble(t, func(t *testing.T) { // a bridge on this machine ends with its connection
		r := newRig(t, &fakeLauncher{}, &recorder{})
		_, certain := r.Stopped()
		testkit.Check(t, !certain, "a bridge that lives has stopped")
		r.leave(t)
		_, certain = r.Stopped()
		testkit.Check(t, certain, "a bridge that has ended has not stopped")
	})
}

// TestTickAfterSilence: ticks that waited in the pipe while the client was stopped are refused. They do not
// change the time at which everything on the host has stopped.
func TestTickAfterSilence(t *testing.T) {
	var now time.Duration
	c := &contact{now: func() time.Duration { return now }, begun: make(chan struct{})}
	c.begin(2 * time.Second)
	now = 900 * time.Millisecond
	testkit.OK(t, testkit.Err(c.tick(t.Context(), TickParams{})))
	now += 2*time.Second + LeaseGrace
	_, err := c.tick(t.Context(), TickParams{})
	testkit.Check(t, err != nil && c.left() == 0, "a tick that was read late: %v, %v left", err, c.left())
	_, gaveUp := c.silent()
	testkit.Check(t, gaveUp, "the bridge was not given up")
}

// TestNow: Now advances like Go's own clock while the machine is awake.
func TestNow(t *testing.T) {
	before, at := time.Now(), BootTime()
	testkit.Need(t, at > 0, "it shows %v", at)
	for BootTime() <= at { // until the clock's next step
	}
	passed, by := BootTime()-at, time.Since(before)
	testkit.Check(t, passed <= by+time.Second, "%v have passed, by Go's clock %v", passed, by)
}
