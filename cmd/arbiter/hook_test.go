package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const hookEventText = `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash","tool_response":{"stdout":"x"}}`

// answering returns the path of a socket on which f serves each connection.
func answering(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	socket := filepath.Join(testkit.ShortDir(t), "s")
	l := testkit.Must(net.Listen("unix", socket))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return socket
}

// saying answers every request with a text.
func saying(t *testing.T, text string) string {
	return answering(t, func(conn net.Conn) {
		_, _ = io.Copy(io.Discard, conn)
		_, _ = io.WriteString(conn, text)
	})
}

// endless is a stdin that never ends.
type endless struct{ quit chan struct{} }

func (e endless) Read([]byte) (int, error) {
	<-e.quit
	return 0, io.EOF
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("a broken reader") }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("torn") }

// TestHookFailsSafe: after any error of the hook, a session continues as it would without the hook.
func TestHookFailsSafe(t *testing.T) {
	testkit.Long(t)
	quit := make(chan struct{})
	event := func() io.Reader { return strings.NewReader(hookEventText) }
	silent := func(conn net.Conn) { <-quit }
	refusing := filepath.Join(t.TempDir(), "refusing")
	if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: refusing, Net: "unix"}); err == nil {
		l.SetUnlinkOnClose(false) // as a killed arbiter leaves it
		l.Close()
	}
	cases := map[string]struct {
		args   []string
		stdin  io.Reader
		reason string // on stderr with --debug; empty: no message
	}{
		"no socket":             {nil, event(), "no socket"},
		"nothing there":         {[]string{"--socket", "/nowhere/s"}, event(), "no such file"},
		"refused":               {[]string{"--socket", refusing}, event(), "refused"},
		"mute":                  {[]string{"--socket=" + answering(t, silent)}, event(), "arbiter hook:"},
		"stdin never ends":      {[]string{"--socket", saying(t, "{}")}, endless{quit}, "no answer within 2s"},
		"stdin torn":            {[]string{"--socket", saying(t, "{}")}, failing{}, "torn"},
		"stdin too large":       {[]string{"--socket", saying(t, "{}")}, io.LimitReader(zeroes{}, 16<<20+1), "larger than"},
		"stdin is not an event": {[]string{"--socket", saying(t, "{}")}, strings.NewReader("x"), "read hook event"},
		"a panic of arbiter":    {[]string{"--socket", saying(t, "{}")}, panicking{}, "bug in arbiter"},
		"cut at once":           {[]string{"--socket", answering(t, func(net.Conn) {})}, event(), "arbiter"},
		"answer is empty":       {[]string{"--socket", saying(t, "")}, event(), "not a JSON object"},
		"answer is null":        {[]string{"--socket", saying(t, "null")}, event(), "not a JSON object"},
		"answer is a list":      {[]string{"--socket", saying(t, "[]")}, event(), "not a JSON object"},
		"answer is cut":         {[]string{"--socket", saying(t, `{"decision":"blo`)}, event(), "not a JSON object"},
		"answer too large": {[]string{"--socket", saying(t, `{"a":"`+strings.Repeat("x", 256<<10)+`"}`)}, event(),
			"larger than"},
		"nothing to say": {[]string{"--socket", saying(t, "{}\n"), "--what-is-this", "x"}, event(), ""},
	}
	t.Cleanup(func() { close(quit) }) // before the sockets end, which wait for those they serve
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			testkit.Same(t, "exit", 0, hookclient.Answer(append([]string{"--debug"}, c.args...), c.stdin, &out, &errs))
			testkit.Check(t, out.Len() == 0, "stdout %q", out.String())
			output := errs.String()
			testkit.Check(t, (c.reason == "") == (output == "") && strings.Contains(output, c.reason) &&
				strings.Count(output, "\n") <= 1, "stderr %q, want one line with %q", output, c.reason)
		})
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestHookIsSilentWithoutDebug(t *testing.T) {
	var out, errs bytes.Buffer
	code := hookclient.Answer([]string{"--socket", "/nowhere/s"}, strings.NewReader(hookEventText), &out, &errs)
	testkit.Check(t, code == 0 && out.Len()+errs.Len() == 0, "exit %d, stdout %q, stderr %q", code, out.String(),
		errs.String())
}

// TestHookPassesAnswersOn: what arbiter says reaches stdout as one line of JSON, and
// what was asked holds nothing of what tools were given and answered.
func TestHookPassesAnswersOn(t *testing.T) {
	asked := make(chan string, 2)
	const want = `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"[arbiter: context] x"}}`
	socket := answering(t, func(conn net.Conn) {
		raw, _ := io.ReadAll(conn)
		asked <- string(raw)
		_, _ = io.WriteString(conn, want+"\n")
	})
	// More than a pipe holds, and little enough for a busy machine: the hook gives up after its deadline.
	event := strings.Replace(hookEventText, "stdout\":\"x", "stdout\":\""+strings.Repeat("secret", 1<<14), 1)
	for _, env := range []bool{false, true} {
		cmd := exec.Command("arbiter", "hook", "--socket", socket)
		if env {
			cmd = exec.Command("arbiter", "hook")
			cmd.Env = []string{hookclient.PathEnv + "=" + socket}
		}
		cmd.Stdin = strings.NewReader(event)
		out, err := cmd.CombinedOutput()
		testkit.Need(t, err == nil && string(out) == want+"\n", "%v, %q", err, out)
		testkit.Same(t, "asked", `{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"Bash"}`, <-asked)
	}
}

// TestHookSettings: the printed settings work as they are, for any path of the program and any path of
// the socket.
func TestHookSettings(t *testing.T) {
	socket := saying(t, `{"decision":"block"}`)
	c := inProcess("", "hook", "--settings", "--socket", socket).ended(t, "settings", contract.ExitComplete)
	self := testkit.Must(os.Executable())(t)
	testkit.Same(t, "settings", string(hooks.Settings(hookclient.CommandLine(self, socket)))+"\n", c.out)
	arbiter := testkit.Must(exec.LookPath("arbiter"))(t)
	odd := filepath.Join(t.TempDir(), `it's "$(x)" \ here`)
	testkit.OK(t, os.Mkdir(odd, 0o700), os.Symlink(arbiter, filepath.Join(odd, "arbiter")))
	cmd := exec.Command("sh", "-c", hookclient.CommandLine(filepath.Join(odd, "arbiter"), socket))
	cmd.Stdin = strings.NewReader(hookEventText)
	got, err := cmd.CombinedOutput()
	testkit.Check(t, err == nil && string(got) == `{"decision":"block"}`+"\n", "%v, %q", err, got)
}

func TestHookSettingsWithoutArbiter(t *testing.T) {
	t.Setenv("ARBITER_STATE_DIR", t.TempDir())
	for _, args := range []string{"--settings", "--settings --session 1234", "--settings --socket /nowhere/s",
		"--settings x", "--settings --no-such"} {
		c := inProcess("", append([]string{"hook"}, strings.Fields(args)...)...).ended(t, args, contract.ExitUsage)
		testkit.Check(t, c.out == "" && c.errs != "", "%s: %+v", args, c)
	}
}

// releaseProgram builds the program as it is released. The test binary, which acts as arbiter in tests, also
// contains the tests and their imports, and takes longer to start.
func releaseProgram(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "arbiter")
	out, err := exec.Command("../../scripts/build", path).CombinedOutput()
	testkit.Need(b, err == nil, "scripts/build: %v: %s", err, out)
	return path
}

// hookedRun is the loop of a run of one agent, whose hooks are served.
type hookedRun struct {
	host.InputLoop // the rest is not called
	state          supervisor.State
	told           chan bridge.EventBody
}

func newHookedRun(session string, warn, critical float64) *hookedRun {
	a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{SessionID: session, Role: supervisor.RoleOrchestrator,
		AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}}}
	a.Context.Window = 200_000
	r := &hookedRun{told: make(chan bridge.EventBody, 1000)}
	r.state.Agents = []*supervisor.Agent{a}
	r.state.Options.ContextWarn, r.state.Options.ContextCritical = warn, critical
	return r
}

func (r *hookedRun) Snapshot() *supervisor.State { return &r.state }

func (r *hookedRun) Event(e bridge.Event) {
	select {
	case r.told <- e.Body:
	default: // nobody reads it in a benchmark
	}
}

// token is what the hooks of the agent's session present.
func (r *hookedRun) token(server *host.HooksService) string {
	_, env := server.Setup(r.state.Agents[0].AgentRef)
	return env[hookclient.TokenEnv]
}

// BenchmarkHook measures the median time that a hook costs a session, from start to exit. It alternates
// between a run that answers and a program that does nothing.
func BenchmarkHook(b *testing.B) {
	arbiter := releaseProgram(b)
	dir := testkit.ShortDir(b)
	const session = "33e2ace1-d4bc-47dd-9200-fa457d13e61f"
	run := newHookedRun(session, 70, 85)
	server := host.ServeHooks(dir, run, &host.Terminals{}, slog.New(slog.DiscardHandler))
	b.Cleanup(server.Close)
	b.Setenv(hookclient.TokenEnv, run.token(server)) // hook processes are our descendants, like an agent's
	// A compaction is blocked, so that there is an answer; not for ever in one turn, so a turn begins before each.
	event := string(hooks.Input{Event: hooks.PreCompact, Trigger: hooks.TriggerAuto, SessionID: session}.JSON())
	prompt := hookclient.Request(hooks.Input{Event: hooks.UserPromptSubmit, SessionID: session},
		os.Getenv(hookclient.TokenEnv))
	kinds := []struct {
		name string
		args []string
		says bool
		took []time.Duration
	}{
		{name: "true", args: []string{"true"}},
		{name: "told", args: []string{arbiter, "hook", "--socket", server.Path()}, says: true},
	}
	for b.Loop() {
		testkit.Must(hookclient.Exchange(server.Path(), prompt, time.Now().Add(hookclient.Deadline)))(b)
		for i := range kinds {
			k := &kinds[i]
			cmd := exec.Command(k.args[0], k.args[1:]...)
			cmd.Stdin = strings.NewReader(event)
			began := time.Now()
			out, err := cmd.Output()
			k.took = append(k.took, time.Since(began))
			testkit.Need(b, err == nil && (len(out) > 0) == k.says, "%s: %v, %q", k.name, err, out)
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, k := range kinds {
		slices.Sort(k.took)
		b.ReportMetric(float64(k.took[len(k.took)/2].Microseconds())/1000, k.name+"-ms")
	}
}

// TestTerminalIsNotCompacted: in a session of the real CLI, as a person opens one with the settings that `arbiter hook
// --settings` prints, a compaction in mid-turn is blocked, and the model is notified with its next call. A server
// answers the hooks as a run does.
func TestTerminalIsNotCompacted(t *testing.T) {
	t.Parallel()
	claude := neededClaude(t)
	full := func(tokens int, step object) object { return with(step, "usage", object{"context": tokens}) }
	model := serve(t, playOf(actor("worker", object{"role": "main"}, []object{full(100_000, bash("echo one")),
		full(176_000, bash("echo two")), full(20_000, bash("echo three")), full(20_500, bash("echo four")),
		full(21_000, says("It is done."))})))
	session := uuid.NewString()
	run := newHookedRun(session, 99, 99.5)
	server := host.ServeHooks(testkit.ShortDir(t), run, &host.Terminals{}, slog.New(slog.DiscardHandler))
	// The session is a descendant of arbiter, like one in a terminal of the run: its hooks send the token that
	// they have from the CLI's environment.
	token := run.token(server)
	arbiter := testkit.Must(exec.LookPath("arbiter"))(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude, "--autocompact", "200000", "-p", "--session-id", session, "--model",
		"claude-opus-5-5", "--setting-sources", "", "--strict-mcp-config", "--allowedTools=Bash(*)",
		"--settings", string(hooks.Settings(hookclient.CommandLine(arbiter, server.Path()))), "Go on.")
	cmd.Dir, cmd.WaitDelay = t.TempDir(), waitTimeout
	cmd.Env = append(asksOf(model), "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"), "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", hookclient.TokenEnv+"="+token)
	out, err := cmd.CombinedOutput()
	testkit.Need(t, err == nil && strings.TrimSpace(string(out)) == "It is done.", "claude: %v\n%s", err, out)
	server.Close()
	close(run.told)
	onScript(t, model)
	first := -1
	for i, r := range model.Requests() {
		testkit.Check(t, r.Role != rehearsal.RoleSide, "a summary was asked for: %.200s", r.Incoming)
		if first < 0 && strings.Contains(string(r.Messages), "A compaction was blocked") {
			first = i
		}
	}
	testkit.Same(t, "the request that tells of it", 3, first)
	blocked := 0
	for e := range run.told {
		if c, ok := e.(bridge.Compact); ok && c.Blocked {
			testkit.Same(t, "blocked", hooks.TriggerAuto, c.Trigger)
			blocked++
		} else if ok {
			t.Error("it was compacted")
		}
	}
	testkit.Same(t, "compactions blocked", 1, blocked)
}

// TestHookAsksTheRun: `arbiter hook --settings` finds the live run. The run answers a hook event of one of its
// sessions, and reports an event for it.
func TestHookAsksTheRun(t *testing.T) {
	scenario := scenarioFile(t, playOf(arbiter([]object{asksHuman("Which way?"), complete("s")})))
	state := testkit.ShortDir(t)
	s := start(t, nil, "--stand-in", "--json", "--state-dir", state, "--scenario", scenario, "--task", "Speak")
	await[contract.Question](s, "a question", nil)
	session := await[contract.Spawn](s, "the Arbiter's session", nil).SessionID
	window := await[contract.Context](s, "a reading", func(_ string, c contract.Context) bool {
		return c.Window > 0
	}).Window

	cmd := exec.Command("arbiter", "hook", "--settings", "--state-dir", state, "--session",
		collect[contract.Session](s)[0].Session)
	out := testkit.Must(cmd.Output())(t)
	var settings struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	testkit.OK(t, json.Unmarshal(out, &settings))
	tokens := window * 8 / 10
	answer := func() string {
		t.Helper()
		cmd := exec.Command("sh", "-c", settings.Hooks["PostToolUse"][0].Hooks[0].Command)
		cmd.Stdin = strings.NewReader(string(hooks.Input{
			Event: hooks.PostToolUse, SessionID: session, Tool: "Read",
			TranscriptPath: writeTranscript(t, session, tokens),
		}.JSON()))
		return string(testkit.Must(cmd.CombinedOutput())(t))
	}
	testkit.Includes(t, "answer", answer(), hooks.MarkContext+" warn: 80 % full", "HANDOFF")
	await[contract.ContextWarning](s, "the warning", func(id string, w contract.ContextWarning) bool {
		return id == contract.Arbiter && w.Level == "warn" && w.Pct > 79.9
	})
	await[contract.Context](s, "the reading", func(id string, c contract.Context) bool {
		return id == contract.Arbiter && c.Tokens == tokens && c.Window == window
	})
	testkit.Same(t, "told twice", "", answer())
	s.cancels()
	left, _ := filepath.Glob(filepath.Join(state, "runs", "*", host.HookSocketName))
	testkit.Check(t, len(left) == 0, "left behind: %v", left)
	if got := answer(); got != "" { // the run has ended
		t.Errorf("answer %q", got)
	}
}

// writeTranscript writes a transcript in the CLI's format: one answer, with a context of so many tokens.
func writeTranscript(t *testing.T, session string, tokens int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "projects", "-w")
	testkit.OK(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, session+".jsonl")
	line := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"assistant","sessionId":%q,"uuid":"5b1f0cf8-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00Z",`+
		`"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],`+
		`"usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,"output_tokens":9}}}`+"\n",
		session, tokens-3)
	testkit.OK(t, os.WriteFile(path, []byte(line), 0o600))
	return path
}
