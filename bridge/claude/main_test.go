package claude

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/rehearsal/fakecli"
)

// realCLI is the CLI of the live tests, "" if there is none. It is found before the environment is cleared.
var realCLI = corpus.FindCLI(filepath.Join("..", ".."))

// captures is the directory of the recordings of the wire: the committed ones, or another CLI's.
var captures = cmp.Or(os.Getenv("ARBITER_CAPTURES"), filepath.Join("..", "..", "testdata", "wire"))

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == sandbox.EntryCommand {
		fmt.Fprintln(os.Stderr, sandbox.Enter(os.Args[2:]))
		os.Exit(126)
	}
	if len(os.Args) > 2 && os.Args[1] == fakeArg {
		os.Exit(fakeCLI(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == standInArg {
		os.Exit(fakecli.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(run(m))
}

// run clears the environment first: children must find neither credentials nor
// a configuration of this machine.
func run(m *testing.M) int {
	home, err := os.MkdirTemp("", "claude-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(home)
	path := os.Getenv("PATH")
	require, long := os.Getenv("ARBITER_REQUIRE_CLAUDE"), os.Getenv("ARBITER_LONG")
	os.Clearenv()
	for name, value := range map[string]string{"PATH": path, "HOME": home, "ARBITER_REQUIRE_CLAUDE": require,
		"ARBITER_LONG": long} {
		os.Setenv(name, value)
	}
	corpus.HeedSignals()
	release, err := proctree.BecomeSubreaper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := m.Run()
	release()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// cacheOf is a launcher's cache directory. All tests with the real CLI share one, because hashing its
// hundreds of megabytes takes as long as starting it. Tests with another program have their own.
func cacheOf(spec bridge.ClaudeSpec, home string) string {
	if spec.Path == realCLI {
		return filepath.Join(os.Getenv("HOME"), "cache")
	}
	return filepath.Join(home, "cache")
}

// standInArg makes the test binary the stand-in.
const standInArg = "stand-in"

func standInSpec(t *testing.T) bridge.ClaudeSpec {
	t.Helper()
	self := testkit.Must(os.Executable())(t)
	return bridge.ClaudeSpec{Path: self, Args: []string{standInArg}}
}

// players runs a test with the real CLI and with the stand-in, which must not differ in what the test
// checks.
func players(t *testing.T, test func(t *testing.T, spec bridge.ClaudeSpec)) {
	t.Parallel()
	if !standInByDay(t) {
		t.Run("claude", func(t *testing.T) { t.Parallel(); test(t, realSpec(t)) })
	}
	t.Run("stand-in", func(t *testing.T) { t.Parallel(); test(t, standInSpec(t)) })
}

// inside runs a test with the real CLI alone: it tests the CLI's internals, which the stand-in does not
// imitate.
func inside(t *testing.T, test func(t *testing.T, spec bridge.ClaudeSpec)) {
	t.Parallel()
	t.Run("claude", func(t *testing.T) {
		onlyTheCLI(t, "does not imitate this")
		t.Parallel()
		test(t, realSpec(t))
	})
}

// byDay are the tests and cases that the stand-in alone plays by day: others with the real CLI resemble them, and the
// night plays them with both.
var byDay sync.Map

// realAtNight leaves the real CLI in this test to the night: for each change the stand-in takes its place.
func realAtNight(t *testing.T) { byDay.Store(t.Name(), true) }

// standInByDay reports whether the stand-in takes the real CLI's place in this test.
func standInByDay(t *testing.T) bool {
	if testkit.AtNight() {
		return false
	}
	for name, found := t.Name(), true; found; {
		if _, ok := byDay.Load(name); ok {
			return true
		}
		end := max(strings.LastIndex(name, "/"), 0)
		name, found = name[:end], end > 0
	}
	return false
}

// realSpec returns the CLI that the live tests run.
func realSpec(t *testing.T) bridge.ClaudeSpec {
	t.Helper()
	if standInByDay(t) {
		return standInSpec(t)
	}
	return bridge.ClaudeSpec{Path: corpus.Required(t, realCLI)}
}

// waitTimeout is how long a test waits before it fails.
const waitTimeout = 2 * time.Minute

// testHost records events, and answers with functions.
type testHost struct {
	t          testing.TB
	tool       func(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error)
	permission func(context.Context, bridge.PermissionParams) (bridge.PermissionResult, error)
	judge      func(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error)

	mu     sync.Mutex
	events []bridge.EventBody
	change chan struct{} // closed and replaced with each event
}

func newHost(t testing.TB) *testHost {
	return &testHost{t: t, change: make(chan struct{})}
}

func (h *testHost) Emit(e bridge.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e.Body)
	close(h.change)
	h.change = make(chan struct{})
}

func (h *testHost) ToolCall(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	if h.tool == nil {
		return bridge.ToolCallResult{}, fmt.Errorf("no tool %s", p.Tool)
	}
	return h.tool(ctx, p)
}

func (h *testHost) Permission(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	if h.permission == nil {
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	return h.permission(ctx, p)
}

func (h *testHost) Judge(ctx context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	if h.judge == nil {
		return bridge.JudgeResult{Behavior: bridge.Pass}, nil
	}
	return h.judge(ctx, p)
}

func (h *testHost) all() []bridge.EventBody {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]bridge.EventBody(nil), h.events...)
}

// await waits for the nth event (from 1) of type T that is wanted.
func await[T bridge.EventBody](h *testHost, nth int, wanted func(T) bool) T {
	h.t.Helper()
	deadline := time.After(waitTimeout)
	for {
		h.mu.Lock()
		change := h.change
		found := nth
		for _, e := range h.events {
			if body, ok := e.(T); ok && (wanted == nil || wanted(body)) {
				if found--; found == 0 {
					h.mu.Unlock()
					return body
				}
			}
		}
		h.mu.Unlock()
		select {
		case <-change:
		case <-deadline:
			h.t.Fatalf("waited in vain for %s no. %d; events:\n%s", reflect.TypeFor[T](), nth, h.dump())
		}
	}
}

// of lists the events of type T so far.
func of[T bridge.EventBody](h *testHost) []T {
	var list []T
	for _, e := range h.all() {
		if body, ok := e.(T); ok {
			list = append(list, body)
		}
	}
	return list
}

func (h *testHost) dump() string {
	var b strings.Builder
	for _, e := range h.all() {
		fmt.Fprintf(&b, "  %T %.300s\n", e, fmt.Sprintf("%+v", e))
	}
	return b.String()
}

// stageOf is one agent under test with its environment.
type stageOf struct {
	t     testing.TB
	host  *testHost
	agent bridge.Agent
	l     *Launcher
	run   string
	dir   string // working directory
	cfg   bridge.AgentConfig
	spec  bridge.ClaudeSpec

	pending  []string
	answered string
}

// prepare makes a stage whose agent is not launched yet.
func prepare(t testing.TB, spec bridge.ClaudeSpec, env map[string]string) *stageOf {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	s := &stageOf{t: t, host: newHost(t), l: NewLauncher(cacheOf(spec, home)), run: "run-" + uuid.NewString(),
		dir: dir, spec: spec}
	s.cfg = bridge.AgentConfig{SessionID: uuid.NewString(), CWD: dir, StrictMCP: true,
		Env: map[string]string{"HOME": home, "ANTHROPIC_API_KEY": "sk-ant-rehearsal-0000",
			"CLAUDE_CODE_MAX_RETRIES": "0"}}
	for k, v := range env {
		s.cfg.Env[k] = v
	}
	t.Cleanup(s.reportOddities)
	return s
}

// reportOddities makes the test report anything about the CLI that the driver did not know: with another
// version that is not a failure, but worth knowing.
func (s *stageOf) reportOddities() {
	for _, n := range of[bridge.Notice](s.host) {
		if strings.HasPrefix(n.Text, "unknown frame") || strings.HasPrefix(n.Text, "unreadable frame") ||
			strings.HasPrefix(n.Text, "the CLI asked for") {
			s.t.Attr("oddity", n.Text)
		}
	}
}

func (s *stageOf) try() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if s.cfg.Sandbox != nil {
		s.l.Self(self)
	}
	s.agent, err = s.l.Launch(context.Background(), bridge.Owner{Run: s.run}, s.spec,
		bridge.SpawnParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Config: s.cfg, Pending: s.pending,
			Answered: s.answered},
		s.host)
	return err
}

func (s *stageOf) launch() *stageOf {
	s.t.Helper()
	testkit.OK(s.t, s.try())
	s.t.Cleanup(s.stopNow)
	return s
}

// stopNow ends the agent and checks what must hold after every end.
func (s *stageOf) stopNow() {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	testkit.Works(s.t, "stop", s.agent.Stop(ctx, true))
	events := s.host.all()
	if len(of[bridge.Done](s.host)) != 1 {
		s.t.Errorf("want one done event, got:\n%s", s.host.dump())
	} else if _, last := events[len(events)-1].(bridge.Done); !last {
		s.t.Errorf("done is not the last event:\n%s", s.host.dump())
	}
	s.checkNoProcesses()
}

func (s *stageOf) send(content string) string {
	s.t.Helper()
	return s.message(bridge.MessageParams{MessageID: uuid.NewString(), Content: content})
}

func (s *stageOf) message(p bridge.MessageParams) string {
	s.t.Helper()
	testkit.OK(s.t, s.agent.Message(context.Background(), p))
	return p.MessageID
}

// turn sends a message and waits for the turn that ends it.
func (s *stageOf) turn(content string) bridge.Turn {
	s.t.Helper()
	return s.turnOf(s.send(content))
}

func (s *stageOf) turnOf(id string) bridge.Turn {
	s.t.Helper()
	return await(s.host, 1, func(turn bridge.Turn) bool {
		for _, m := range turn.MessageIDs {
			if m == id {
				return true
			}
		}
		return false
	})
}

// checkNoProcesses checks that no process bears the mark of the run. On systems where marks cannot be read the
// list is empty.
func (s *stageOf) checkNoProcesses() {
	s.t.Helper()
	testkit.Empty(s.t, "processes are left", proctree.Survivors(s.run))
}

// waitFile waits until a tool has made a file.
func waitFile(t testing.TB, path string) {
	t.Helper()
	testkit.Await(t, path, func() bool { return testkit.Err(os.Stat(path)) == nil })
}

// put writes a file, below directories that it makes.
func put(t testing.TB, path, text string) {
	t.Helper()
	testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
}

// userSettings makes the agent read settings of the user.
func (s *stageOf) userSettings(text string) {
	s.t.Helper()
	s.cfg.SettingSources = []string{"user"}
	put(s.t, filepath.Join(s.cfg.Env["HOME"], ".claude", "settings.json"), text)
}
