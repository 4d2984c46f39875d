package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// acpEditors are the capabilities of editors.
var acpEditors = map[string]string{
	"plain":     `{}`,
	"subagents": `{"subagents":{},"session":{"notices":{},"compaction":{}},"auth":{"terminal":true}}`,
}

// aThing is the play of most editors, which asks for a name and for a permission.
const aThing = "testdata/scenarios/screen.yaml"

// begun opens a home with an editor whose prompt has led to a question, and returns the flags for its runs, too.
func begun(t *testing.T, who player, capabilities string) (h *testHome, e *acpEditor, args []string) {
	t.Helper()
	h = newTestHome(t, who)
	args = h.rehearsing(absolute(t, aThing))
	e = h.edits(capabilities, args...)
	e.opens(h)
	e.stops(e.prompt("Make a thing"), "end_turn")
	return h, e, args
}

// TestACP: an editor prompts, answers questions and allows. After the run's process was killed, another editor
// loads the session, sees the same and continues.
func TestACP(t *testing.T) {
	for _, who := range players(t) {
		for name, capabilities := range acpEditors {
			t.Run(who.name+" "+name, func(t *testing.T) {
				t.Parallel()
				who.long(t)
				h, e, args := begun(t, who, capabilities)
				shown := e.transcript(0)
				testkit.Includes(t, "what it asked", strings.Join(shown, "\n"), "What shall it be called?")
				h.killed(e.session)
				other := h.edits(capabilities, args...)
				testkit.Same(t, "loaded is not what was live", shown, other.loads(h, e.session))
				from := other.count()
				id := other.prompt("call it dawn")
				other.permits(other.permission(from), "once")
				other.stops(id, "end_turn")
				e.sees(0, "the end in the first editor, too", func(m acpMessage) bool {
					return strings.Contains(string(m.Params), "The run ended: complete")
				})
				awaitGone(t, e.session)
				again := h.edits(capabilities, args...)
				loaded := again.loads(h, e.session)
				testkit.Same(t, "loaded is not what the first editor saw", e.transcript(0), loaded)
				testkit.Same(t, "loaded is not what the other editor saw", append(shown, other.transcript(from)...), loaded)
				if strings.Contains(capabilities, "subagents") !=
					strings.Contains(strings.Join(loaded, "\n"), `"sessionUpdate":"subagent_update"`) {
					t.Errorf("subagents: %s", loaded)
				}
				again.stops(again.prompt("once more"), "end_turn") // the run is over: another task
				list := string(again.call("session/list", `{"cwd":"`+h.work+`"}`))
				testkit.Includes(t, "it is not listed", list, e.session)
			})
		}
	}
}

// TestACPCancel: a cancelled prompt ends as cancelled, the requests it waited for are not denied for good, and
// the next prompt continues. A request that another terminal answers is withdrawn.
func TestACPCancel(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h, e, _ := begun(t, who, acpEditors["subagents"])
		id := e.prompt("call it dawn")
		asked := e.permission(0)
		e.cancels(e.session)
		e.permits(asked, "")
		e.stops(id, "cancelled")
		testkit.Includes(t, "the run goes on", h.output("status"), "Paused")
		e.stops(e.prompt("go on"), "end_turn")
	})
}

// TestACPKilled: when the run's process is killed, the prompt says so, and the next prompt resumes the run,
// which asks for permission again. Loading the session then shows the same as was shown live.
func TestACPKilled(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h, e, args := begun(t, who, acpEditors["plain"])
		id := e.prompt("call it dawn")
		e.permission(0)
		h.killed(e.session)
		if m := e.answer(id); m.Error == nil || !strings.Contains(m.Error.Message, "send another prompt") {
			t.Fatalf("the prompt ended with %s %+v", m.Result, m.Error)
		}
		from := e.count()
		id = e.prompt("go on")
		e.permits(e.permission(from), "once")
		e.stops(id, "end_turn")
		awaitGone(t, e.session)
		testkit.Same(t, "loaded is not what was live", e.transcript(0),
			h.edits(acpEditors["plain"], args...).loads(h, e.session))
	})
}

// TestACPElsewhere: a request that another terminal answers is withdrawn, and a changed permission mode is
// shown.
func TestACPElsewhere(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h, e, _ := begun(t, standInPlayer, acpEditors["plain"])
	id := e.prompt("call it dawn")
	asked := e.permission(0) // in the next mode this command, which writes in the workspace, is not asked about
	e.call("session/set_mode", `{"sessionId":"`+e.session+`","modeId":"accept-edits"}`)
	e.call("session/set_config_option", `{"sessionId":"`+e.session+`","configId":"permissions","value":"ask"}`)
	e.sees(0, "the mode", func(m acpMessage) bool {
		return strings.Contains(string(m.Params), `"currentModeId":"ask"`)
	})
	other := h.edits(acpEditors["plain"])
	other.session = e.session
	from := other.count()
	other.call("session/resume", `{"sessionId":"`+e.session+`","cwd":"`+h.work+`"}`)
	testkit.Empty(t, "resuming shows what happened", other.transcript(from))
	other.permission(from)
	h.output("allow", "all")
	e.sees(0, "its withdrawal", func(m acpMessage) bool {
		return m.Method == "$/cancel_request" && string(m.Params) == fmt.Sprintf(`{"requestId":%d}`, *asked.ID)
	})
	e.permits(asked, "")
	e.stops(id, "end_turn")
	awaitGone(t, e.session)
	e.sees(0, "the end in the other editor, too", func(m acpMessage) bool {
		return strings.Contains(string(m.Params), "The run ended: complete")
	})
	e.refuses("session/load", `{"sessionId":"none","cwd":"/","mcpServers":[]}`, "there is no session none")
	e.refuses("session/new", `{"cwd":"work","mcpServers":[]}`, "is not absolute")
	other.refuses("session/new", `{"cwd":"`+h.work+`/none","mcpServers":[]}`, "no such file or directory")
	e.refuses("session/prompt", `{"sessionId":"none","prompt":[]}`, "is not open here")
	e.refuses("session/prompt", `{"sessionId":"`+e.session+`/orch-1","prompt":[]}`, "takes no prompts")
	e.refuses("session/prompt", `{"sessionId":"`+e.session+`","prompt":[]}`, "the prompt is empty")
	e.refuses("session/set_mode", `{"sessionId":"`+e.session+`","modeId":"allow-all"}`, "no permission mode")
	e.refuses("session/list", `{"cursor":"x"}`, "is not a cursor")
}

// TestACPForms: a client that supports forms answers a question with a form while the prompt continues; if it
// declines the form, the prompt ends.
func TestACPForms(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	args := h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))
	e := h.edits(`{"elicitation":{"form":{}}}`, args...)
	for _, result := range []string{`{"action":"decline"}`, `{"action":"accept","content":{"answer":"call it dawn"}}`} {
		e.opens(h)
		from := e.count()
		id := e.prompt("Make a thing")
		form := e.sees(from, "form", func(m acpMessage) bool { return m.Method == "elicitation/create" })
		e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, *form.ID, result))
		if strings.Contains(result, "accept") {
			e.permits(e.permission(from), "run")
		}
		e.stops(id, "end_turn")
		e.call("session/close", `{"sessionId":"`+e.session+`"}`)
		awaitGone(t, e.session)
	}
	testkit.Includes(t, "it was not answered", e.dump(e.got), "The run ended: complete")
}

// TestACPThreads: a second thread in a project whose first one waits is asked how to begin, and begins. A thread that
// is closed ends the process that it began.
func TestACPThreads(t *testing.T) {
	t.Parallel()
	play := testkit.Must(os.ReadFile("testdata/scenarios/screen.yaml"))(t)
	h := build(t, players(t)[0], string(play))
	at := slices.Index(h.args, "--task")
	e := h.edits(acpEditors["plain"], slices.Delete(slices.Clone(h.args), at, at+2)...)
	e.opens(h.testHome)
	e.stops(e.prompt("Make a thing"), "end_turn")
	first := e.session
	e.opens(h.testHome)
	from := e.count()
	id := e.prompt("Make another")
	asked := e.permission(from)
	testkit.Includes(t, "it is asked", string(asked.Params), "Another run works in this directory: Make a thing", first)
	e.permits(asked, "not")
	if m := e.answer(id); m.Error == nil || !strings.Contains(m.Error.Message, "Nothing was begun") {
		t.Errorf("the prompt ended with %s %+v", m.Result, m.Error)
	}
	from = e.count()
	e.prompt("Make another")
	e.permits(e.permission(from), "together")
	e.sees(from, "the second run", func(m acpMessage) bool {
		return strings.Contains(string(m.Params), e.session) && strings.Contains(string(m.Params), "agent_")
	})
	e.call("session/close", `{"sessionId":"`+first+`"}`)
	awaitGone(t, first)
	e.call("session/close", `{"sessionId":"`+e.session+`"}`)
	awaitGone(t, e.session)
	e.loads(h.testHome, first) // it is there
}

// TestACPLogin: without a login the prompt fails with the protocol's error, and the editor learns how to log in.
func TestACPLogin(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	h.env = append(h.env, "CLAUDE_CODE_MAX_RETRIES=0")
	e := h.edits(acpEditors["subagents"], h.rehearsing(faultScenario(t, object{"status": 401}))...)
	about := e.answer(1)
	testkit.Check(t, strings.Contains(string(about.Result), `"args":["--login"]`), "no way to log in: %s", about.Result)
	e.opens(h)
	m := e.answer(e.prompt("Speak"))
	testkit.Check(t, m.Error != nil && m.Error.Code == -32000, "the prompt ended with %s %+v", m.Result, m.Error)
	claude := program(t, "claude", "echo \"$@\"\n")
	testkit.Same(t, "logging in runs", "auth login\n", h.output("acp", "--", "--claude", claude, "--login"))
}

// acpClients returns the directory with the packages of the Agent Client Protocol clients that scripts/setup
// installed. CI requires them.
func acpClients(t *testing.T) string {
	t.Helper()
	lock := testkit.Must(os.ReadFile("../../scripts/acp/package-lock.json"))(t)
	tools := os.Getenv("ARBITER_TOOLS")
	if tools == "" {
		cache := testkit.Must(os.UserCacheDir())(t)
		tools = filepath.Join(cache, "arbiter")
	}
	sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(lock)), lock...)) // the hash that Git gives this file
	dir := filepath.Join(tools, "acp", hex.EncodeToString(sum[:]), "node_modules")
	if _, err := os.Stat(filepath.Join(dir, ".bin", "node")); err != nil {
		testkit.Need(t, os.Getenv("ARBITER_REQUIRE_CLAUDE") == "" || os.Getenv("CI") == "",
			"no clients of the Agent Client Protocol (%v): run scripts/setup", err)
		t.Skipf("no clients of the Agent Client Protocol (%v): scripts/setup installs them", err)
	}
	return dir
}

// TestACPWithTheSDK: a client built with the official TypeScript SDK prompts, answers questions, allows, loads
// the session after a kill, and cancels.
func TestACPWithTheSDK(t *testing.T) {
	clients := acpClients(t)
	for _, who := range players(t) {
		for name, capabilities := range acpEditors {
			t.Run(who.name+" "+name, func(t *testing.T) {
				who.long(t)
				t.Parallel()
				if name == "plain" {
					testkit.Long(t)
				}
				h := newTestHome(t, who)
				module := filepath.Join(clients, "@agentclientprotocol", "sdk", "dist", "v1", "unstable", "acp.js")
				script := absolute(t, "testdata/acp/conversation.mjs")
				args := slices.Concat([]string{script, module, capabilities, "arbiter", "acp", "--"},
					h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")))
				cmd := exec.Command(filepath.Join(clients, ".bin", "node"), args...)
				cmd.Env, cmd.Dir = h.env, h.work
				steps := talks(t, cmd, func(step acpStep) {
					if step.Step == "asked" {
						h.killed(step.SessionID)
					}
				})
				testkit.Need(t, len(steps) == 4, "the steps are %+v", steps)
				asked, loaded, answered, cancelled := steps[0], steps[1], steps[2], steps[3]
				testkit.Check(t, asked.Stop == "end_turn" && asked.Version == 1 && loaded.Same && loaded.Updates != 0 &&
					answered.Stop == "end_turn" && cancelled.Stop == "cancelled" && cancelled.Sessions == 2,
					"the steps are %+v", steps)
				testkit.Check(t, slices.Contains(answered.Kinds, "subagent_update") == (name == "subagents") &&
					slices.Contains(answered.Kinds, "plan") && slices.Contains(answered.Kinds, "usage_update"),
					"updates were of the kinds %v", answered.Kinds)
			})
		}
	}
}

// acpStep is a step of conversation.mjs.
type acpStep struct {
	Step, SessionID, Stop      string
	Version, Updates, Sessions int
	Same                       bool
	Kinds                      []string
}

// talks runs a conversation. It calls between after each step; then the conversation continues.
func talks(t *testing.T, cmd *exec.Cmd, between func(acpStep)) []acpStep {
	t.Helper()
	var errs testkit.Buffer
	cmd.Stderr, cmd.WaitDelay = &errs, waitTimeout
	in := testkit.Must(cmd.StdinPipe())(t)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	testkit.OK(t, err)
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended already
	var steps []acpStep
	for dec := json.NewDecoder(out); ; {
		var s acpStep
		if err := dec.Decode(&s); err != nil {
			break
		}
		steps = append(steps, s)
		between(s)
		_, _ = fmt.Fprintln(in) // it may have ended
	}
	err = cmd.Wait()
	testkit.Check(t, err == nil, "%v\n%s", err, errs.String())
	return steps
}

// TestACPWithACPX: acpx prompts, answers and allows, with a separate process for each command.
func TestACPWithACPX(t *testing.T) {
	clients := acpClients(t)
	eachPlayer(t, func(t *testing.T, who player) {
		testkit.Long(t)
		h := newTestHome(t, who)
		agent := "arbiter acp -- " + strings.Join(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")), " ")
		acpx := func(args ...string) string {
			t.Helper()
			args = append([]string{filepath.Join(clients, "acpx", "dist", "cli.js"), "--agent", agent,
				"--approve-all", "--ttl", "1"}, args...)
			cmd := exec.Command(filepath.Join(clients, ".bin", "node"), args...)
			cmd.Env, cmd.Dir = h.env, h.work
			out, err := cmd.CombinedOutput()
			testkit.Need(t, err == nil, "acpx %v: %v\n%s", args, err, out)
			return string(out)
		}
		acpx("sessions", "new")
		testkit.Includes(t, "what it asked", acpx("Make a thing"), "What shall it be called?")
		out := acpx("call it dawn")
		testkit.Includes(t, "", out, "[plan]", "Orchestrator I: Bash", "request_permission", "(completed)",
			"The run ended: complete", "end_turn")
		acpx("sessions", "close")
	})
}

// acpEditor is a client of the Agent Client Protocol with its own agent. It checks each message in both
// directions against the published schema.
type acpEditor struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	checker *acptest.Checker
	session string
	late    time.Duration // how long a message may take

	mu     sync.Mutex
	next   int
	got    []acpMessage
	change chan struct{} // capacity 1
	ended  chan struct{}
}

// acpMessage is a message from the agent.
type acpMessage struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// edits starts `arbiter acp` in the abode, with flags for its runs, and negotiates the editor's capabilities.
func (h *testHome) edits(capabilities string, args ...string) *acpEditor {
	h.t.Helper()
	checker := testkit.Must(acptest.NewChecker(strings.Contains(capabilities, "subagents")))(h.t)
	e := &acpEditor{t: h.t, checker: checker, late: waitTimeout, change: make(chan struct{}, 1),
		ended: make(chan struct{})}
	e.cmd = exec.Command("arbiter", append([]string{"acp", "--"}, args...)...)
	e.cmd.Env, e.cmd.Dir = h.env, h.work
	var errs testkit.Buffer
	e.cmd.Stderr = &errs
	e.in = testkit.Must(e.cmd.StdinPipe())(h.t)
	out := testkit.Must(e.cmd.StdoutPipe())(h.t)
	testkit.OK(h.t, e.cmd.Start())
	go e.read(out)
	h.t.Cleanup(func() {
		_ = e.in.Close()
		<-e.ended
		_ = e.cmd.Wait()
		if text := errs.String(); text != "" {
			h.t.Logf("stderr: %s", text)
		}
	})
	e.call("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
	return e
}

func (e *acpEditor) read(out io.Reader) {
	defer close(e.ended)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m acpMessage
		if err := e.checker.Check(true, line); err != nil {
			e.t.Errorf("the agent sent: %v", err)
		} else if err := json.Unmarshal(line, &m); err != nil {
			e.t.Error(err)
		}
		e.mu.Lock()
		e.got = append(e.got, m)
		e.mu.Unlock()
		select {
		case e.change <- struct{}{}:
		default:
		}
	}
}

func (e *acpEditor) write(line string) {
	e.t.Helper()
	err := e.checker.Check(false, []byte(line))
	testkit.Need(e.t, err == nil, "the editor sent: %v", err)
	testkit.Must(io.WriteString(e.in, line+"\n"))(e.t)
}

// ask sends a request and returns its id.
func (e *acpEditor) ask(method, params string) int {
	e.t.Helper()
	e.next++
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.next, method, params))
	return e.next
}

// answer waits for the answer to a request.
func (e *acpEditor) answer(id int) acpMessage {
	e.t.Helper()
	return e.sees(0, fmt.Sprintf("answer %d", id), func(m acpMessage) bool {
		return m.Method == "" && m.ID != nil && *m.ID == id
	})
}

func (e *acpEditor) call(method, params string) json.RawMessage {
	e.t.Helper()
	m := e.answer(e.ask(method, params))
	testkit.Need(e.t, m.Error == nil, "%s: %+v", method, m.Error)
	return m.Result
}

// refuses expects that a request is refused.
func (e *acpEditor) refuses(method, params, why string) {
	e.t.Helper()
	if m := e.answer(e.ask(method, params)); m.Error == nil || !strings.Contains(m.Error.Message, why) {
		e.t.Errorf("%s %s: %s %+v, want %q", method, params, m.Result, m.Error, why)
	}
}

// sees waits for a message from the agent that fits. It skips the first from messages.
func (e *acpEditor) sees(from int, what string, fits func(acpMessage) bool) acpMessage {
	e.t.Helper()
	late := time.After(e.late)
	for {
		e.mu.Lock()
		got := slices.Clone(e.got)
		e.mu.Unlock()
		if i := slices.IndexFunc(got[min(from, len(got)):], fits); i >= 0 {
			return got[min(from, len(got))+i]
		}
		select {
		case <-e.change:
		case <-e.ended:
			e.t.Fatalf("the agent ended without %s", what)
		case <-late:
			e.t.Fatalf("no %s in\n%s", what, e.dump(got))
		}
	}
}

func (e *acpEditor) dump(got []acpMessage) string {
	var b strings.Builder
	for _, m := range got {
		fmt.Fprintf(&b, "%s %s%s %v\n", m.Method, m.Params, m.Result, m.Error)
	}
	return b.String()
}

// count returns the number of messages received so far.
func (e *acpEditor) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.got)
}

// opens opens a session in the directory.
func (e *acpEditor) opens(h *testHome) {
	e.t.Helper()
	var r struct{ SessionID string }
	testkit.OK(e.t, json.Unmarshal(e.call("session/new", `{"cwd":"`+h.work+`","mcpServers":[]}`), &r))
	e.session = r.SessionID
}

func (e *acpEditor) prompt(text string) int {
	e.t.Helper()
	return e.ask("session/prompt",
		fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, e.session, text))
}

// stops waits for the end of a prompt and checks why it came.
func (e *acpEditor) stops(id int, want string) {
	e.t.Helper()
	m := e.answer(id)
	testkit.Need(e.t, m.Error == nil && string(m.Result) == `{"stopReason":"`+want+`"}`,
		"prompt %d ended with %s %+v, want %s", id, m.Result, m.Error, want)
}

// permission waits for a permission request among the messages from number from on.
func (e *acpEditor) permission(from int) acpMessage {
	e.t.Helper()
	return e.sees(from, "request for permission", func(m acpMessage) bool {
		return m.Method == "session/request_permission"
	})
}

// permits answers a permission request; an empty option cancels it.
func (e *acpEditor) permits(m acpMessage, option string) {
	e.t.Helper()
	outcome := `{"outcome":"selected","optionId":"` + option + `"}`
	if option == "" {
		outcome = `{"outcome":"cancelled"}`
	}
	e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":%s}}`, *m.ID, outcome))
}

// cancels cancels the session's current prompt.
func (e *acpEditor) cancels(session string) {
	e.t.Helper()
	e.write(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"` + session + `"}}`)
}

// transcript lists the updates from message number from on. It leaves out the human's messages, which a live
// editor shows without an update, and updates that are not part of the history.
func (e *acpEditor) transcript(from int) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []string
	for _, m := range e.got[from:] {
		var p struct {
			Update struct{ SessionUpdate string }
		}
		if m.Method != "session/update" || json.Unmarshal(m.Params, &p) != nil {
			continue
		}
		switch p.Update.SessionUpdate {
		case "user_message_chunk", "notice", "current_mode_update", "config_option_update":
		default:
			list = append(list, string(m.Params))
		}
	}
	return list
}

// loads loads the session of another editor and returns the updates that this showed.
func (e *acpEditor) loads(h *testHome, session string) []string {
	e.t.Helper()
	e.session = session
	from := e.count()
	e.call("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, session, h.work))
	return e.transcript(from)
}

// killed kills the process of a run that waits for an answer, once the event log has the question: events from
// the last moment before a kill reach the log only when the run is resumed.
func (h *testHome) killed(run string) {
	h.t.Helper()
	testkit.Await(h.t, "question in the event log", func() bool {
		return strings.Contains(h.output("replay", run), `"event":"question"`)
	})
	testkit.OK(h.t, syscall.Kill(h.hosts()[0], syscall.SIGKILL))
	awaitGone(h.t, run)
}
