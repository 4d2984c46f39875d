package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
		if len(v.News) > maxNews || !slices.Equal(v.News, again.News) {
			t.Fatalf("%d lines, and then %d", len(v.News), len(again.News))
		}
		got = append(got, v.News...)
		if len(got) == 2*maxNews {
			w.ends() // otherwise the last wait would block
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || v.Status != stopped || !strings.Contains(v.Next, "resume_run") {
		t.Errorf("%s; the last view: %+v", diff, v)
	}
	s, _ := callMCP[MCPView](u, "status", map[string]any{"run": theRun[:4]})
	if !slices.Equal(s.News, want[len(want)-lastNews:]) || s.Cursor != v.Cursor {
		t.Errorf("status: %+v", s)
	}
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
	w.waits(control.InboxItem{ID: "question-1", Kind: "question", Text: strings.Repeat("Which? ", 2000)})
	v := u.wait(0)
	if len(v.Waiting) != 1 || len(v.Waiting[0].Text) > maxText+20 || v.Status != inputRequired {
		t.Fatalf("the first question: %d items, status %s", len(v.Waiting), v.Status)
	}
	got := make(chan MCPView, 1)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		r, err := u.session.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"progressToken": "p"},
			Name: "wait", Arguments: map[string]any{"run": theRun, "since": v.Cursor}})
		if err != nil || r.IsError {
			t.Errorf("wait: %v, %+v", err, r)
		}
		next, _ := callMCP[MCPView](u, "status", map[string]any{"run": theRun})
		got <- next
	})
	w.message("still at it") // it is reported, but ends no wait
	if text := <-progress; text != "still at it" {
		t.Errorf("progress: %s", text)
	}
	if len(got) > 0 {
		t.Error("the wait returned for a question that was told of")
	}
	w.waits(control.InboxItem{ID: "question-2", Kind: "question", Agent: "arbiter", Text: "And?"})
	waiting.Wait()
	if v = <-got; len(v.Waiting) != 2 {
		t.Errorf("after the second question: %+v", v)
	}
	w.happens(contract.Session{Session: theRun, Resumed: true})
	if v = u.wait(v.Cursor); len(v.Waiting) != 2 {
		t.Errorf("after a resume what waited before waits again: %+v", v)
	}
	for n := range 30 {
		w.waits(control.InboxItem{ID: fmt.Sprint(n), Kind: "question", Text: strings.Repeat("Which? ", 2000)})
	}
	v = u.wait(0)
	if raw, err := json.Marshal(v); err != nil || len(raw) > 32<<10 || len(v.Waiting) != maxWaiting ||
		!strings.Contains(v.Next, "12 more wait") {
		t.Errorf("%d items in %d bytes, %v", len(v.Waiting), len(raw), err)
	}
	w.do(func() { w.info.Unfinished = false })
	w.happens(contract.Result{Status: contract.StatusComplete, Summary: "Done.", CostUSD: 1.5})
	w.ends()
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
					w.waits(control.InboxItem{ID: "question-1", Kind: "question", Text: "And?"})
					shown := 0
					u := w.serve(version, &mcp.ClientOptions{
						ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							shown++
							if !strings.Contains(r.Params.Message, "make all") {
								t.Errorf("the form says %q", r.Params.Message)
							}
							return tt.result, nil
						}}, nil)
					args := map[string]any{"run": theRun}
					if tool == "answer" {
						args = map[string]any{"run": theRun, "request": "perm-1", "behavior": "allow"}
					}
					v, failed := callMCP[map[string]any](u, tool, args)
					if failed != "" || shown != 1 {
						t.Fatalf("%s; the form was shown %d times", failed, shown)
					}
					var want []contract.CommandBody
					if tt.want != nil {
						want = append(want, tt.want)
					} else if text := fmt.Sprint(v); !strings.Contains(text, "allow perm-1") {
						t.Errorf("an open request: %s", text)
					}
					if diff := cmp.Diff(want, w.given()); diff != "" {
						t.Errorf("commands, -want +got:\n%s", diff)
					}
				})
			}
		}
	}
}

func accepts(decision, note string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{fieldDecision: decision, fieldNote: note}}
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
		if v := u.wait(0); v.Status != contract.StatusCancelled {
			t.Errorf("in the end: %+v", v)
		}
	})
	<-open
	w.answer("perm-1")
	<-gone
	w.happens(contract.Result{Status: contract.StatusCancelled})
	w.ends()
	waiting.Wait()
	if list := w.given(); len(list) > 0 {
		t.Errorf("commands: %v", list)
	}
}

// TestWhoAnswers: without the user's permission, a model answers no permission request and trusts no workspace.
// With it, the model answers permission requests only, and each answer holds once.
func TestWhoAnswers(t *testing.T) {
	for _, leave := range []bool{false, true} {
		w := newWorld(t)
		w.asks("perm-1", "make all", "Bash(make *)")
		w.waits(control.InboxItem{ID: "trust", Kind: "trust", Text: "?", Choices: []string{"trust"}})
		w.waits(control.InboxItem{ID: "recovery-orch-1", Kind: "recovery", Agent: "orch-1", Text: "?",
			Choices: []string{"retry", "skip"}, Optional: true})
		u := w.serve("", nil, func(o *MCPOptions) { o.ModelAnswers = leave })
		for _, args := range []map[string]any{
			{"request": "perm-1", "behavior": "allow", "text": "go"},
			{"choice": "trust"}, {"choice": "skip"}, {"choice": "none"}, {"request": "perm-2", "behavior": "deny"},
			{"request": "perm-1"}, {"request": "perm-1", "behavior": "maybe"}, {"behavior": "allow"}, {},
			{"request": "perm-1", "behavior": "allow", "choice": "skip"}, {"text": "Hear me."},
		} {
			args["run"] = theRun
			_, failed := callMCP[Answered](u, "answer", args)
			if args["request"] == "perm-1" && args["behavior"] == "allow" && args["choice"] == nil && !leave &&
				!strings.Contains(failed, "allow perm-1") {
				t.Errorf("it is reported %q", failed)
			}
		}
		want := []contract.CommandBody{contract.Choose{Option: "skip"},
			contract.Say{Text: "Hear me.", Strength: "note"}}
		if leave {
			want = slices.Insert(want, 0, contract.CommandBody(contract.Permit{Request: "perm-1", Behavior: "allow",
				Action: "hash-perm-1", Scope: "once"}))
		}
		if diff := cmp.Diff(want, w.given()); diff != "" {
			t.Errorf("with leave %v, -want +got:\n%s", leave, diff)
		}
	}
}

// TestRefused: a server that an agent has started is refused at once.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	w.refuse = fmt.Errorf("run: %w", &control.Refusal{Code: control.CodeRefused, Message: "an agent started it"})
	u := w.serve("", nil, nil)
	for _, tool := range []string{"wait", "status", "cancel"} {
		_, failed := callMCP[MCPView](u, tool, map[string]any{"run": theRun})
		if !strings.Contains(failed, "an agent started it") {
			t.Errorf("%s: %q", tool, failed)
		}
	}
}

// TestPlaces: runs work below the server's directory or below one that the user allows, even through links. Runs
// elsewhere are not shown.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	also, outside := resolved(t, t.TempDir()), t.TempDir()
	below := filepath.Join(w.dir, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"out": outside, "in": below} {
		if err := os.Symlink(target, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
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
	if _, failed := callMCP[MCPView](u, "status", map[string]any{"run": theRun}); !strings.Contains(
		failed,
		"--allow-dir",
	) {
		t.Errorf("a run elsewhere: %q", failed)
	}
	if list, _ := callMCP[RunList](u, "list_runs", nil); len(list.Runs) > 0 {
		t.Errorf("listed: %+v", list)
	}
}

const eventsFile = "events.ndjson"

func resolved(t *testing.T, dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// TestReportIsBounded: a model gets the beginning of a long report, and the command that prints all of it.
func TestReportIsBounded(t *testing.T) {
	u := newWorld(t).serve("", nil, nil)
	r, _ := callMCP[ReportText](u, "report", map[string]any{"run": theRun, "format": "json"})
	if len(r.Text) > maxReport+20 || r.Cut != "report --format json" {
		t.Errorf("%d bytes, %q", len(r.Text), r.Cut)
	}
	if _, failed := callMCP[ReportText](u, "report", map[string]any{"run": theRun, "format": "pdf"}); failed == "" {
		t.Error("a report as pdf")
	}
}

// TestARehearsalIsMarked: a rehearsal is marked while it is live and after it has ended.
func TestARehearsalIsMarked(t *testing.T) {
	w := newWorld(t)
	u := w.serve("", nil, nil)
	for _, simulated := range []bool{false, true} {
		w.do(func() { w.status.Rehearsal = simulated })
		if v, _ := callMCP[MCPView](u, "status", map[string]any{"run": theRun[:4]}); v.Simulated != simulated {
			t.Errorf("live: simulated is %v, want %v", v.Simulated, simulated)
		}
		info := w.info
		info.Rehearsal = simulated
		if v := endedView(info, nil); v.Simulated != simulated {
			t.Errorf("ended: simulated is %v, want %v", v.Simulated, simulated)
		}
	}
}

// TestAgentsWithHosts: an agent on another host and its requests are shown with the host.
func TestAgentsWithHosts(t *testing.T) {
	w := newWorld(t)
	w.do(func() {
		w.status.Agents = []control.AgentStatus{{ID: "orch-2", Name: "Orchestrator II", Host: "box"}}
		w.status.Inbox = []control.InboxItem{{ID: "q", Kind: "question", Agent: "orch-2", Host: "box", Text: "Which?"}}
	})
	v, _ := callMCP[MCPView](w.serve("", nil, nil), "status", map[string]any{"run": theRun[:4]})
	if len(v.Agents) != 1 || v.Agents[0].Host != "box" || len(v.Waiting) != 1 || v.Waiting[0].Host != "box" {
		t.Errorf("shown: %+v, %+v", v.Agents, v.Waiting)
	}
}
