package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	roleArg     = "keeper-test-role"
	waitTimeout = 60 * time.Second
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == roleArg {
		os.Exit(play(os.Args[2], os.Args[3:]))
	}
	if len(os.Args) > 2 && os.Args[1] == host.ProcessCommand { // a run that does not end until it is stopped
		fmt.Println(`{"run":"1234"}`)
		<-time.After(2 * waitTimeout) // nothing but select {} is a deadlock for Go, unless cgo is linked
	}
	os.Exit(m.Run())
}

func play(role string, args []string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	switch role {
	case "keeper": // directory of locks, mode
		code, err := host.KeepBridge(context.Background(), os.Stdin, os.Stdout, host.KeeperOptions{Program: os.Args[0],
			Args: []string{roleArg, "bridge"}, Env: []string{"PATH=/bin:/usr/bin", "GORACE=atexit_sleep_ms=0"},
			Locks: args[0], Mode: proctree.Mode(args[1]), Log: log})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return code
	case "client": // directory of locks, mode, run
		cmd := exec.Command(os.Args[0], roleArg, "keeper", args[0], args[1])
		cmd.Env = []string{"PATH=/bin:/usr/bin", "GORACE=atexit_sleep_ms=0"}
		c, err := bridge.StartProcess(context.Background(), cmd, host.NoHandler{}, log, proctree.Keep)
		if err == nil {
			err = raise(context.Background(), c, proctree.Mark{Run: args[2], Bridge: "box"}, lease)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		fmt.Println("ready")
		<-c.Done()
		_, certain := c.Stopped()
		fmt.Printf("certain=%v: %v\n", certain, c.Err())
		return 0
	case "bridge":
		if _, err := proctree.EnterNamespace(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		if err := proctree.HoldInheritedLock(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		kept, err := host.Kept()
		if err != nil || kept == nil {
			fmt.Fprintln(os.Stderr, "no keeper:", err)
			return 3
		}
		release, err := proctree.BecomeSubreaper()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 3
		}
		defer release()
		server := bridge.NewServer(sleepers{}, bridge.ServerOptions{Version: "test", Logger: log, Machine: machine{},
			Renewed: kept.Renewed})
		_ = server.Serve(context.Background(), kept.Pipe(bridge.Stdio()))
		return 0
	}
	return 4
}

// sleepers is a launcher whose agents sleep, each with a child in a session of its own. It starts nothing else.
type sleepers struct{ bridge.Launcher }

func (sleepers) Detect(context.Context, bridge.ClaudeSpec) (bridge.ClaudeInfo, error) {
	return bridge.ClaudeInfo{Path: "/bin/sleep", Version: "2.1.329"}, nil
}

func (sleepers) Sweep(of bridge.Owner) int {
	return proctree.SweepMarked(proctree.Mark{Run: of.Run, Bridge: of.Bridge})
}

func (sleepers) Launch(_ context.Context, of bridge.Owner, _ bridge.ClaudeSpec, p bridge.SpawnParams,
	host bridge.Host) (bridge.Agent, error) {
	cmd := exec.Command("/bin/sh", "-c", "setsid sleep 1000 & exec sleep 1000")
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	child, err := proctree.Start(cmd, proctree.Mark{Run: of.Run, Bridge: of.Bridge, Agent: p.AgentRef.String()})
	if err != nil {
		return nil, err
	}
	a := &sleeper{child: child, host: host, done: make(chan struct{})}
	go func() {
		<-child.Done()
		host.Emit(bridge.Event{Body: bridge.Done{SessionID: p.Config.SessionID}})
		close(a.done)
	}()
	return a, nil
}

type sleeper struct {
	child *proctree.Child
	host  bridge.Host
	done  chan struct{}
}

var errAsleep = errors.New("it sleeps")

func (a *sleeper) Info() bridge.SpawnResult                            { return bridge.SpawnResult{PID: a.child.PID()} }
func (a *sleeper) Message(context.Context, bridge.MessageParams) error { return errAsleep }
func (a *sleeper) Interrupt(context.Context) (bridge.InterruptResult, error) {
	return bridge.InterruptResult{}, errAsleep
}
func (a *sleeper) Context(context.Context) (bridge.ContextResult, error) {
	return bridge.ContextResult{}, errAsleep
}
func (a *sleeper) Ask(context.Context, string) (string, error)             { return "", errAsleep }
func (a *sleeper) Configure(context.Context, bridge.ConfigureParams) error { return errAsleep }
func (a *sleeper) Probe(context.Context) bridge.ProbeResult                { return bridge.ProbeResult{} }
func (a *sleeper) Done() <-chan struct{}                                   { return a.done }

func (a *sleeper) Stop(ctx context.Context, _ bool) error {
	_, err := a.child.Kill(ctx)
	<-a.done
	return err
}

// machine is a host that only answers initialize.
type machine struct{ bridge.Machine }

func (machine) Begin(context.Context, bridge.Owner, bridge.RemoteParams) (bridge.RemoteInfo, error) {
	return bridge.RemoteInfo{OS: "linux", Home: "/root", Dir: "/srv", Cache: "/srv/cache/.git"}, nil
}

// far is a kept bridge with an agent, and its client.
type far struct {
	*bridge.Client
	mark   proctree.Mark
	keeper *exec.Cmd
	relay  *relay
}

// begin starts a kept bridge behind a relay, and an agent below it.
func begin(t *testing.T, locks string, m proctree.Mark, lease time.Duration, mode proctree.Mode) *far {
	t.Helper()
	cmd := exec.Command(os.Args[0], roleArg, "keeper", locks, string(mode))
	cmd.Env = []string{"PATH=/bin:/usr/bin", "GORACE=atexit_sleep_ms=0"}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin := testkit.Must(cmd.StdinPipe())(t)
	stdout := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	near, other := net.Pipe()
	r := &relay{over: make(chan struct{})}
	r.work.Go(func() {
		r.carry(stdin, other)
		stdin.Close()
	})
	r.work.Go(func() {
		r.carry(other, stdout)
		other.Close()
	})
	f := &far{Client: bridge.NewClient(near, host.NoHandler{}, nil), mark: m, keeper: cmd, relay: r}
	t.Cleanup(func() {
		f.Close()
		other.Close()
		close(r.over)
		_ = cmd.Process.Kill() // if it did not end at the end of its input
		proctree.SweepMarked(m)
		r.work.Wait()
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	testkit.OK(t, raise(ctx, f.Client, m, lease))
	f.await(t, "the agent and its child run", func() bool { return len(f.agents()) == 2 })
	return f
}

// raise starts an agent through a bridge.
func raise(ctx context.Context, c *bridge.Client, m proctree.Mark, lease time.Duration) error {
	_, err := c.Initialize(ctx, bridge.InitializeParams{Client: "test", Run: m.Run, Bridge: m.Bridge,
		Claude: bridge.ClaudeSpec{Path: "sleep"}, Remote: &bridge.RemoteParams{Version: "test",
			LeaseMS: lease.Milliseconds()}})
	if err != nil {
		return err
	}
	_, err = c.Spawn(ctx, bridge.SpawnParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1},
		Config: bridge.AgentConfig{SessionID: "s", CWD: "/"}})
	return err
}

// agents returns the live processes of agents.
func (f *far) agents() []proctree.Process {
	return slices.DeleteFunc(proctree.SurvivorsMarked(f.mark), func(p proctree.Process) bool {
		return p.Name != "sleep"
	})
}

// bridgePID returns the pid of the bridge below the keeper.
func (f *far) bridgePID(t *testing.T) int {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/task/%d/children", f.keeper.Process.Pid, f.keeper.Process.Pid)
	tasks := testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(path)), "*", "children")))(t)
	for _, task := range tasks {
		raw, err := os.ReadFile(task)
		var pid int
		if _, scanned := fmt.Sscan(strings.TrimSpace(string(raw)), &pid); err == nil && scanned == nil {
			return pid
		}
	}
	t.Fatal("the keeper has no child")
	return 0
}

func (f *far) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(waitTimeout); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s; there are %v", waitTimeout, what, proctree.SurvivorsMarked(f.mark))
		}
		<-time.After(10 * time.Millisecond)
	}
}

// relay forwards bytes until it starts to drop them. Then neither side learns that the other has ended.
type relay struct {
	work sync.WaitGroup
	over chan struct{} // closed at the end of the test
	mu   sync.Mutex
	hole bool
}

func (r *relay) swallow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hole = true
}

func (r *relay) carry(to io.Writer, from io.Reader) {
	in := bufio.NewReader(from)
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		r.mu.Lock()
		hole := r.hole
		r.mu.Unlock()
		if !hole && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil && hole {
			<-r.over
		}
		if err != nil {
			return
		}
	}
}

func zombie(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}
