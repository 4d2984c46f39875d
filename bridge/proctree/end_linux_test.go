package proctree_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// curtain starts an arbiter and returns when it has printed its line.
func curtain(t testing.TB, cmd *exec.Cmd) (*proctree.Child, state) {
	t.Helper()
	out, w, err := os.Pipe()
	testkit.OK(t, err)
	defer out.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &stderr
	cmd.WaitDelay = time.Second
	c, err := proctree.Start(cmd, proctree.Mark{})
	w.Close()
	testkit.OK(t, err)
	testkit.OK(t, out.SetReadDeadline(time.Now().Add(3*proctree.WaitTimeout)))
	line, err := bufio.NewReader(out).ReadString('\n')
	var s state
	if err == nil {
		err = json.Unmarshal([]byte(line), &s)
	}
	if err != nil {
		_ = c.Signal(syscall.SIGKILL)
		_ = c.Wait()
		t.Fatalf("the arbiter did not get as far: %v\n%s", err, stderr.String())
	}
	return c, s
}

func home(t testing.TB, cmd *exec.Cmd, dir string) *exec.Cmd {
	t.Helper()
	cmd.Env = append(cmd.Env, "HOME="+dir, "TMPDIR="+dir)
	return cmd
}

// modes returns the modes that are possible here.
func modes(t testing.TB) []proctree.Mode {
	t.Helper()
	cmd := proctree.Again(os.Args[0], "bridge")
	if got := proctree.Isolate(t.Context(), cmd, proctree.ModeAlways); got.Kind == proctree.NoNamespace {
		t.Logf("without a namespace: %v", got)
		return []proctree.Mode{proctree.ModeNever}
	}
	return []proctree.Mode{proctree.ModeNever, proctree.ModeAlways}
}

const agents = 8

// collapse starts an arbiter with deaf agents, has it killed, and measures how long any process of the run
// survives.
func collapse(t testing.TB, dir string, mode proctree.Mode, run string) time.Duration {
	t.Helper()
	c, s := curtain(t, home(t, fakeAgents(dir, run, mode, agents).command(proctree.Again(os.Args[0], "arbiter")), dir))
	defer proctree.Sweep(run, "")
	if n := len(proctree.Survivors(run)); n != 2*agents { // the agents, and the escaped processes with a mark
		t.Fatalf("%d processes stand, want %d", n, 2*agents)
	}
	begun := time.Now()
	_ = unix.Kill(c.PID(), unix.SIGKILL)
	_ = c.Wait()
	if err := proctree.Until("nothing of the run is alive", func() bool {
		return !proctree.Exists(s.Bridge) && len(proctree.Survivors(run)) == 0
	}); err != nil {
		t.Errorf("%v: %v", err, proctree.Survivors(run))
	}
	return time.Since(begun)
}

// TestArbiterKilled: the bridge ends all processes, including deaf and escaped ones.
func TestArbiterKilled(t *testing.T) {
	for _, mode := range modes(t) {
		t.Run(string(mode), func(t *testing.T) {
			took := collapse(t, t.TempDir(), mode, testkit.Run(t))
			t.Logf("%d deaf agents and %d escaped from them were gone after %v", agents, 2*agents, took)
			testkit.Same(t, "without a mark are left", 0, orphans())
		})
	}
}

// orphans counts the escaped processes without a mark that this process has adopted.
func orphans() int {
	n := 0
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(dir + "/cmdline")
		env, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(line, []byte("\x00escaped\x00")) && bytes.HasPrefix(line, []byte(os.Args[0])) &&
			bytes.HasPrefix(env, []byte("HIDDEN=1")) {
			n++
		}
	}
	return n
}

// TestBothKilled: with a namespace no process outlives the bridge. Without one the next start finds the
// processes with a mark, and reports how many.
func TestBothKilled(t *testing.T) {
	for _, mode := range modes(t) {
		t.Run(string(mode), func(t *testing.T) {
			c, s := curtain(t,
				home(t, fakeAgents(t.TempDir(), testkit.Run(t), mode, agents).command(proctree.Again(os.Args[0], "arbiter")),
					t.TempDir()))
			t.Cleanup(func() { proctree.Sweep(testkit.Run(t), "") })
			bridge := testkit.Must(unix.PidfdOpen(s.Bridge, 0))(t)
			defer unix.Close(bridge)
			for _, pid := range []int{c.PID(), s.Bridge} {
				testkit.OK(t, unix.Kill(pid, unix.SIGKILL))
			}
			_ = c.Wait()
			if _, err := unix.Poll([]unix.PollFd{{Fd: int32(bridge), Events: unix.POLLIN}},
				int(proctree.WaitTimeout.Milliseconds())); err != nil && err != unix.EINTR {
				t.Fatal(err)
			}
			want := map[string]int{testkit.Run(t): 3 * agents} // those without a mark are their living parents' children
			if s.Isolation != proctree.NoNamespace {
				want = nil
			}
			swept := proctree.SweepStrays(func(run string) bool { return run == testkit.Run(t) })
			testkit.Check(t, len(swept) == len(want) && swept[testkit.Run(t)] == want[testkit.Run(t)],
				"swept %v, want %v", swept, want)
			testkit.Empty(t, "left", proctree.Survivors(testkit.Run(t)))
		})
	}
}

// BenchmarkArbiterKilled reports how long anything outlives a killed arbiter. The baseline is one
// plain process, from the signal until it is reaped.
func BenchmarkArbiterKilled(b *testing.B) {
	for _, mode := range modes(b) {
		b.Run(string(mode), func(b *testing.B) {
			var took, plain []time.Duration
			dir := b.TempDir()
			for i := 0; b.Loop(); i++ {
				took = append(took, collapse(b, dir, mode, fmt.Sprintf("%s %d", b.Name(), i)))
				plain = append(plain, killPlain(b))
			}
			p99 := func(took []time.Duration) float64 {
				slices.Sort(took)
				return float64(took[(len(took)-1)*99/100].Microseconds()) / 1000
			}
			b.ReportMetric(p99(took), "p99-ms")
			b.ReportMetric(p99(plain), "plain-p99-ms")
		})
	}
}

func killPlain(b *testing.B) time.Duration {
	b.Helper()
	cmd := exec.Command("sleep", "600")
	testkit.OK(b, cmd.Start())
	begun := time.Now()
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return time.Since(begun)
}

// TestAgentsDoNotHoldTheLock, and do not inherit the bridge's variables.
func TestAgentsDoNotHoldTheLock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	for _, mode := range modes(t) {
		t.Run(string(mode), func(t *testing.T) {
			p := fakeAgents(t.TempDir(), testkit.Run(t), mode, 1)
			p.Lock = file
			c, s := curtain(t, home(t, p.command(proctree.Again(os.Args[0], "arbiter")), t.TempDir()))
			t.Cleanup(func() {
				_ = unix.Kill(c.PID(), unix.SIGKILL)
				_ = c.Wait()
				err := proctree.Until("the bridge has ended", func() bool { return !proctree.Exists(s.Bridge) })
				testkit.Check(t, err == nil, "%v", err)
			})
			testkit.Check(t, holds(t, s.Bridge, file), "the bridge does not hold the lock: the test could not fail")
			left := proctree.Survivors(testkit.Run(t))
			testkit.Need(t, len(left) == 2, "stand: %v", left)
			for _, p := range left {
				testkit.Check(t, !holds(t, p.PID, file), "%+v holds the lock", p)
				for _, name := range []string{proctree.EnvLock, proctree.EnvNamespace} {
					value, there := entry(proctree.Environ(p.PID), name)
					testkit.Check(t, !there, "%+v was told %s=%s", p, name, value)
				}
			}
		})
	}
}

func holds(t *testing.T, pid int, file string) bool {
	t.Helper()
	fds := testkit.Must(filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)))(t)
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(fd)
		return err == nil && to == file
	})
}

// The processes of a run as in production, except for the supervisor: an arbiter that starts a bridge, the
// bridge, and agents that may be fakes.
func init() {
	proctree.Roles["arbiter"] = func(args []string) { report(arbiter(args[0])) }
	proctree.Roles["bridge"] = func([]string) { report(serve()) }
	proctree.Roles["agent"] = agent
	proctree.Roles["escaped"] = func([]string) { ignoreSignals() }
}

func report(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// plot is the behaviour of an arbiter in a test.
type plot struct {
	Run     string
	Mode    proctree.Mode
	Agents  int
	Claude  bridge.ClaudeSpec
	Config  bridge.AgentConfig
	Message string // one message to the first agent; after its turn the arbiter ends in order
	Lock    string // a file to lock
}

// state is the line that an arbiter prints when all are ready, or when the turn has ended.
type state struct {
	Isolation proctree.Kind
	Bridge    int // pids as seen from outside
	Turn      *bridge.Turn
	Results   []string
}

func (p plot) command(cmd *exec.Cmd) *exec.Cmd {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // plain data
	}
	cmd.Args = append(cmd.Args, string(raw))
	return cmd
}

func arbiter(arg string) error {
	var p plot
	if err := json.Unmarshal([]byte(arg), &p); err != nil {
		return err
	}
	cmd := proctree.Again(os.Args[0], "bridge")
	cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME"), "TMPDIR="+os.Getenv("TMPDIR"))
	var s state
	s.Isolation = proctree.Isolate(context.Background(), cmd, p.Mode).Kind
	if p.Lock != "" {
		lock, err := os.Open(p.Lock)
		if err != nil {
			return err
		}
		proctree.InheritLock(cmd, lock)
	}
	turns := &turnHandler{turn: make(chan bridge.Turn, 1)}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	c, err := bridge.StartProcess(context.Background(), cmd, turns, log, proctree.Keep)
	if err != nil {
		return err
	}
	s.Bridge = cmd.Process.Pid
	if err := raise(c, p); err != nil {
		return err
	}
	if p.Message != "" {
		err := c.Message(context.Background(), bridge.MessageParams{AgentRef: ref(0), MessageID: uuid.NewString(),
			Content: p.Message})
		if err != nil {
			return err
		}
		turn := <-turns.turn
		s.Turn, s.Results = &turn, turns.results
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		return err
	}
	if p.Message != "" {
		return c.Close()
	}
	<-c.Done()
	return c.Err()
}

func ref(i int) bridge.AgentRef {
	return bridge.AgentRef{ID: fmt.Sprintf("orch-%d", i), Generation: 1}
}

// raise starts all agents at once.
func raise(c *bridge.Client, p plot) error {
	if _, err := c.Initialize(context.Background(), bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "test", Run: p.Run, Claude: p.Claude}); err != nil {
		return err
	}
	spawned := make(chan error, p.Agents)
	for i := range p.Agents {
		config := p.Config
		config.SessionID = uuid.NewString()
		go func() {
			_, err := c.Spawn(context.Background(), bridge.SpawnParams{AgentRef: ref(i), Config: config})
			spawned <- err
		}()
	}
	for range p.Agents {
		if err := <-spawned; err != nil {
			return err
		}
	}
	return nil
}

// turnHandler keeps the results of the agents' tools until the first turn ends.
type turnHandler struct {
	results []string
	turn    chan bridge.Turn
}

func (h *turnHandler) Event(e bridge.Event) {
	switch body := e.Body.(type) {
	case bridge.ToolResult:
		h.results = append(h.results, body.Text)
	case bridge.Turn:
		h.turn <- body
	}
}

func (h *turnHandler) ToolCall(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return bridge.ToolCallResult{}, nil
}

func (h *turnHandler) Permission(context.Context, bridge.PermissionParams) (bridge.PermissionResult, error) {
	return bridge.PermissionResult{Behavior: bridge.Allow}, nil
}

func (h *turnHandler) Judge(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

// serve is `arbiter bridge`.
func serve() error {
	if _, err := proctree.EnterNamespace(); err != nil {
		return err
	}
	if err := proctree.HoldInheritedLock(); err != nil {
		return err
	}
	release, err := proctree.BecomeSubreaper()
	if err != nil {
		return err
	}
	defer release()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return bridge.NewServer(claude.NewLauncher(""), bridge.ServerOptions{}).Serve(ctx, bridge.Stdio())
}

// agent implements as much of the CLI's protocol as a start needs. After that it ignores signals,
// interrupts and the end of input, as do the two processes that escaped it, one of which bears no mark.
func agent(args []string) {
	if args[len(args)-1] == "--version" {
		fmt.Println("2.1.329 (Claude Code)")
		return
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	for _, env := range [][]string{nil, {"HIDDEN=1"}} {
		cmd := exec.Command(os.Args[0], proctree.RoleArg, "escaped")
		cmd.SysProcAttr, cmd.Env = &syscall.SysProcAttr{Setsid: true}, env
		report(cmd.Start())
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var l struct {
			RequestID string `json:"request_id"`
			Request   struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
		}
		if json.Unmarshal(in.Bytes(), &l) == nil && l.Request.Subtype == "initialize" {
			fmt.Printf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"claude_code_version":"2.1.329"}}}`+"\n", l.RequestID)
		}
	}
	ignoreSignals()
}

func ignoreSignals() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	wait := make(chan os.Signal, 1)
	signal.Notify(wait, syscall.SIGUSR2)
	<-wait
}

// fakeAgents is a plot of n deaf agents.
func fakeAgents(dir, run string, mode proctree.Mode, n int) plot {
	return plot{
		Run: run, Mode: mode, Agents: n,
		Claude: bridge.ClaudeSpec{Path: os.Args[0], Args: []string{proctree.RoleArg, "agent"}},
		Config: bridge.AgentConfig{CWD: dir, Env: map[string]string{"GORACE": "atexit_sleep_ms=0"}},
	}
}

// entry finds a variable in an environment as /proc shows it.
func entry(environ, name string) (value string, there bool) {
	for e := range strings.SplitSeq(environ, "\x00") {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// TestLiveTurnInANamespace: the real CLI works as the child of process 1, with and without a user
// namespace.
func TestLiveTurnInANamespace(t *testing.T) {
	cli := realCLI(t)
	for name, user := range map[string]bool{"privileged": false, "unprivileged": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd, want := proctree.Again(os.Args[0], "arbiter"), proctree.PIDNamespace
			if user {
				cmd, want = proctree.Unprivileged(t, "arbiter"), proctree.UserNamespace
				if os.Getuid() == 0 {
					dir = ownedByNobody(t)
				}
			} else if os.Getuid() != 0 {
				t.Skip("not privileged")
			}
			path := cli
			if user && os.Getuid() == 0 {
				path = proctree.Publicly(t, cli)
			}
			p := plot{Run: testkit.Run(t), Mode: proctree.ModeAlways, Agents: 1, Claude: bridge.ClaudeSpec{Path: path},
				Message: "go", Config: played(t, dir)}
			c, s := curtain(t, home(t, p.command(cmd), dir))
			t.Cleanup(func() { proctree.Sweep(testkit.Run(t), "") })
			if s.Isolation == proctree.NoNamespace {
				t.Skip("no namespace is to be had here")
			}
			err := c.Wait()
			testkit.Check(t, err == nil && s.Isolation == want, "isolation %s, want %s; the arbiter: %v", s.Isolation, want, err)
			testkit.Check(t, s.Turn.Outcome == bridge.TurnDone && s.Turn.Text == "It is done.", "turn: %+v", s.Turn)
			testkit.Includes(t, "the tool said", strings.Join(s.Results, "\n"), "first=1 seen=few")
			testkit.Empty(t, "left", proctree.Survivors(testkit.Run(t)))
		})
	}
}

// played is an agent whose model runs a command that inspects its surroundings and leaves a daemon behind.
func played(t *testing.T, dir string) bridge.AgentConfig {
	t.Helper()
	sc := testkit.Must(rehearsal.Parse("look.yaml", []byte(`
actors:
  - name: worker
    match: {role: main}
    steps:
      - use:
          - tool: Bash
            input:
              description: look around
              command: >-
                (setsid env -i sleep 1000 >/dev/null 2>&1 &);
                n=$(ls /proc | grep -c '^[0-9]');
                echo "first=$(cut -d' ' -f1 /proc/1/stat) seen=$(test $n -lt 20 && echo few || echo $n)"
      - say: It is done.
`)))(t)
	srv := testkit.Must(rehearsal.Start(sc, rehearsal.Options{}))(t)
	t.Cleanup(func() {
		testkit.Empty(t, "problems", srv.Problems())
		srv.Close()
	})
	return bridge.AgentConfig{CWD: dir, AllowedTools: []string{"Bash(*)"}, StrictMCP: true, Env: map[string]string{
		"ANTHROPIC_BASE_URL": srv.URL(), "ANTHROPIC_API_KEY": srv.Key(), "CLAUDE_CODE_MAX_RETRIES": "0"}}
}

func ownedByNobody(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("", "proctree-nobody-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	testkit.OK(t, os.Chown(dir, proctree.Nobody, proctree.Nobody))
	return dir
}

// realCLI returns the file of the CLI itself, because another user must run it from another directory.
func realCLI(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(corpus.Claude(t, filepath.Join("..", "..")).Path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	testkit.OK(t, err)
	return path
}
