package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// toolUser is an MCP client with its own server.
type toolUser struct {
	t       *testing.T
	session *mcp.ClientSession
	cmd     *exec.Cmd
}

// serves starts `arbiter mcp` in the abode, with flags for its runs.
func (h *testHome) serves(o *mcp.ClientOptions, args ...string) *toolUser {
	h.t.Helper()
	cmd := exec.Command("arbiter", append([]string{"mcp"}, args...)...)
	cmd.Env, cmd.Dir = h.env, h.work
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	ctx, cancel := context.WithTimeout(h.t.Context(), waitTimeout)
	h.t.Cleanup(cancel)
	session := testkit.Must(client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil))(h.t)
	h.t.Cleanup(func() { _ = session.Close() }) // it may have been killed
	return &toolUser{h.t, session, cmd}
}

// kill kills the server, like a crash.
func (u *toolUser) kill() {
	u.t.Helper()
	testkit.OK(u.t, u.cmd.Process.Kill())
	_ = u.session.Close()
}

// call calls a tool; failed says whether the call must fail.
func (u *toolUser) call(name string, args map[string]any, failed bool) *mcp.CallToolResult {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), waitTimeout)
	defer cancel()
	r, err := u.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	testkit.Need(u.t, err == nil, "%s: %v", name, err)
	testkit.Need(u.t, r.IsError == failed, "%s: failed is %v: %s", name, r.IsError, textOfResult(r))
	return r
}

func textOfResult(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// sees calls a tool whose result is a view of a run.
func (u *toolUser) sees(name string, args map[string]any) clients.MCPView {
	u.t.Helper()
	return resultAs[clients.MCPView](u.t, u.call(name, args, false))
}

func resultAs[T any](t *testing.T, r *mcp.CallToolResult) (v T) {
	t.Helper()
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	testkit.Need(t, err == nil, "%v: %s", err, raw)
	return v
}

// waitsFor calls wait until an item of the kind waits, or the run has that status. It appends the reported news
// to all, and checks that the cursor never goes back.
func (u *toolUser) waitsFor(v clients.MCPView, kind string, all *[]string) clients.MCPView {
	u.t.Helper()
	for range 100 {
		next := u.sees("wait", map[string]any{"run": v.Run, "since": v.Cursor})
		testkit.Need(u.t, next.Cursor >= v.Cursor, "the cursor goes back from %d to %d", v.Cursor, next.Cursor)
		v = next
		*all = append(*all, v.News...)
		if v.Status == kind || slices.ContainsFunc(v.Waiting, func(i clients.MCPItem) bool { return i.Kind == kind }) {
			return v
		}
	}
	u.t.Fatalf("no %s: %+v", kind, v)
	return v
}

// TestMCP: a client starts a run, waits, answers its question, and does not answer its permission request. Then
// its server and the run's host process are killed: another server continues at the same cursor, and the run is
// resumed. Nothing is reported twice, and nothing is left out.
func TestMCP(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		args := append([]string{"--"}, h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
		u := h.serves(nil, args...)
		var progress []string
		v := u.sees("start_run", map[string]any{"task": "Make a thing"})
		run := v.Run
		v = u.waitsFor(v, "question", &progress)
		testkit.Check(t, v.Status == "input_required" && v.Waiting[0].Text == "What shall it be called?",
			"the question: %+v", v)
		u.kill()

		u = h.serves(nil, args...)
		text := textOfResult(u.call("answer", map[string]any{"run": run[:6]}, true))
		testkit.Includes(t, "an empty answer", text, "no answer")
		u.call("answer", map[string]any{"run": run, "text": "call it dawn"}, false)
		v = u.waitsFor(v, "permission", &progress)
		request := v.Waiting[0]
		command := "arbiter allow " + command.ShortID(run) + " " + request.ID
		testkit.Includes(t, "the request", request.Text, "echo it > dawn.txt")
		testkit.Includes(t, "the request", request.Answer, command)
		refused := map[string]any{"run": run, "request": request.ID, "behavior": "allow"}
		text = textOfResult(u.call("answer", refused, true))
		testkit.Includes(t, "the model reads", text, "not for you", command)
		testkit.OK(t, syscall.Kill(h.hosts()[0], syscall.SIGKILL))
		v = u.waitsFor(v, contract.StatusInterrupted, &progress)
		testkit.Includes(t, "after a kill", v.Next, "resume_run")
		u.sees("resume_run", map[string]any{"run": run})
		v = u.waitsFor(v, "permission", &progress)
		h.output(strings.Fields(command)[1:]...)
		v = u.waitsFor(v, contract.StatusComplete, &progress)
		testkit.Check(t, strings.HasPrefix(v.Summary, "The file is there. Open at the end: no check"), "the end: %+v",
			v)
		all := u.waitsFor(clients.MCPView{Run: run}, contract.StatusComplete, new([]string)).News
		testkit.Same(t, "what is reported at once", strings.Join(progress, "\n"), strings.Join(all, "\n"))
		text = textOfResult(u.call("report", map[string]any{"run": run}, false))
		testkit.Includes(t, "the report", text, "call it dawn")
		list := resultAs[clients.RunList](t, u.call("list_runs", nil, false)).Runs
		testkit.Check(t, len(list) == 1 && list[0].Run == run && !list[0].Live &&
			list[0].Status == contract.StatusComplete, "runs: %+v", list)
		text = textOfResult(u.call("resume_run", map[string]any{"run": run}, true))
		testkit.Includes(t, "resuming what is over", text, "nothing to resume")
	})
}

// TestMCPForm: a permission request reaches the human as a form, with a client of each version of the protocol.
func TestMCPForm(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	var forms []string
	allows := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		forms = append(forms, r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "Allow once"}}, nil
	}
	args := append([]string{"--"}, h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
	u := h.serves(&mcp.ClientOptions{ElicitationHandler: allows}, args...)
	v := u.sees("start_run", map[string]any{"task": "Make a thing"})
	v = u.waitsFor(v, "question", new([]string))
	u.call("answer", map[string]any{"run": v.Run, "text": "call it dawn"}, false)
	v = u.waitsFor(v, contract.StatusComplete, new([]string))
	testkit.Check(t, len(forms) == 1 && strings.Contains(forms[0], "echo it > dawn.txt"), "forms: %q", forms)
	text := textOfResult(u.call("start_run", map[string]any{"task": "x", "dir": "/"}, true))
	testkit.Includes(t, "elsewhere", text, "--allow-dir")
	h.work = "/"
	testkit.Includes(t, "started in /", h.fails(contract.ExitUsage, "mcp"), "--allow-dir")
	h.work = h.home
	text = h.fails(contract.ExitUsage, "mcp", "--", "--json")
	testkit.Includes(t, "a wrong flag", text, "--json cannot be given here")
}

// fails runs a command that must fail with that code, and returns its stderr.
func (h *testHome) fails(want contract.Exit, args ...string) string {
	h.t.Helper()
	c := runIn(h.t, h.env, h.work, "", args...)
	testkit.Need(h.t, c.code == want, "arbiter %q: exit code %d, want %d\n%s", args, c.code, want, c.errs)
	return c.errs
}

// caller is the script of a model that has a run do a task.
var caller = func() string {
	use := func(tool string, input object) object { return uses(call("mcp__arbiter__"+tool, input)) }
	wait := use("wait", object{"run": "{{.run}}"})
	return playOf(actor("caller", object{"role": "main"}, []object{use("start_run", object{"task": "Make a thing"}),
		on(`run\W+(?P<run>[0-9a-f-]{36})`, wait),
		on("What shall it be called", use("answer", object{"run": "{{.run}}", "text": "call it dawn"})), on("accepted", wait),
		on("The user decides. arbiter allow",
			use("answer", object{"run": "{{.run}}", "request": "perm-", "behavior": "allow"})),
		on("no permission request", wait), on(`status\W+complete`, says("All is done: The file is there.")),
	}, on(`status\W+input_required`, wait)))
}()

// outer prepares the real CLI as an MCP client, with a scripted model and a server whose runs are rehearsals.
func (h *testHome) outer(play string, args ...string) (*exec.Cmd, *rehearsal.Server) {
	h.t.Helper()
	model := serve(h.t, play)
	program := testkit.Must(exec.LookPath("arbiter"))(h.t)
	runs := []string{"mcp", "--", "--stand-in", "--scenario", absolute(h.t, "testdata/scenarios/screen.yaml")}
	config := testkit.Must(json.Marshal(map[string]any{"mcpServers": map[string]any{
		"arbiter": map[string]any{"command": program, "args": runs}}}))(h.t)
	args = append(args, "--mcp-config", string(config), "--strict-mcp-config", "--model", "claude-sonnet-4-5",
		"--allowedTools", "mcp__arbiter")
	cmd := exec.Command(h.player.args[len(h.player.args)-1], args...)
	cmd.Dir = h.work
	h.env = append(append(h.env, asksOf(model)...), "DISABLE_AUTOUPDATER=1", "ENABLE_TOOL_SEARCH=false",
		"CLAUDE_CODE_SANDBOXED=1")
	cmd.Env = h.env
	return cmd, model
}

// realOnly returns the real CLI, or skips the test if there is none.
func realOnly(t *testing.T) player {
	t.Helper()
	list := players(t)
	if len(list) < 2 {
		t.Skip("no claude: run scripts/setup")
	}
	return list[1]
}

// TestMCPFromClaude: Claude Code in print mode has a run do a task. Its model answers the question; the human
// answers the permission request from another terminal.
func TestMCPFromClaude(t *testing.T) {
	who := realOnly(t)
	t.Parallel()
	h := newTestHome(t, who)
	cmd, model := h.outer(caller, "-p", "Have a thing made.")
	var out []byte
	var err error
	over := make(chan struct{})
	go func() { // ends with the program
		defer close(over)
		out, err = cmd.CombinedOutput()
	}()
	modelReceives(t, model, "no permission request", over) // the model has tried, and waits
	h.output("allow", "all")
	<-over
	testkit.Check(t, err == nil && strings.Contains(string(out), "All is done"), "%v: %s", err, out)
	onScript(t, model)
	runs := h.runs()
	testkit.Need(t, len(runs) == 1, "runs %v", runs)
	awaitGone(t, runs[0])
	testkit.Includes(t, "it ended so", h.output("sessions", "show", runs[0]), contract.StatusComplete)
}

// modelReceives waits until a request to the model contains a text, or over is closed.
func modelReceives(t *testing.T, model *rehearsal.Server, text string, over <-chan struct{}) {
	t.Helper()
	testkit.Await(t, "request with "+strconv.Quote(text), func() bool {
		select {
		case <-over:
			return true
		default:
		}
		return slices.ContainsFunc(model.Requests(), func(r rehearsal.Request) bool {
			return strings.Contains(string(r.Body), text)
		})
	})
}

// background is the script of a model that has a run do a task, and learns of its end without asking.
var background = playOf(actor("caller", object{"role": "main"}, []object{
	uses(call("mcp__arbiter__start_run", object{"task": "Make a thing"})),
	on("started server-side task", says("It goes on in the background.")),
	on("(?s)completed.*The file is there", says("Indeed it is done."))}))

// TestMCPInTerminal: in Claude Code's terminal a run is a background task. Its question and its permission
// request reach the human as forms, and the model learns of the end. The task continues after the server was
// killed, and after the run's host process was killed.
func TestMCPInTerminal(t *testing.T) {
	who := realOnly(t)
	who.long(t)
	t.Parallel()
	h := newTestHome(t, who)
	cmd, model := h.outer(background)
	h.knows(model)
	p := h.run(cmd)
	p.await("manual mode on")
	p.typed("Have a thing made.", "Have a thing made.")
	p.insists("Enter", "What shall it be called?", "Answer:")
	p.await("1 MCP task still running")
	server, ok := childNamed(cmd.Process.Pid, "mcp")
	testkit.Need(t, ok, "there is no server")
	testkit.OK(t, syscall.Kill(server, syscall.SIGKILL))
	p.typed("lost", "Answer: lost")
	p.insists("Enter", "manual mode on")
	p.typed("/mcp reconnect arbiter", "/mcp reconnect arbiter")
	p.insists("Enter", "Reconnected to arbiter", "What shall it be called?", "Answer:")

	testkit.OK(t, syscall.Kill(h.hosts()[0], syscall.SIGKILL))
	p.typed("too late", "Answer: too late")
	p.insists("Enter", "Resume it from where it stopped?", "Decision:")
	p.insists("Right", "Resume", "Leave it")
	p.insists("Enter", "Decision: Resume")
	p.insists("Enter", "What shall it be called?", "Answer:")
	p.typed("call it dawn", "Answer: call it dawn")
	p.insists("Enter", "asks to use Bash:", "command: echo it > dawn.txt", "Decision:")
	p.insists("Right", "Allow once", "Allow this for the whole run", "Deny")
	p.insists("Enter", "Decision: Allow once")
	p.insists("Down", "❯ Accept")
	p.insists("Enter", "completed", "Indeed it is done.")
	for _, problem := range model.Problems() {
		// The CLI may ask its model before its MCP servers have listed their tools; calls work all the same.
		testkit.Includes(t, "the play left its script", problem, "does not offer")
	}
	runs := h.runs()
	testkit.Need(t, len(runs) == 1, "runs %v", runs)
	awaitGone(t, runs[0])
	testkit.Includes(t, "it ended so", h.output("sessions", "show", runs[0]), contract.StatusComplete)
}

// knows writes the file in which the CLI remembers its first start, so that it asks no questions at the start.
func (h *testHome) knows(model *rehearsal.Server) {
	h.t.Helper()
	key := model.Key()
	answers := map[string]any{"approved": []string{key[max(0, len(key)-20):]}, "rejected": []string{}}
	known, err := json.Marshal(map[string]any{"hasCompletedOnboarding": true, "customApiKeyResponses": answers})
	if err == nil {
		err = os.WriteFile(filepath.Join(h.home, ".claude.json"), known, 0o600)
	}
	testkit.OK(h.t, err)
}

// insists presses a key until the screen shows all of the texts: a form of the CLI ignores a key that comes
// right after another (observed with CLI 2.1.329).
func (p *pane) insists(key string, texts ...string) {
	p.t.Helper()
	again := time.NewTicker(2 * time.Second)
	defer again.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	p.press(key)
	for {
		seen := strings.ReplaceAll(p.Screen().Text(), "\u00a0", " ")
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) }) {
			return
		}
		select {
		case <-look.C:
		case <-again.C:
			p.press(key)
		case <-p.ctx.Done():
			p.t.Fatalf("%q does not lead to %q:\n%s", key, texts, seen)
		}
	}
}
