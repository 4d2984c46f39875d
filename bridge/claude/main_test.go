package claude

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"syscall"
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

// The CLI of the live tests, "" if there is none: the machine's, or a stand-in named by ARBITER_CLAUDE and
// ARBITER_CLAUDE_ARGS. It is found before the environment is cleared.
var (
	realCLI  = corpus.FindCLI(filepath.Join("..", ".."))
	realArgs = strings.Fields(os.Getenv("ARBITER_CLAUDE_ARGS"))
)

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
	if len(realArgs) == 0 { // else it was the stand-in
		t.Run("stand-in", func(t *testing.T) { t.Parallel(); test(t, standInSpec(t)) })
	}
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
	if len(realArgs) > 0 || testkit.AtNight() {
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
	return bridge.ClaudeSpec{Path: corpus.Required(t, realCLI), Args: realArgs}
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
	if err := s.try(); err != nil {
		s.t.Fatalf("launch: %v", err)
	}
	s.t.Cleanup(s.stopNow)
	return s
}

// stopNow ends the agent and checks what must hold after every end.
func (s *stageOf) stopNow() {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	if err := s.agent.Stop(ctx, true); err != nil {
		s.t.Errorf("stop: %v", err)
	}
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
	if err := s.agent.Message(context.Background(), p); err != nil {
		s.t.Fatalf("message: %v", err)
	}
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
	if left := proctree.Survivors(s.run); len(left) > 0 {
		s.t.Errorf("processes are left: %v", left)
	}
}

// waitFile waits until a tool has made a file.
func waitFile(t testing.TB, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(waitTimeout)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", path)
		}
	}
}

// fakeArg makes the test binary a CLI that misbehaves as told: its mode says how
// it starts, and each message's content is a program of one step per line.
//
//	out JSON       write a frame; $U is the message's uuid
//	raw TEXT       write a line as it is
//	half TEXT      write it without a line end
//	long N         write a line of N bytes
//	expect TEXT    read lines until one contains TEXT
//	stderr N       write N lines to stderr
//	orphan         start a process in a session of its own
//	stranger       the same, without a mark in its environment
//	close          close stdout
//	close-stdin    close stdin, and continue with the steps
//	deaf           read no more
//	exit N         end
const fakeArg = "fake-claude-cli"

const (
	fakeGood     = "good"
	fakeSilent   = "silent"   // never answers initialize
	fakeStubborn = "stubborn" // answers it, then ignores signals, interrupts and the end of input
	fakeDies     = "dies"     // before initialize
	fakeOld      = "old"      // an old version
	fakeNonsense = "nonsense" // no version at all
	fakeRefuses  = "refuses"  // answers control requests but initialize with an error
	fakeMute     = "mute"     // ... or not at all
	fakeCounts   = "counts"   // always reports a context of 777 tokens
	fakeSwitches = "switches" // calls a tool in the new mode before it answers set_permission_mode
)

func fakeSpec(t *testing.T, mode string) bridge.ClaudeSpec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return bridge.ClaudeSpec{Path: self, Args: []string{fakeArg, mode}}
}

// fake launches a fake CLI.
func fake(t *testing.T, mode string) *stageOf {
	t.Helper()
	return prepare(t, fakeSpec(t, mode), nil).launch()
}

type fakeProcess struct {
	mode string
	in   *bufio.Reader
}

// next reads a line of stdin, "" at its end.
func (p *fakeProcess) next() string {
	line, _ := p.in.ReadString('\n')
	return line
}

func fakeCLI(args []string) int {
	mode := args[0]
	switch args[len(args)-1] {
	case "--version":
		return fakeVersion(mode)
	case "orphan":
		fmt.Println("up")
		hang()
	}
	if mode == fakeDies {
		fmt.Fprintln(os.Stderr, "error: unknown option '--nonsense'")
		return 1
	}
	if mode == fakeStubborn {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	}
	p := &fakeProcess{mode: mode, in: bufio.NewReader(os.Stdin)}
	for line := p.next(); line != ""; line = p.next() {
		p.line(line)
	}
	if mode == fakeStubborn {
		hang()
	}
	return 0
}

func fakeVersion(mode string) int {
	switch mode {
	case fakeOld:
		fmt.Println("2.1.113 (Claude Code)")
	case fakeNonsense:
		fmt.Println("hello")
	default:
		fmt.Println("2.1.329 (Claude Code)")
	}
	return 0
}

type fakeLine struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	RequestID string `json:"request_id"`
	Message   struct {
		Content string `json:"content"`
	} `json:"message"`
	Request struct {
		Subtype string `json:"subtype"`
		Mode    string `json:"mode"`
	} `json:"request"`
}

func (p *fakeProcess) line(text string) {
	var l fakeLine
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		os.Exit(1) // as the real one does
	}
	switch l.Type {
	case "control_request":
		p.control(l)
	case "user":
		for step := range strings.Lines(strings.ReplaceAll(l.Message.Content, "$U", l.UUID)) {
			p.step(strings.TrimSpace(step))
		}
	}
}

func (p *fakeProcess) control(l fakeLine) {
	payload := map[string]any{}
	switch {
	case l.Request.Subtype == "initialize" && p.mode == fakeSilent:
		return
	case l.Request.Subtype == "initialize":
		payload["claude_code_version"] = "2.1.329"
	case p.mode == fakeMute, p.mode == fakeStubborn && l.Request.Subtype == "interrupt":
		return
	case p.mode == fakeRefuses:
		out(map[string]any{"type": "control_response", "response": map[string]any{
			"subtype": "error", "request_id": l.RequestID, "error": "not today", "error_code": "unsupported_request"}})
		return
	case l.Request.Subtype == "set_permission_mode" && p.mode == fakeSwitches:
		p.step(fmt.Sprintf(`out {"type":"control_request","request_id":"j","request":{"subtype":"hook_callback",`+
			`"callback_id":"arbiter-judge","input":{"hook_event_name":"PreToolUse","tool_name":"Read",`+
			`"permission_mode":%q}}}`, l.Request.Mode))
		p.step(`expect "request_id":"j","response":{}`)
	case l.Request.Subtype == "get_context_usage":
		payload = p.context()
	}
	out(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": l.RequestID, "response": payload}})
}

func (p *fakeProcess) context() map[string]any {
	payload := map[string]any{"totalTokens": 10, "rawMaxTokens": 1000, "autoCompactThreshold": 1000,
		"isAutoCompactEnabled": true}
	if p.mode == fakeCounts {
		payload["apiUsage"] = map[string]any{"input_tokens": 700, "cache_read_input_tokens": 77,
			"cache_creation_input_tokens": 0}
	}
	return payload
}

func out(v any) {
	data, _ := json.Marshal(v)
	fmt.Println(string(data))
}

func (p *fakeProcess) step(step string) {
	verb, rest, _ := strings.Cut(step, " ")
	n, _ := strconv.Atoi(rest)
	switch verb {
	case "out", "raw":
		fmt.Println(rest)
	case "half":
		fmt.Print(rest)
	case "long":
		fmt.Println(strings.Repeat("x", n))
	case "expect":
		for line := p.next(); line != ""; line = p.next() {
			if strings.Contains(line, rest) {
				return
			}
		}
		os.Exit(9)
	case "stderr":
		for i := range n {
			fmt.Fprintf(os.Stderr, "trouble %d %s\n", i, strings.Repeat("!", 100))
		}
	case "orphan":
		orphan(os.Environ())
	case "stranger":
		orphan([]string{})
	case "close":
		_ = os.Stdout.Close()
	case "close-stdin":
		_ = os.Stdin.Close()
	case "deaf":
		hang()
	case "exit":
		os.Exit(n)
	}
}

// hang blocks forever. An empty select would be reported as a deadlock.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// orphan leaves a process in a session of its own that holds our stdout and stderr, and returns when it
// runs.
func orphan(env []string) {
	cmd := exec.Command(os.Args[0], fakeArg, "orphan")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr, cmd.Env = os.Stderr, env
	up, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		os.Exit(8)
	}
	_, _ = up.Read(make([]byte, 2))
}

// Frames of a plain turn.
const (
	fakeStarted = `out {"type":"command_lifecycle","command_uuid":"$U","state":"started"}` + "\n"
	fakeResult  = `out {"type":"result","subtype":"success","is_error":false,"result":"fine","terminal_reason":"completed","user_message_uuids":["$U"],"total_cost_usd":0.5}` + "\n"
	fakeTurn    = fakeStarted + fakeResult
)
