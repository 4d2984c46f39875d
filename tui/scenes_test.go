package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// scene is a frontend on a simulated screen, in a bubble.
type scene struct {
	*tuitest.Stage
	host     *fakeHost
	frontend *Frontend
}

// play shows a frontend and runs act on it.
func play(t *testing.T, w, h int, change func(*Options, *fakeHost), act func(s *scene)) {
	t.Helper()
	tuitest.Play(t, w, h, func(stage *tuitest.Stage) {
		host := &fakeHost{t: t, found: Findings{Claude: "2.1.329", Path: "/usr/bin/claude", Login: LoginYes,
			Account: "weaver@loom.example", CWD: "/home/weaver/loom"}}
		o := Options{Screen: stage.Screen, Host: host, Theme: "dark", Mouse: true, Notify: render.NotifyOptions{Bell: true}}
		if change != nil {
			change(&o, host)
		}
		o.Host = host
		f := testkit.Must(New(o))(t)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		stage.Start(func() error { return f.Run(ctx) }, f.Leave)
		s := &scene{Stage: stage, host: host, frontend: f}
		s.Settle()
		act(s)
	})
}

// Settle waits for pending paints.
func (s *scene) Settle() {
	s.T.Helper()
	s.Advance(2 * frame)
}

// Press presses keys, and waits for the paint. So do the other actions of a user.
func (s *scene) Press(names ...string) { s.T.Helper(); s.Stage.Press(names...); s.Settle() }
func (s *scene) Type(text string)      { s.T.Helper(); s.Stage.Type(text); s.Settle() }
func (s *scene) Paste(text string)     { s.T.Helper(); s.Stage.Paste(text); s.Settle() }
func (s *scene) Resize(w, h int)       { s.T.Helper(); s.Stage.Resize(w, h); s.Settle() }
func (s *scene) Click(x, y int)        { s.T.Helper(); s.Stage.Click(x, y); s.Settle() }
func (s *scene) ClickOn(text string)   { s.T.Helper(); s.Stage.ClickOn(text); s.Settle() }
func (s *scene) Wheel(x, y int)        { s.T.Helper(); s.Stage.Wheel(x, y); s.Settle() }

// does makes something happen in the run, and shows it.
func (s *scene) does(do func(p *fakeRun)) {
	s.T.Helper()
	do(s.host.present())
	s.Settle()
}

// startWork brings a run to the point where two Orchestrators work on a plan.
func (s *scene) startWork() {
	s.T.Helper()
	s.Type("Teach the loom the new header\n")
	s.does(func(p *fakeRun) {
		p.call("arbiter", "set_plan", `{"steps":[{"text":"Read the header","status":"done"},{"text":"Write the header","status":"active"},{"text":"Prove it with fresh eyes"},{"text":"Tell the human"}]}`)
		p.call("arbiter", "spawn_orchestrator",
			`{"prompt":"Teach the parser the **new** header. Tests first.","mode":"developer"}`)
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"Review what the other one wrote.","mode":"reviewer"}`)
		p.full("arbiter", 31_000)
		p.endTurn("arbiter", decides("CONTINUE", "The weaving begins."))
	})
	s.Advance(7 * time.Second)
	s.does(func(p *fakeRun) {
		p.full("orch-1", 143_000)
		p.does("orch-1", bridge.ContextWarning{Pct: 71.5, Level: "warn"})
		p.full("orch-2", 22_000)
		p.does("orch-1", bridge.Assistant{Text: "I begin with the tests, as I was told."})
		p.does("orch-1",
			bridge.ToolUse{Tool: "Bash", ToolUse: "t1",
				Input: []byte(`{"command":"go test ./header","description":"Run the tests"}`)})
		p.does("orch-1", bridge.ToolResult{ToolUse: "t1", Text: "ok  \tloom/header\t0.012s"})
		p.does("orch-1",
			bridge.ToolUse{Tool: "Agent", ToolUse: "t2",
				Input: []byte(`{"description":"Find the callers","prompt":"Find who reads the header.","subagent_type":"Explore"}`)})
		p.does("orch-1", bridge.SubagentStart{Description: "Find the callers", ToolUse: "t2", Type: "Explore"})
		p.does("orch-1", bridge.ToolUse{Tool: "Grep", ToolUse: "t3", Input: []byte(`{"pattern":"ReadHeader"}`),
			Subagent: "t2"})
		p.does("orch-1", bridge.SubagentProgress{Description: "Find the callers", ToolUse: "t2", Tokens: 18_000,
			ToolUses: 1, LastTool: "Grep"})
		p.endTurn("orch-2",
			reports("question",
				"May I change `header.go` while the other one works on it?\n\n- yes: at once\n- no: I wait", true))
	})
}

// sizes are the sizes of all screen tests. Golden files exist for the first, and some for the second, which has tiles.
var sizes = [][2]int{{80, 24}, {200, 50}, {40, 12}, {120, 40}, {57, 19}}

// allowsAll starts runs in a permission mode, with or without a requested sandbox.
func allowsAll(mode, sandbox string) func(*Options, *fakeHost) {
	return func(_ *Options, h *fakeHost) {
		h.found.Permissions, h.found.Sandbox = mode, sandbox
		h.options = func(o *runconfig.Options) { o.Permissions = mode }
	}
}

// TestAllowAllIsInSight: every screen of any size shows that everything is allowed, also below a dialog and
// while another message is shown.
func TestAllowAllIsInSight(t *testing.T) {
	testkit.WithoutRace(t)
	for i, size := range sizes {
		if testkit.Race && i > 1 {
			break // what a detector could find is the same at every size
		}
		play(t, size[0], size[1], allowsAll("allow-all", "off"), func(s *scene) {
			see := func(where string) {
				t.Helper()
				if !strings.Contains(s.Text(), "ALLOW ALL") {
					t.Errorf("%v, %s: it is not in sight:\n%s", size, where, s.Text())
				}
			}
			see("before anything was begun")
			s.startWork()
			see("the weaving")
			for _, key := range []string{"Alt+1", "F2", "F3", "F4", "F1", "Ctrl+C"} {
				s.Press(key)
				see(key)
				s.Press("Esc")
			}
			s.Press("Alt+p") // answered with a flash
			s.Settle()
			see("a flash")
			s.does(func(p *fakeRun) { p.suggests("orch-1", "one", goTest) })
			see("a request")
			s.Advance(time.Second)
			s.Press("n", `Ctrl+\`)
			see("halted")
		})
	}
}

// atWork brings a run to the point where four agents work: one runs a command, one edits, one reads, one
// thinks.
func (s *scene) atWork() {
	s.T.Helper()
	s.Type("Let the shop export invoices as CSV\n")
	s.does((*fakeRun).fourAtWork)
	s.Advance(12 * time.Second)
}

// fourAtWork spawns four agents: one runs a command, one edits, one reads, one thinks.
func (p *fakeRun) fourAtWork() {
	p.t.Helper()
	p.call("arbiter", "set_plan", `{"steps":[{"text":"Write the exporter","status":"active"},
		{"text":"Add the download button","status":"active"},{"text":"Test both with large invoices","status":"active"},
		{"text":"Document the format"},{"text":"Review everything"}]}`)
	for _, brief := range []string{"Write the exporter in invoice/csv.go.", "Add the button to web/invoices.html.",
		"Write tests with 10,000 lines.", "Read how dates are formatted elsewhere."} {
		p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":%q,"mode":"developer"}`, brief))
	}
	p.endTurn("arbiter", decides("CONTINUE", "Four threads are on the loom."))
	for i, tokens := range []int{61_000, 34_000, 88_000, 12_000} {
		p.full(fmt.Sprint("orch-", i+1), tokens)
	}
	use := func(id, use, tool, raw string) {
		p.does(id, bridge.ToolUse{Tool: tool, ToolUse: use, Input: []byte(raw)})
	}
	p.does("orch-1", bridge.Assistant{Text: "The exporter quotes fields with commas. I run all tests."})
	use("orch-1", "b1", "Bash", `{"command":"go test ./...","description":"Run the tests"}`)
	use("orch-2", "e1", "Edit", `{"file_path":"/home/weaver/loom/web/invoices.html","old_string":"<ul>",`+
		`"new_string":"<ul>\n<li>"}`)
	use("orch-3", "r1", "Read", `{"file_path":"/home/weaver/loom/invoice/invoice.go"}`)
	p.does("orch-4", bridge.Assistant{Text: "Dates are formatted in three ways."})
}

// asked makes a question of many lines wait for the human.
func (s *scene) asked() {
	s.T.Helper()
	s.startWork()
	s.does(func(p *fakeRun) {
		p.endTurn("arbiter", decides("ADDRESS_HUMAN", "Shall the old header still be **read**?\n\n"+
			"- yes: looms of before 2020 stay in use, and the reader gets a second path\n"+
			"- no: one path, and an error that names the tool that converts old cloth\n\n"+
			"The writer emits the new header in both cases."))
	})
	s.Advance(3*time.Minute + 7*time.Second)
}

// proved shows a hand-off whose claims were checked: one of them does not hold.
func (s *scene) proved() {
	s.T.Helper()
	s.startWork()
	s.does(func(p *fakeRun) {
		d := verdict.Document{
			Accomplished:  []string{"The parser reads the new header.", "The writer emits it."},
			Remaining:     []string{"Mend TestOldHeader."},
			KeyContext:    "Everything hangs on header.go. Port 8080 is taken.",
			Decisions:     []verdict.Decision{{Choice: "one pass", Rejected: "two passes", Why: "memory"}},
			OpenQuestions: []string{"Is version 3 still read?"},
			Checks: []verdict.Check{{Command: "go test ./header", Expect: "ok"}, {Command: "go vet ./...", Expect: ""},
				{Command: "go test -run TestOldHeader ./header", Expect: "ok"}},
			Claims: []verdict.Claim{{Claim: "The tests of the header pass.", Verified: true, Check: 1},
				{Claim: "go vet finds nothing.", Verified: true, Check: 2},
				{Claim: "Old headers are read as before.", Verified: true, Check: 3},
				{Claim: "No caller has to change."}},
		}
		p.sink(time.Now(), contract.Event{ID: "orch-1", Body: contract.Handoff{From: "orch-1", To: "orch-2", Document: &d,
			Receipts: []verdict.Receipt{
				{Command: d.Checks[0].Command, Result: verdict.CheckPassed, DurationMS: 1200},
				{Command: d.Checks[1].Command, Result: verdict.CheckPassed, DurationMS: 800},
				{Command: d.Checks[2].Command, Result: verdict.CheckFailed, Exit: 1, DurationMS: 900,
					Output: "--- FAIL: TestOldHeader\n    header_test.go:41: version 2: unexpected length"},
			},
			Proofs: []string{verdict.Verified, verdict.Verified, verdict.Refuted, verdict.Unverified}}})
	})
}

// stalled makes all agents wait for an overloaded API or a limit, or show no sign of life.
func (s *scene) stalled() {
	s.T.Helper()
	s.atWork()
	s.does(func(p *fakeRun) {
		p.does("orch-3", bridge.ToolResult{ToolUse: "r1", Text: "package invoice"})
	})
	s.Advance(2*time.Minute + 10*time.Second)
	s.does(func(p *fakeRun) {
		p.does("orch-1", bridge.ToolResult{ToolUse: "b1", Text: "ok"})
		p.does("orch-1", bridge.Retry{Attempt: 3, DelayMS: 36_000, Status: 529, Reason: "overloaded"})
		p.does("orch-2", bridge.Retry{Attempt: 1, DelayMS: 5_000, Status: 429, Reason: "rate_limit"})
	})
	s.Advance(2 * time.Second)
}

// ended brings a run to its end, with a receipt.
func (s *scene) ended() {
	s.T.Helper()
	s.startWork()
	s.does(func(p *fakeRun) {
		p.endTurn("orch-1", reports("done", "The header is written.", true))
		p.endTurn("arbiter", decides("CONTINUE", "It is verified."))
		p.sink(time.Now(), contract.Event{ID: "arbiter", Body: contract.Result{Status: contract.StatusComplete,
			Summary: "The loom reads and writes the new header; old cloth is refused with a hint.",
			CostUSD: 1.37, Iterations: 3, DurationMS: 754_000, Usage: bridge.Usage{Input: 812_000, Output: 41_000},
			Checks: &contract.Checks{Passed: 7, Failed: 1, Unproven: 2},
			Acceptance: []contract.Acceptance{{Text: "The tests pass", Command: "go test ./...", Status: "passed"},
				{Text: "README names the version", Status: "passed"}},
			Changes: &contract.ResultChanges{Files: 6, Added: 214, Deleted: 57}}})
	})
}
