package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// TestALongRequestIsNotAllowedInAForm: a request that is not shown completely can only be denied.
func TestALongRequestIsNotAllowedInAForm(t *testing.T) {
	request := contract.PermissionRequest{Suggestions: []string{"Bash(x)"}}
	f := permissionForm("", strings.Repeat("x", maxForm+1), request, "")
	testkit.Check(t, len(f.message) <= maxForm+300 && strings.Contains(f.message, "cut here"),
		"the message has %d bytes", len(f.message))
	for _, o := range f.options {
		permit, ok := o.command.(contract.Permit)
		testkit.Check(t, !ok || permit.Behavior == "deny", "it can be answered with %q", o.label)
	}
	testkit.Check(t, f.command(accepts("Decide in a terminal", "")) == nil, "a decision in a terminal is none here")
}

// TestRulesAreOfferedToTheLetter: a rule that would be displayed differently is not offered.
func TestRulesAreOfferedToTheLetter(t *testing.T) {
	rules := []string{"Bash(a\u202eb)", "Bash(ok)", "Bash(no)"}
	f := permissionForm("", "x", contract.PermissionRequest{Suggestions: rules}, "")
	labels := testkit.Each(f.options, func(o option) string { return o.label })
	want := "Allow once|Allow this for the whole run|Always allow here: Bash(ok) (exactly this line)|Deny|" +
		"Deny this for the whole run"
	testkit.Same(t, "offered", want, strings.Join(labels, "|"))
	for _, o := range permitsFor(contract.PermissionRequest{Suggestions: rules}) { // to an editor
		at := slices.Index(labels, o.label)
		testkit.Check(t, at >= 0 && f.options[at].command == contract.CommandBody(o.permit), "%s: %+v", o.label, o.permit)
	}
	for _, res := range []string{"", "allow once", "Always allow here: Bash(no)"} {
		c := f.command(accepts(res, ""))
		testkit.Check(t, c == nil, "%q means %+v", res, c)
	}
}

// TestFormShowsThatThereIsMore: a client may show only the first lines of a form.
func TestFormShowsThatThereIsMore(t *testing.T) {
	for lines, more := range map[int]bool{1: false, shownLines: false, shownLines + 1: true} {
		text := compact("Asks:\n\n" + strings.Repeat("x\n \n", lines-1))
		f := permissionForm("Run 4be1c2d0: ", text, contract.PermissionRequest{}, "arbiter status 4be1c2d0")
		first, _, _ := strings.Cut(f.message, "\n")
		testkit.Check(t, strings.Contains(first, "lines; in full: arbiter status 4be1c2d0") == more,
			"%d lines: %q", lines, f.message)
	}
}

// mcpWaitTimeout is only a deadline for failures.
const mcpWaitTimeout = time.Minute

const theRun = testRun

// world is the house of a run that a model plays with.
type world struct {
	*house
	refusal error // of Dial
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{house: newHouse(t)}
	w.dir = testkit.Must(filepath.EvalSymlinks(w.dir))(t)
	w.info.CWD, w.info.Unfinished, w.info.Title, w.info.Began = w.dir, true, "", time.Time{}
	w.status.LiveReport = runstore.LiveReport{Run: theRun, CWD: w.dir, PID: os.Getpid(), Phase: "executing"}
	w.status.LogLines, w.status.Seq = 7, 1
	return w
}

// happens adds an event to the log, and notifies the clients of the run.
func (w *world) happens(b contract.Body) (at time.Time) {
	w.t.Helper()
	return w.emit("orch-1", b)
}

// message lets an agent say something that a model receives.
func (w *world) message(text string) {
	w.t.Helper()
	w.happens(contract.Message{From: "orch-1", To: "arbiter", Kind: "progress", Text: text})
}

// waits adds an item to the inbox.
func (w *world) waits(i supervisor.InboxItem) {
	w.t.Helper()
	i.Since = w.happens(contract.Question{Text: i.Text}) // a run notes the time of the event, too
	w.do(func() {
		w.status.Inbox = append(w.status.Inbox, i)
	})
}

// asks adds a permission request to the inbox.
func (w *world) asks(id, command string, rules ...string) {
	w.t.Helper()
	request := &contract.PermissionRequest{Request: id, Tool: "Bash", Action: "hash-" + id,
		Input: json.RawMessage(fmt.Sprintf(`{"command":%q}`, command)), Suggestions: rules}
	w.waits(
		supervisor.InboxItem{ID: id, Kind: supervisor.InboxPermission, Agent: "orch-1", Text: "Bash", Request: request},
	)
}

func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.wake()
}

// answer removes an item from the inbox.
func (w *world) answer(id string) {
	w.do(func() {
		w.status.Inbox = slices.DeleteFunc(slices.Clone(w.status.Inbox),
			func(i supervisor.InboxItem) bool { return i.ID == id })
	})
}

// given returns the commands received so far.
func (w *world) given() (list []contract.CommandBody) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return testkit.Each(w.commands,
		func(line string) contract.CommandBody { return contract.ParseCommand([]byte(line)).Body })
}

// gives notes a command that did not come through the socket.
func (w *world) gives(b contract.CommandBody) {
	line := testkit.Must(contract.MarshalCommand(contract.Command{Body: b}))(w.t)
	w.do(func() { w.commands = append(w.commands, string(line)) })
}

// List, Find, Dial, Start, Resume and Report implement Runs.
func (w *world) List() ([]journal.Info, error) {
	info, err := w.Find(theRun)
	return []journal.Info{info}, err
}

func (w *world) Find(named string) (journal.Info, error) {
	if !strings.HasPrefix(theRun, named) {
		return journal.Info{}, errors.New("there is no run " + named)
	}
	return w.house.Find(named)
}

func (w *world) Dial(ctx context.Context, run string) (*control.Client, runstore.LiveStatus, error) {
	if w.refusal != nil {
		return nil, runstore.LiveStatus{}, w.refusal
	}
	if info, _ := w.Find(run); !info.Live {
		return nil, runstore.LiveStatus{}, control.ErrSilent
	}
	return w.house.Dial(ctx, run)
}

func (w *world) Start(_ context.Context, s Start) (string, error) {
	w.gives(contract.Say{Text: s.Task, To: s.Dir + " " + strings.Join(s.Args, " ")})
	return theRun, nil
}

func (w *world) Resume(context.Context, string, string, []string) error {
	w.gives(contract.Continue{})
	return nil
}

func (w *world) Report(_ context.Context, _, format string, out io.Writer) error {
	_, err := io.WriteString(out, strings.Repeat(format+" ", maxReport/len(format+" ")+1))
	return err
}

// TestWaitForAStuckProcess: a wait does not go on with a process that does not report its status.
func TestWaitForAStuckProcess(t *testing.T) {
	impatient(t)
	w := newWorld(t)
	s := testkit.Must(NewMCP(w.options()))(t)
	ctx, cancel := context.WithTimeout(t.Context(), webWaitTimeout)
	defer cancel()
	l := testkit.Must(s.dial(ctx, theRun))(t)
	defer l.Close()
	n := testkit.Must(s.openNews(ctx, theRun, 0))(t)
	defer n.log.Close()
	w.hangs(t)
	wait := &waiter{s: s, req: &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}}, run: theRun, news: n}
	_, _, done, err := wait.attend(ctx, l, time.Now().Add(time.Hour))
	testkit.Check(t, !done && err == nil, "it has waited: %v, %v", done, err)
}

// options returns the options of a server for the world's run.
func (w *world) options() MCPOptions {
	return MCPOptions{Runs: w, Args: []string{"--max-cost", "5"}, Dirs: []string{w.dir}, Version: "1",
		Line: func(e contract.Event) string {
			if m, ok := e.Body.(contract.Message); ok {
				return m.Text
			}
			return ""
		},
		Full:  func(e contract.Event) string { return string(e.Body.(contract.PermissionRequest).Input) },
		Typed: func(name, run string, args ...string) string { return name + " " + strings.Join(args, " ") },
	}
}

// user is a client of a server.
type user struct {
	t       *testing.T
	session *mcp.ClientSession
}

// serve connects a client to a server for the world's run. version is the protocol version; empty: the newest.
func (w *world) serve(version string, o *mcp.ClientOptions, change func(*MCPOptions)) *user {
	w.t.Helper()
	opts := w.options()
	if change != nil {
		change(&opts)
	}
	s := testkit.Must(NewMCP(opts))(w.t)
	mine, theirs := mcp.NewInMemoryTransports()
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(w.t.Context(), theirs) }) // it returns when the client has gone
	w.t.Cleanup(served.Wait)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session := testkit.Must(client.Connect(w.t.Context(), mine, &mcp.ClientSessionOptions{ProtocolVersion: version}))(w.t)
	w.t.Cleanup(func() { _ = session.Close() })
	return &user{w.t, session}
}

// callMCP calls a tool and returns its result, or the error text of a failed call.
func callMCP[T any](u *user, name string, args map[string]any) (v T, failed string) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), mcpWaitTimeout)
	defer cancel()
	r, err := u.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	testkit.Need(u.t, err == nil, "%s: %v", name, err)
	if r.IsError {
		return v, r.Content[0].(*mcp.TextContent).Text
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	testkit.Need(u.t, err == nil, "%s: %v: %s", name, err, raw)
	return v, ""
}

func (u *user) wait(since uint64) MCPView {
	u.t.Helper()
	v, failed := callMCP[MCPView](u, "wait", map[string]any{"run": theRun, "since": since})
	testkit.Need(u.t, failed == "", "wait: %s", failed)
	return v
}

// versions are protocol versions that differ in how a form is shown.
var versions = map[string]string{"a form as a request": "2025-11-25", "a form as a result": newest}

// TestEventsAreShownOnce: news come in bounded parts, all of them and each once, whatever the cursor. A call with an
// old cursor returns the same news again.
func TestEventsAreShownOnce(t *testing.T) {
	w := newWorld(t)
	u := w.serve("", nil, nil)
	var want []string
	for i := range 3 * maxNews {
		want = append(want, fmt.Sprintf("word %d", i))
		w.message(want[i])
		w.happens(contract.Assistant{Text: "narrated"})
	}
	var got []string
	v := MCPView{More: true}
	for v.More {
		again := u.wait(v.Cursor)
		v = u.wait(v.Cursor)
		testkit.Need(t, len(v.News) <= maxNews && slices.Equal(v.News, again.News),
			"%d lines, and then %d", len(v.News), len(again.News))
		got = append(got, v.News...)
		if len(got) == 2*maxNews {
			w.end("") // otherwise the last wait would block
		}
	}
	diff := cmp.Diff(want, got)
	testkit.Check(t, diff == "" && v.Status == contract.StatusInterrupted && strings.Contains(v.Next, "resume_run"),
		"%s; the last view: %+v", diff, v)
	s, _ := callMCP[MCPView](u, "status", map[string]any{"run": theRun[:4]})
	testkit.Check(t, slices.Equal(s.News, want[len(want)-lastNews:]) && s.Cursor == v.Cursor, "status: %+v", s)
}

// TestWaitReturnsForWhatIsNew: a question that was reported already does not end another wait. A new question does,
// and so does the end of the run, whose result is returned.
func TestWaitReturnsForWhatIsNew(t *testing.T) {
	w := newWorld(t)
	progress := make(chan string, 100)
	u := w.serve("2025-11-25", &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			progress <- r.Params.Message
		}}, nil)
	w.waits(supervisor.InboxItem{ID: "question-1", Kind: "question", Text: strings.Repeat("Which? ", 2000)})
	v := u.wait(0)
	testkit.Need(t, len(v.Waiting) == 1 && len(v.Waiting[0].Text) <= maxText+20 && v.Status == inputRequired,
		"the first question: %d items, status %s", len(v.Waiting), v.Status)
	got := make(chan MCPView, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		r, err := u.session.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": "p"},
			Name: "wait", Arguments: map[string]any{"run": theRun, "since": v.Cursor}})
		testkit.Check(t, err == nil && !r.IsError, "wait: %v, %+v", err, r)
		next, _ := callMCP[MCPView](u, "status", map[string]any{"run": theRun})
		got <- next
	})
	w.message("still at it") // it is reported, but ends no wait
	testkit.Same(t, "progress", "still at it", <-progress)
	testkit.Check(t, len(got) == 0, "the wait returned for a question that was told of")
	w.waits(supervisor.InboxItem{ID: "question-2", Kind: "question", Agent: "arbiter", Text: "And?"})
	waiting.Wait()
	if v = <-got; len(v.Waiting) != 2 {
		t.Errorf("after the second question: %+v", v)
	}
	w.happens(contract.Session{Session: theRun, Resumed: true})
	if v = u.wait(v.Cursor); len(v.Waiting) != 2 {
		t.Errorf("after a resume what waited before waits again: %+v", v)
	}
	for n := range 30 {
		w.waits(supervisor.InboxItem{ID: fmt.Sprint(n), Kind: "question", Text: strings.Repeat("Which? ", 2000)})
	}
	v = u.wait(0)
	raw, err := json.Marshal(v)
	testkit.Check(t, err == nil && len(raw) <= 32<<10 && len(v.Waiting) == maxWaiting &&
		strings.Contains(v.Next, "12 more wait"), "%d items in %d bytes, %v", len(v.Waiting), len(raw), err)
	w.do(func() { w.info.Unfinished = false })
	w.happens(contract.Result{Status: contract.StatusComplete, Summary: "Done.", CostUSD: 1.5})
	w.end("")
	if v = u.wait(v.Cursor); v.Status != contract.StatusComplete || v.Summary != "Done." || v.CostUSD != 1.5 {
		t.Errorf("the end: %+v", v)
	}
}

// TestFormsReachTheHuman: each answer in a form becomes the right command. A form that is closed leaves the request
// open, and the result says how to answer it.
func TestFormsReachTheHuman(t *testing.T) {
	permit := func(behavior, scope, rule, message string) contract.CommandBody {
		return contract.Permit{Request: "perm-1", Behavior: behavior, Action: "hash-perm-1", Scope: scope, Rule: rule,
			Message: message}
	}
	answers := map[string]struct {
		result *mcp.ElicitResult
		want   contract.CommandBody
	}{
		"once": {accepts("Allow once", ""), permit("allow", "once", "", "")},
		"run":  {accepts("Allow this for the whole run", "ignored"), permit("allow", "run", "", "")},
		"always": {accepts("Always allow here: Bash(make *) "+
			"(every command that begins with `make` (its options can run programs))",
			""), permit("allow", "always", "Bash(make *)", "")},
		"deny":    {accepts("Deny", "Not now."), permit("deny", "once", "", "Not now.")},
		"decline": {&mcp.ElicitResult{Action: "decline"}, permit("deny", "once", "", "")},
		"cancel":  {&mcp.ElicitResult{Action: "cancel"}, nil},
	}
	for how, version := range versions {
		for name, tt := range answers {
			for _, tool := range []string{"wait", "answer"} {
				t.Run(how+"/"+name+"/"+tool, func(t *testing.T) {
					w := newWorld(t)
					w.asks("perm-1", "make all", "Bash(make all)", "Bash(make *)", "Bash(*)")
					// The question makes a wait return.
					w.waits(supervisor.InboxItem{ID: "question-1", Kind: "question", Text: "And?"})
					shown := 0
					u := w.serve(version, &mcp.ClientOptions{
						ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							shown++
							testkit.Includes(t, "the form says", r.Params.Message, "make all")
							return tt.result, nil
						}}, nil)
					args := map[string]any{"run": theRun}
					if tool == "answer" {
						args = map[string]any{"run": theRun, "request": "perm-1", "behavior": "allow"}
					}
					v, failed := callMCP[map[string]any](u, tool, args)
					testkit.Need(t, failed == "" && shown == 1, "%s; the form was shown %d times", failed, shown)
					var want []contract.CommandBody
					if tt.want != nil {
						want = append(want, tt.want)
					} else if text := fmt.Sprint(v); !strings.Contains(text, "allow perm-1") {
						t.Errorf("an open request: %s", text)
					}
					testkit.Same(t, "commands", want, w.given())
				})
			}
		}
	}
}

// TestModelIsToldOfAHalt: a model does not just wait for a run that goes on only when a human continues it.
func TestModelIsToldOfAHalt(t *testing.T) {
	w := newWorld(t)
	w.status.Halted, w.status.Paused = true, true
	u := w.serve("", nil, nil)
	v, failed := callMCP[MCPView](u, "status", map[string]any{"run": theRun})
	testkit.Includes(t, "what is next", v.Next+failed, "the run is halted: nothing is sent before it is continued")
	a, failed := callMCP[Answered](u, "answer", map[string]any{"run": theRun, "text": "Go on."})
	testkit.Includes(t, "the answer to a message", a.Message+failed, "the run is halted: nothing is sent")
}

// elicits adds a question of an MCP server to the inbox.
func (w *world) elicits() {
	w.t.Helper()
	request := contract.PermissionRequest{Request: "perm-1", Tool: "Elicitation", Action: "hash", Input: json.RawMessage(
		`{"server":"maps","message":"Which region?","schema":{"type":"object","required":["region"],"properties":` +
			`{"region":{"type":"string","title":"Re\u202egion"}}}}`)}
	w.happens(request)
	w.waits(supervisor.InboxItem{ID: "perm-1", Kind: supervisor.InboxPermission, Agent: "orch-1", Request: &request})
}

// elicited are answers to the form of [world.elicits], each with its command.
var elicitedAnswers = map[string]contract.CommandBody{
	`{"action":"accept","content":{"region":"eu-west"}}`: contract.Permit{Request: "perm-1", Behavior: "allow",
		Action: "hash", Scope: "once", Message: `{"region":"eu-west"}`},
	`{"action":"decline"}`: contract.Permit{Request: "perm-1", Behavior: "deny", Action: "hash", Scope: "once"},
}

// TestServersQuestionReachesTheHuman: the form has the fields that an MCP server asks for, and what is said in them
// is the answer.
func TestServersQuestionReachesTheHuman(t *testing.T) {
	for how, version := range versions {
		for result, want := range elicitedAnswers {
			t.Run(how+"/"+result, func(t *testing.T) {
				w := newWorld(t)
				w.elicits()
				u := w.serve(version, &mcp.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						schema := testkit.Must(json.Marshal(r.Params.RequestedSchema))(t)
						testkit.Includes(t, "the form says", r.Params.Message+string(schema), "Which region?", `"title":"Region"`)
						var res mcp.ElicitResult
						return &res, json.Unmarshal([]byte(result), &res)
					}}, nil)
				_, failed := callMCP[map[string]any](u, "answer",
					map[string]any{"run": theRun, "request": "perm-1", "behavior": "allow"})
				testkit.Same(t, "problem", "", failed)
				testkit.Same(t, "commands", []contract.CommandBody{want}, w.given())
			})
		}
	}
}

// TestServersQuestionReachesAnEditor: an editor with forms shows the fields that an MCP server asks for. One without
// is offered no scope, and told how to answer.
func TestServersQuestionReachesAnEditor(t *testing.T) {
	type exchange struct{ can, method, says, result string }
	cases := map[exchange]contract.CommandBody{
		{"{}", methodPermission, "arbiter allow 4be1c2d0 perm-1 --state-dir s --message TEXT",
			`{"outcome":{"outcome":"selected","optionId":"deny"}}`}: elicitedAnswers[`{"action":"decline"}`],
	}
	for result, want := range elicitedAnswers {
		cases[exchange{`{"elicitation":{"form":{}}}`, "elicitation/create", "The MCP server maps asks: Which region?",
			result}] = want
	}
	for c, want := range cases {
		t.Run(c.method+c.result, func(t *testing.T) {
			w := newWorld(t)
			w.elicits()
			e := w.edits(c.can)
			line := e.answers(c.method, c.result)
			testkit.Includes(t, "it asks", line, "region", c.says)
			testkit.Excludes(t, "it asks", line, "whole run")
			w.took(t.Context(), 1)
			testkit.Same(t, "commands", []contract.CommandBody{want}, w.given())
		})
	}
}

// TestAnEditorShowsAllOfARequest: titles are cut, and editors need not show the input of a call.
func TestAnEditorShowsAllOfARequest(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"echo ` + strings.Repeat("x", maxTitle) + ` && rm -rf src"}`: "&& rm -rf src",
		`{"command":"make \u200ball"}`:                                           eventtext.Unseen,
		`{"channel":"general","text":"Hi"}`:                                      "channel: general",
		`{"file_path":"/w/a","old_string":"a","new_string":"b\u200b"}`:           eventtext.Unseen,
	} {
		w := newWorld(t)
		request := contract.PermissionRequest{Request: "perm-1", Tool: "Edit", Input: json.RawMessage(input)}
		w.happens(request)
		w.waits(supervisor.InboxItem{ID: "perm-1", Kind: "permission", Agent: "orch-1", Request: &request})
		line := w.edits("{}").answers(methodPermission, `{"outcome":{"outcome":"cancelled"}}`)
		_, content, _ := strings.Cut(line, `"content":[`)
		content, _, _ = strings.Cut(content, `"rawInput"`)
		testkit.Includes(t, input, strings.ReplaceAll(content, `\u0026`, "&"), want)
	}
}

// TestRefusedAnswerIsAskedForAgain: an editor learns why the run refused an answer, and has to answer again at once.
func TestRefusedAnswerIsAskedForAgain(t *testing.T) {
	const result = `{"action":"accept","content":{"region":"eu-west"}}`
	w := newWorld(t)
	w.elicits()
	w.refuse = "region: use one of the list"
	e := w.edits(`{"elicitation":{"form":{}}}`)
	for range maxRefused {
		e.answers("elicitation/create", result)
		testkit.Includes(t, "the refusal", e.until(methodUpdate), "not accepted: region: use one of the list")
	}
	w.do(func() { w.refuse = "" })
	e.answers("elicitation/create", result)
	w.took(t.Context(), 1)
	testkit.Same(t, "commands", []contract.CommandBody{elicitedAnswers[result]}, w.given())
}

// TestRefusedAnswerIsAskedForInAForm: a form whose answer the run refused is shown again, with the reason.
func TestRefusedAnswerIsAskedForInAForm(t *testing.T) {
	const why = "region: use one of the list"
	result := &mcp.ElicitResult{Action: "accept", Content: map[string]any{"region": "eu-west"}}
	for how, version := range versions {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			w.elicits()
			w.waits(supervisor.InboxItem{ID: "question-1", Kind: "question", Text: "And?"}) // it makes a wait return
			w.refuse = why
			var shown []string
			w.serve(version, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if shown = append(shown, r.Params.Message); len(shown) == 2 {
						w.do(func() { w.refuse = "" })
					}
					return result, nil
				}}, nil).wait(0)
			testkit.Need(t, len(shown) == 2, "shown: %q", shown)
			testkit.Excludes(t, "the first form", shown[0], why)
			testkit.Includes(t, "the second form", shown[1], "not accepted: "+why, "Which region?")
			testkit.Same(t, "commands", 1, len(w.given()))
		})
	}
	w := newWorld(t)
	w.elicits()
	w.refuse = why
	c := w.wire(true)
	first := keys(c.get())
	c.update(map[string]any{first[0]: result})
	again := c.get()
	testkit.Check(t, keys(again)[0] != first[0] &&
		strings.Contains(again.Result.InputRequests[keys(again)[0]].Params.Message, why), "a task asks again: %+v", again)
}

// anEditor is the client of an agent, which has loaded the world's run.
type anEditor struct {
	t     *testing.T
	to    io.Writer
	lines *bufio.Scanner
	asked struct {
		ID     json.RawMessage
		Method string
	}
}

// edits starts an agent for an editor with some capabilities.
func (w *world) edits(can string) *anEditor {
	w.t.Helper()
	in, toServer := io.Pipe()
	fromServer, out, err := os.Pipe() // it has room: the server writes while it is written to
	testkit.OK(w.t, err)
	var served sync.WaitGroup
	served.Go(func() {
		testkit.OK(w.t, ServeACP(w.t.Context(), in, out, ACPConfig{Runs: w, State: " --state-dir s",
			Mode: func(string) (string, error) { return "ask", nil }, Log: slog.New(slog.DiscardHandler)}))
	})
	w.t.Cleanup(func() {
		testkit.OK(w.t, toServer.Close())
		served.Wait()
		testkit.OK(w.t, fromServer.Close(), out.Close())
	})
	fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":%s}}`+"\n", can)
	fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q}}`+"\n", theRun)
	return &anEditor{t: w.t, to: toServer, lines: bufio.NewScanner(fromServer)}
}

// until reads up to a call of a method.
func (e *anEditor) until(method string) string {
	e.t.Helper()
	for e.asked.Method = ""; e.asked.Method != method && e.lines.Scan(); {
		testkit.OK(e.t, json.Unmarshal(e.lines.Bytes(), &e.asked))
	}
	return e.lines.Text()
}

// answers waits for a request of the agent, which it returns, and answers it.
func (e *anEditor) answers(method, result string) (request string) {
	e.t.Helper()
	request = e.until(method)
	fmt.Fprintf(e.to, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", e.asked.ID, result)
	return request
}

func accepts(decision, note string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{fieldDecision: decision, fieldNote: note}}
}

// TestFormStaysWhileAProcessHangs: a form is not withdrawn because the process of the run is slow.
func TestFormStaysWhileAProcessHangs(t *testing.T) {
	impatient(t)
	w := newWorld(t)
	w.elicits()
	u := w.serve("2025-11-25", &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			goesOn := w.hangs(t)
			defer goesOn()
			for range 2 { // the second time, the first one was in vain
				select {
				case <-w.asked:
				case <-ctx.Done():
					t.Error("the form was withdrawn")
				}
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		}}, nil)
	_, failed := callMCP[map[string]any](u, "answer",
		map[string]any{"run": theRun, "request": "perm-1", "behavior": "allow"})
	testkit.Same(t, "problem", "", failed)
	testkit.Same(t, "commands", []contract.CommandBody{elicitedAnswers[`{"action":"decline"}`]}, w.given())
}

// TestFormClosesWhenAnotherAnswers: the form is withdrawn when its request is settled in another terminal.
func TestFormClosesWhenAnotherAnswers(t *testing.T) {
	w := newWorld(t)
	w.asks("perm-1", "make all")
	open, gone := make(chan struct{}), make(chan struct{})
	u := w.serve("2025-11-25", &mcp.ClientOptions{
		ElicitationHandler: func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(open)
			<-ctx.Done()
			close(gone)
			return nil, ctx.Err()
		}}, nil)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		v := u.wait(0)
		testkit.Check(t, v.Status == contract.StatusCancelled, "in the end: %+v", v)
	})
	<-open
	w.answer("perm-1")
	<-gone
	w.happens(contract.Result{Status: contract.StatusCancelled})
	w.end("")
	waiting.Wait()
	list := w.given()
	testkit.Check(t, len(list) == 0, "commands: %v", list)
}

// TestWhoAnswers: without the user's permission, a model answers no permission request and trusts no workspace.
// With it, the model answers permission requests only, and each answer holds once.
func TestWhoAnswers(t *testing.T) {
	for _, leave := range []bool{false, true} {
		w := newWorld(t)
		w.asks("perm-1", "make all", "Bash(make *)")
		w.waits(supervisor.InboxItem{ID: "trust", Kind: "trust", Text: "?", Choices: []string{"trust"}})
		w.waits(supervisor.InboxItem{ID: "recovery-orch-1", Kind: "recovery", Agent: "orch-1", Text: "?",
			Choices: []string{"retry", "skip"}, Optional: true})
		u := w.serve("", nil, func(o *MCPOptions) { o.ModelAnswers = leave })
		for _, args := range []map[string]any{
			{"request": "perm-1", "behavior": "allow", "text": "go"},
			{"choice": "trust"}, {"choice": "retry", "text": "because"}, {"choice": "skip"}, {"choice": "none"},
			{"request": "perm-2", "behavior": "deny"},
			{"request": "perm-1"}, {"request": "perm-1", "behavior": "maybe"}, {"behavior": "allow"}, {},
			{"request": "perm-1", "behavior": "allow", "choice": "skip"}, {"text": "Hear me."},
		} {
			args["run"] = theRun
			_, failed := callMCP[Answered](u, "answer", args)
			testkit.Check(t, args["request"] != "perm-1" || args["behavior"] != "allow" || args["choice"] != nil ||
				leave || strings.Contains(failed, "allow perm-1"), "it is reported %q", failed)
		}
		want := []contract.CommandBody{contract.Choose{Option: "skip"},
			contract.Say{Text: "Hear me.", Strength: "note"}}
		if leave {
			want = slices.Insert(want, 0, contract.CommandBody(contract.Permit{Request: "perm-1", Behavior: "allow",
				Action: "hash-perm-1", Scope: "once"}))
		}
		testkit.Same(t, fmt.Sprintf("with leave %v", leave), want, w.given())
	}
}

// TestRefused: a server that an agent has started is refused at once.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.refusal = fmt.Errorf("run: %w", &control.Refusal{Code: control.CodeRefused, Message: "an agent started it"})
	u := w.serve("", nil, nil)
	for _, tool := range []string{"wait", "status", "cancel"} {
		_, failed := callMCP[MCPView](u, tool, map[string]any{"run": theRun})
		testkit.Includes(t, tool, failed, "an agent started it")
	}
}

// TestPlaces: runs work below the server's directory or below one that the user allows, even through links. Runs
// elsewhere are not shown.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	also, outside := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t), t.TempDir()
	below := filepath.Join(w.dir, "below")
	testkit.OK(t, os.Mkdir(below, 0o700))
	for name, target := range map[string]string{"out": outside, "in": below} {
		testkit.OK(t, os.Symlink(target, filepath.Join(w.dir, name)))
	}
	u := w.serve("", nil, func(o *MCPOptions) { o.Dirs = append(o.Dirs, also) })
	for dir, want := range map[string]string{
		"": w.dir, ".": w.dir, "below": below, "in": below, below: below, also: also, "below/..": w.dir,
		"out": "", "..": "", "/": "", outside: "", "none": "", "in/../..": "", eventsFile: "",
	} {
		v, failed := callMCP[MCPView](u, "start_run", map[string]any{"task": "x", "dir": dir})
		list := w.given()
		asked := contract.Say{Text: "x", To: want + " --max-cost 5"}
		switch {
		case want == "" && failed == "":
			t.Errorf("a run may work in %q", dir)
		case want != "" && (v.Run != theRun || !cmp.Equal(list[len(list)-1], contract.CommandBody(asked))):
			t.Errorf("in %q: %s, %+v", dir, failed, list)
		}
	}
	w.do(func() { w.info.CWD = outside })
	_, failed := callMCP[MCPView](u, "status", map[string]any{"run": theRun})
	testkit.Check(t, strings.Contains(failed, "--allow-dir"), "a run elsewhere: %q", failed)
	list, _ := callMCP[RunList](u, "list_runs", nil)
	testkit.Check(t, len(list.Runs) == 0, "listed: %+v", list)
}

const eventsFile = "events.ndjson"

// TestReportIsBounded: a model gets the beginning of a long report, and the command that prints all of it.
func TestReportIsBounded(t *testing.T) {
	u := newWorld(t).serve("", nil, nil)
	r, _ := callMCP[ReportText](u, "report", map[string]any{"run": theRun, "format": "json"})
	testkit.Check(t, len(r.Text) <= maxReport+20 && r.Cut == "report --format json", "%d bytes, %q", len(r.Text), r.Cut)
	_, failed := callMCP[ReportText](u, "report", map[string]any{"run": theRun, "format": "pdf"})
	testkit.Check(t, failed != "", "a report as pdf")
}

// TestARehearsalIsMarked: a rehearsal is marked while it is live and after it has ended.
func TestARehearsalIsMarked(t *testing.T) {
	w := newWorld(t)
	u := w.serve("", nil, nil)
	for _, simulated := range []bool{false, true} {
		w.do(func() { w.status.Rehearsal = simulated })
		v, _ := callMCP[MCPView](u, "status", map[string]any{"run": theRun[:4]})
		testkit.Check(t, v.Simulated == simulated, "live: simulated is %v, want %v", v.Simulated, simulated)
		info := w.info
		info.Rehearsal = simulated
		v = endedView(info, nil)
		testkit.Check(t, v.Simulated == simulated, "ended: simulated is %v, want %v", v.Simulated, simulated)
	}
}

// TestUnknownIsNotNothing: what nobody knows of an agent is marked, as in arbiter status.
func TestUnknownIsNotNothing(t *testing.T) {
	w := newWorld(t)
	w.do(func() {
		w.status.Agents = []runstore.AgentStatus{{ID: "orch-2", Make: "other", ContextUnknown: true, CostUnknown: true}}
	})
	u := w.serve("", nil, nil)
	v, _ := callMCP[map[string]any](u, "status", map[string]any{"run": theRun[:4]})
	a, _ := v["agents"].([]any)[0].(map[string]any)
	testkit.Check(t, a["context_unknown"] == true && a["cost_unknown"] == true && v["cost_unknown"] == true,
		"shown: %+v", v)
	w.happens(contract.Turn{CostUSD: 1, Unknown: true})
	w.end("") // it is killed
	v, _ = callMCP[map[string]any](u, "status", map[string]any{"run": theRun[:4]})
	testkit.Check(t, v["cost_usd"] == 1.0 && v["cost_unknown"] == true, "after a kill: %+v", v)
}

// TestAgentsWithHosts: an agent on another host and its requests are shown with the host.
func TestAgentsWithHosts(t *testing.T) {
	w := newWorld(t)
	w.do(func() {
		w.status.Agents = []runstore.AgentStatus{{ID: "orch-2", Name: "Orchestrator II", Host: "box"}}
		w.status.Inbox = []supervisor.InboxItem{{ID: "q", Kind: "question", Agent: "orch-2", Host: "box", Text: "Which?"}}
	})
	v, _ := callMCP[MCPView](w.serve("", nil, nil), "status", map[string]any{"run": theRun[:4]})
	testkit.Check(t, len(v.Agents) == 1 && v.Agents[0].Host == "box" && len(v.Waiting) == 1 &&
		v.Waiting[0].Host == "box", "shown: %+v, %+v", v.Agents, v.Waiting)
}

// wire is a client that knows tasks; the SDK's client does not.
type wire struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Reader
	n     int
	tasks bool // whether it announces the capability
}

func (w *world) wire(tasks bool) *wire {
	w.t.Helper()
	s := testkit.Must(NewMCP(w.options()))(w.t)
	theirs, in := io.Pipe()
	out, ours := io.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		_ = s.Serve(w.t.Context(), MCPLines(theirs, ours)) // ends with the client
	})
	w.t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
		served.Wait()
	})
	return &wire{t: w.t, in: in, out: bufio.NewReader(out), tasks: tasks}
}

// answerOf is the result or error that a client reads.
type answerOf struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		InputRequests                             map[string]struct{ Params mcp.ElicitParams }
		TTL                                       *int64 `json:"ttlMs"`
		Result                                    *struct {
			IsError           bool
			StructuredContent MCPView
		}
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (c *wire) call(method string, params map[string]any) (a answerOf) {
	c.t.Helper()
	c.n++
	capabilities := map[string]any{}
	if c.tasks {
		capabilities["extensions"] = map[string]any{tasksExtension: map[string]any{}}
	}
	params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: newest, mcp.MetaKeyClientCapabilities: capabilities}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.n, "method": method, "params": params})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = c.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	testkit.Need(c.t, err == nil, "%s: %v: %s", method, err, line)
	return a
}

func (c *wire) get() answerOf { return c.call("tasks/get", map[string]any{"taskId": theRun}) }

func (c *wire) update(responses map[string]any) answerOf {
	return c.call("tasks/update", map[string]any{"taskId": theRun, "inputResponses": responses})
}

func keys(a answerOf) (list []string) {
	for key := range a.Result.InputRequests {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// TestTask: a run is a task from its start to its end, on any server. Items for the human come as forms, and the
// answers become commands; answers to other keys are ignored.
func TestTask(t *testing.T) {
	w := newWorld(t)
	task := map[string]any{"task": "x"}
	begun := w.wire(true).call("tools/call", map[string]any{"name": "start_run", "arguments": task})
	if r := begun.Result; r.ResultType != "task" || r.TaskID != theRun || r.Status != working || r.TTL != nil {
		t.Fatalf("begun: %+v", begun)
	}
	c := w.wire(true) // another server
	w.message("at work")
	r := c.get().Result
	testkit.Check(t, r.ResultType == complete && r.Status == working && r.StatusMessage == "at work", "at work: %+v", r)
	w.waits(supervisor.InboxItem{ID: "question-1", Kind: "question", Text: "Which?"})
	w.waits(supervisor.InboxItem{ID: "recovery-orch-1", Kind: "recovery", Choices: []string{"retry"}, Optional: true})
	w.waits(supervisor.InboxItem{ID: "trust", Kind: "trust", Text: "?", Choices: []string{"trust", "cancel"}})
	w.asks("perm-1", "make all")
	a := c.get()
	list := keys(a)
	testkit.Need(t, len(list) == 3 && list[0] == "perm-1.7" && list[1] == "question-1.7" &&
		strings.HasPrefix(list[2], "trust.7.") && a.Result.Status == inputRequired, "what waits: %v, %+v", list, a)
	accept := func(field, value string) any {
		return map[string]any{"action": "accept", "content": map[string]any{field: value}}
	}
	for _, responses := range []map[string]any{
		{"question-1.7": map[string]any{"action": "cancel"}, "perm-2.7": accept(fieldDecision, "Allow once")},
		{"trust": accept(fieldDecision, "trust"), "resume-1": accept(fieldDecision, doResume),
			"perm-1.6": accept(fieldDecision, "Deny")},
		{"question-1.7": accept(fieldAnswer, "This."), list[2]: accept(fieldDecision, "cancel"),
			"perm-1.7": accept(fieldDecision, "Deny")},
		{"perm-1.7": accept(fieldDecision, "Allow once")},
	} {
		a := c.update(responses)
		testkit.Check(t, a.Error == nil && a.Result.ResultType == complete, "%v: %+v", responses, a)
	}
	want := []contract.CommandBody{
		contract.Say{Text: "x", To: w.dir + " --max-cost 5"}, // how the run was started
		contract.Say{Text: "This.", Strength: contract.Note}, contract.Choose{Option: "cancel"},
		contract.Permit{Request: "perm-1", Behavior: "deny", Action: "hash-perm-1", Scope: "once"},
	}
	testkit.Same(t, "commands", want, w.given())
	w.do(func() { w.info.Unfinished = false })
	w.happens(contract.Result{Status: contract.StatusFailed, Summary: "It broke."})
	w.end("")
	a = c.get()
	r = a.Result
	testkit.Check(t, r.Status == "completed" && r.Result.IsError && r.Result.StructuredContent.Summary == "It broke.",
		"the end: %+v", a)
}

// TestTaskOfAStoppedRun: after each time that the run was killed, the human is asked once whether it should be
// resumed.
func TestTaskOfAStoppedRun(t *testing.T) {
	w := newWorld(t)
	c := w.wire(true)
	w.happens(contract.Turn{CostUSD: 1.5})
	w.end("")
	v, _ := callMCP[MCPView](w.serve("", nil, nil), "status", map[string]any{"run": theRun})
	testkit.Same(t, "it has cost", 1.5, v.CostUSD)
	runs, _ := callMCP[RunList](w.serve("", nil, nil), "list_runs", nil)
	testkit.Check(t, len(runs.Runs) == 1 && runs.Runs[0].Status == v.Status, "listed: %+v", runs)
	choose := func(key, what string) answerOf {
		return c.update(map[string]any{key: map[string]any{"action": "accept",
			"content": map[string]any{fieldDecision: what}}})
	}
	list := keys(c.get())
	testkit.Need(t, len(list) == 1 && strings.HasPrefix(list[0], "resume-"), "it waits for %v", list)
	choose("resume-0", doResume)
	testkit.Check(t, len(w.given()) == 0, "an answer to another form: %v", w.given())
	choose(list[0], doResume)
	testkit.Same(t, "resuming", []contract.CommandBody{contract.Continue{}}, w.given())
	w.happens(contract.Session{Session: theRun, Resumed: true})
	again := keys(c.get())
	testkit.Need(t, len(again) == 1 && again[0] != list[0],
		"killed again, it waits for %v, and before for %v", again, list)
	choose(again[0], doLeave)
	r := c.get().Result
	testkit.Check(t, r.Status == "completed" && r.Result != nil && r.Result.IsError, "left as it is: %+v", r)
}

// TestTaskCancelled: tasks/cancel ends the run in an orderly way, and the task of a cancelled run is cancelled.
func TestTaskCancelled(t *testing.T) {
	w := newWorld(t)
	c := w.wire(true)
	a := c.call("tasks/cancel", map[string]any{"taskId": theRun})
	testkit.Check(t, a.Error == nil, "%+v", a.Error)
	testkit.Same(t, "commands", []contract.CommandBody{contract.Cancel{}}, w.given())
	w.do(func() { w.info.Unfinished, w.info.LastActive = false, time.Now() })
	w.happens(contract.Result{Status: contract.StatusCancelled})
	w.end("")
	r := c.get().Result
	testkit.Check(t, r.Status == "cancelled" && r.Result == nil, "%+v", r)
}

// TestTasksNeedTheCapability: a client without the capability gets the usual result and no task. An unknown task is
// an error.
func TestTasksNeedTheCapability(t *testing.T) {
	w := newWorld(t)
	c := w.wire(false)
	a := c.call("tools/call", map[string]any{"name": "start_run", "arguments": map[string]any{"task": "x"}})
	testkit.Check(t, a.Result.ResultType == complete && a.Result.TaskID == "", "begun: %+v", a)
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		a := c.call(method, map[string]any{"taskId": theRun})
		testkit.Check(t, a.Error != nil && a.Error.Code == mcp.CodeMissingRequiredClientCapabilities, "%s: %+v", method,
			a)
	}
	c.tasks = true
	for _, id := range []string{"none", "", theRun[:8]} {
		a := c.call("tasks/get", map[string]any{"taskId": id})
		testkit.Check(t, a.Error != nil && a.Error.Code == -32602, "task %q: %+v", id, a)
	}
}

// TestLinesThatAreNoMessages: the server answers such a line with an error and goes on; a byte order mark, several
// messages on a line and a batch are read.
func TestLinesThatAreNoMessages(t *testing.T) {
	w := newWorld(t)
	c := w.wire(false)
	number := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	ping := func(id string) string { return number(`"` + id + `"`) }
	for _, tt := range []struct {
		line  string
		wants []string // in an answer each
	}{
		{"hello", []string{"-32700"}}, {"{\"jsonrpc\":", []string{"-32700"}}, {`{"id":1}`, []string{"-32700"}},
		{"7", []string{"-32700"}}, {"\x00\xff", []string{"-32700"}}, {"[1,", []string{"-32700"}},
		{"\ufeff" + ping("bom"), []string{`"bom"`}}, {"", nil}, {"  \r", nil},
		{ping("a") + ping("b"), []string{`"a"`, `"b"`}}, {ping("c") + " nonsense", []string{`-32700`, `"c"`}},
		{"[" + ping("d") + "," + ping("e") + "]", []string{`"d"`, `"e"`}},
		// The SDK rounds numbers; ids come back as they were.
		{number("1.5"), []string{`"id":1.5,`}}, {number("9007199254740993"), []string{`"id":9007199254740993,`}},
		{number("-0.0"), []string{`"id":-0.0,`}}, {number("1e3"), []string{`"id":1e3,`}}, {number("7"), []string{`"id":7,`}},
		{ping("last"), []string{`"last"`}},
	} {
		testkit.Must(io.WriteString(c.in, tt.line+"\n"))(t)
		var got []string
		for range tt.wants {
			line, err := c.out.ReadString('\n')
			testkit.Need(t, err == nil, "%q: %v", tt.line, err)
			got = append(got, line)
		}
		for _, want := range tt.wants {
			testkit.Check(t, strings.Contains(strings.Join(got, ""), want),
				"%q is answered with %q, which has no %s", tt.line, got, want)
		}
	}
}
