package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// scene is a frontend on a simulated screen, in a bubble.
type scene struct {
	*Stage
	host     *fakeHost
	frontend *Frontend
}

// play shows a frontend and runs act on it.
func play(t *testing.T, w, h int, change func(*Options, *fakeHost), act func(s *scene)) {
	t.Helper()
	Play(t, w, h, func(stage *Stage) {
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

// weaving shows a run in which two Orchestrators work.
func weaving(t *testing.T, w, h int, act func(s *scene)) {
	t.Helper()
	play(t, w, h, nil, func(s *scene) {
		s.startWork()
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

// begins gives a task. A paste is painted once, and typing at each key.
func (s *scene) begins(task string) { s.T.Helper(); s.Stage.Paste(task); s.Press("Enter") }

// startWork brings a run to the point where two Orchestrators work on a plan.
func (s *scene) startWork() {
	s.T.Helper()
	s.begins("Teach the loom the new header")
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
				testkit.Check(t, strings.Contains(s.Text(), "ALLOW ALL"), "%v, %s: it is not in sight:\n%s", size,
					where, s.Text())
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
	s.begins("Let the shop export invoices as CSV")
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

// situations are what a user may see: every page, dialog, list and mode of the screen.
var situations = []struct {
	name   string
	change func(*Options, *fakeHost)
	act    func(s *scene)
	says   []string // at every size, at once or after scrolling
	wide   []string // at once, from 120 columns
	golden int      // compare so many pictures, too: each kind of screen and each theme once, what is wide also so
}{
	{name: "oracle", says: []string{"Speak, mortal."}},
	{name: "oracle-runs", change: runs, says: []string{"Speak, mortal.", "runs"}, golden: 1},
	{name: "oracle-safe", change: allowsAll("ask", "auto"), says: []string{"Speak, mortal."}},
	{name: "settings", change: configured, act: then("F8"), says: []string{"SETTINGS", "permissions", "opus"},
		wide: []string{"$ARBITER_THEME", "Set by", "x to the default"}, golden: 1},
	{name: "models", act: working("/model\n"), says: []string{"opus"}, wide: []string{"$5 in, $25 out"}},
	{name: "sessions", change: runs, act: then("F4", "Down"), says: []string{"Teach the loom", "Count the omens"}},
	{name: "first-missing", change: func(_ *Options, h *fakeHost) {
		h.found = Findings{Missing: true, Problem: "no program named claude on PATH"}
	}, act: later, says: []string{"Rehearse"}, wide: []string{"npm install -g", "no program named claude on PATH"}},
	{name: "first-login", change: func(_ *Options, h *fakeHost) { h.found.Login, h.newcomer = LoginNo, true },
		act: later, says: []string{"Log in", "Rehearse"}, wide: []string{"ANTHROPIC_API_KEY"}, golden: 1},
	{name: "first-old", change: func(_ *Options, h *fakeHost) {
		h.found = Findings{Problem: "Claude CLI 2.0.1 is too old: 2.1.300 or later is needed"}
	}, act: later, says: []string{"Rehearse"}, wide: []string{"2.0.1 is too old"}},
	{name: "weaving", act: working(), says: []string{"May I change header.go"},
		wide:   []string{"Prove it with fresh eyes"},
		golden: 1},
	{name: "weaving-light", change: func(o *Options, _ *fakeHost) { o.Theme = "light" }, act: working(),
		says: []string{"May I change header.go"}},
	{name: "at-work", act: (*scene).atWork, says: []string{"Orch", "thinking"},
		wide: []string{"Bash go test ./...", "11s", "Edit web/invoices.html", "Read invoice/invoice.go", "thinking"}},
	{name: "crowd", act: (*scene).crowd, says: []string{"permission?"}, wide: []string{"API overloaded", "rm -rf build"},
		golden: 2},
	{name: "crowd-ascii", change: func(o *Options, _ *fakeHost) { o.ASCII, o.Theme = true, "high-contrast-dark" },
		act: (*scene).crowd, says: []string{"permission?"}, golden: 1},
	{name: "crowd-asked", act: func(s *scene) { s.crowd(); s.Press("Alt+p") },
		says: []string{"y Allow once"}, wide: []string{"rm -rf build && mkdir build"}},
	{name: "figures", change: func(o *Options, _ *fakeHost) {
		o.Ritual, o.Still = Ritual{Scene: true, Human: view.RitualSmith}, true
	}, act: (*scene).crowd, says: []string{"permission?"}, golden: 1},
	{name: "stalled", act: (*scene).stalled, says: []string{"again in"},
		wide: []string{"API overloaded", "again in 0:3", "rate limited", "without a word"}},
	{name: "fallback", act: func(s *scene) {
		s.startWork()
		s.present(func(st *supervisor.State) { st.Rulings.FallbackReason = "it gave no valid verdict in three turns" })
	}, says: []string{"The rules decide"}},
	{name: "in-hand", act: func(s *scene) {
		s.startWork()
		s.present(func(st *supervisor.State) {
			st.Agents = slices.Clone(st.Agents)
			st.Agents[1].Status, st.Agents[1].Takeover = supervisor.InHand,
				&supervisor.Takeover{Stage: supervisor.TakeoverOpen, Since: time.Now()}
		})
	}, says: []string{"in your hands"}},
	{name: "halted", act: working(`Ctrl+\`), says: []string{"Halted"}},
	{name: "asked", act: (*scene).asked, says: []string{"asks", "3m", "both cases."},
		wide: []string{"a second path", "that converts old cloth", "in both cases."}},
	{name: "proved", act: (*scene).proved, says: []string{"refuted"},
		wide: []string{"2 proved", "1 refuted", "1 unproven", "Orchestrator I"}},
	{name: "ended", act: (*scene).ended, says: []string{"7 passed", "1 failed"},
		wide: []string{"checks", "2 unproven", "criteria", "6 files", "+214", "-57", "$1.37"}},
	{name: "done", act: func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.endTurn("arbiter", decides("ADDRESS_ORCHESTRATOR", "Wait.", "to", "orch-2"))
			p.endTurn("orch-1", reports("done", "The header is written.", true))
		})
		s.does(func(p *fakeRun) {
			p.call("arbiter", "release_orchestrator", `{"id":"orch-2","reason":"no longer needed"}`)
		})
		s.does(func(p *fakeRun) {
			p.endTurn("arbiter", decides("COMPLETE", "It is done.", "summary", "The loom knows the new header."))
		})
	}, says: []string{"Speak again"}, wide: []string{"The loom knows the new header."}},
	{name: "waiting", act: func(s *scene) {
		s.busy()
		s.Type("Use the blue thread\n")
		s.Type("And hurry\n")
		s.Press("Up", "Ctrl+X")
		s.Type("And hurry slowly\n")
		s.Press("Up")
		s.Type(", please\n")
	}, says: []string{"slowly, please", "taken back"}},
	{name: "reading", act: working("Esc", "K", "K", "Tab", "Tab"), says: []string{"i write"},
		wide: []string{"n N match"}},
	{name: "writing", act: func(s *scene) {
		s.startWork()
		s.Type("One line")
		s.Press("Alt+Enter")
		s.Type("and another, 世界 🧵")
	}, says: []string{"One line", "and another, 世界 🧵"}},
	{name: "completion", act: func(s *scene) { s.startWork(); s.Type("/su") }, says: []string{"/summon"}, golden: 1},
	{name: "picker", act: working("Ctrl+O"), says: []string{"REQUIREMENTS.md"}, golden: 1},
	{name: "shell", change: func(_ *Options, h *fakeHost) {
		h.shell = printing(2, strings.Repeat("ok  loom/header 0.012s\n", 40)+
			"--- FAIL: TestHeader\n\x1b[31mFAIL\x1b[0m  loom/writer\n")
	}, act: working("!go test ./...\n"), says: []string{"exit code 2", "loom/writer"}, golden: 1},
	{name: "tour", change: func(_ *Options, h *fakeHost) { h.newcomer = true }, act: typing("/tour\n"),
		says: []string{"1 of 6"}},
	{name: "focus", act: working("Alt+1"), says: []string{"Orch", "i write"},
		wide: []string{"generation 1", "s interrupt"}, golden: 1},
	{name: "logbook", act: working("F2"), says: []string{"THE LOGBOOK", "all events"},
		wide: []string{"f filter"}, golden: 1},
	{name: "plan", act: working("F3"), says: []string{"THE PLAN", "Prove it with fresh eyes"},
		wide: []string{"w save"}},
	{name: "plan-edited", act: func(s *scene) {
		s.startWork()
		s.present(func(st *supervisor.State) {
			st.Task.AgentTasks = []contract.Tasks{{Agent: "orch-1",
				Items: []contract.Step{{Text: "Find the callers", Status: "done"},
					{Text: "Change them", Status: "active"}}}}
		})
		s.Press("F3", "j", "s", "m")
		s.Type("developer\n")
		s.does(func(p *fakeRun) { p.call("orch-1", "update_plan", `{"index":2,"status":"done"}`) })
		s.Press("a")
		s.Type("Ask those who know 世界")
	}, says: []string{"THE PLAN", "Ask those who know 世界"}, golden: 1},
	{name: "help", act: working("F1"), says: []string{"HELP", "/summon"}, wide: []string{"q back"}, golden: 1},
	{name: "agents", act: working("/agents\n"), says: []string{"THE MODES", "developer", "reviewer"}},
	{name: "agents-by-key", act: working("Esc", "a"), says: []string{"THE MODES", "tools:", "from: built-in"}},
	{name: "cost", act: working("/cost\n"), says: []string{"in all"}, wide: []string{"/ search"}, golden: 1},
	{name: "timeline", act: timed, says: []string{"TIMELINE"},
		wide: []string{"waits for you", "hand-off", "Enter read it"}, golden: 1},
	{name: "timeline-empty", act: then("F6", "Left", "+", "]", "Enter", "f", "Down"),
		says: []string{"Nothing has happened yet."}},
	{name: "timeline-moved", act: func(s *scene) { timed(s); s.Press("Down", "[", "[", "+") },
		says: []string{"waits for you"}},
	{name: "changes", change: changed, act: authored, says: []string{"header.go", "+3"},
		wide: []string{"Orch. I", "M land"}},
	{name: "changes-unreadable", change: func(_ *Options, h *fakeHost) {
		h.unreadable = errors.New("the run has no snapshot: it worked without Git")
	}, act: working("F5"), says: []string{"it worked without Git"}},
	{name: "changes-file", change: changed, act: compared(), says: []string{"Threads int", "+3"},
		wide: []string{"s side by side"}},
	{name: "changes-beside", change: changed, act: compared("s"), says: []string{"Threads int", "+3"}, golden: 2},
	{name: "runs", change: everywhere, act: then("F4", "Down"), says: []string{"Another loom", "Count the omens"},
		wide: []string{"r report"}, golden: 2},
	{name: "runs-found", change: everywhere, act: func(s *scene) { s.Press("F4", "/"); s.Type("other loom") },
		says: []string{"Another loom", "/other loom"}},
	{name: "runs-report", change: everywhere, act: func(s *scene) { then("F4", "G")(s); then("Enter")(s) },
		says: []string{"The report of 0fffffff-6", "It is done."}},
	{name: "playback", change: replaying,
		act:  func(s *scene) { s.Advance(3 * time.Second); then("Space", "+", "+")(s) },
		says: []string{"PLAYBACK", "paused"}, wide: []string{"Space pause"}},
	{name: "playback-ended", change: replaying, act: then("$"), says: []string{"the end", "The loom knows it."}},
	{name: "leave", change: everywhere, act: working("Ctrl+C"), says: []string{"Leave?", "--state-dir runs"}},
	{name: "trouble", act: func(s *scene) { s.startWork(); s.trip("retry", "skip", "cancel") },
		says: []string{"Alt+c: retry", "snapped"}},
	{name: "ways", act: func(s *scene) {
		s.startWork()
		s.trip("retry", "fallback", "cancel", "name another program with --claude PATH")
		s.Press("Alt+c")
	}, says: []string{"Try again", "--claude"}},
	{name: "trust", change: brings(false), act: later, says: []string{"Trust this workspace?", "SessionStart 1"},
		golden: 1},
	{name: "trust-changed", change: brings(true), act: later,
		says: []string{"not as you trusted it", "SessionStart 1"}},
	{name: "permission", act: func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.asks("orch-1", "perm-1", "Bash",
				`{"command":"rm -rf build && go build ./...","description":"Build anew"}`)
		})
		s.Advance(time.Second)
	}, says: []string{"y Allow once", "rm -rf build"}, golden: 2},
	{name: "permission-rules", act: func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.suggests("orch-1", "perm-1", goTest, "Bash(go test ./header)", "Bash(go test *)")
		})
		s.Press("Alt+p", "w")
	}, says: []string{"Bash(go test *)"}},
	{name: "permission-long", act: func(s *scene) {
		s.startWork()
		s.does(func(p *fakeRun) {
			p.suggests("orch-1", "perm-1", `{"command":"`+strings.Repeat(`make one && \n`, 60)+`rm -rf hidden"}`)
		})
		s.Advance(time.Second)
	}, says: []string{"y Allow once", "rm -rf hidden"}},
	{name: "inbox", act: func(s *scene) { s.inbox(); s.Press("F7", "j") },
		says: []string{"What waits for you", "Allow once"},
		wide: []string{"go test -run 'Header|Writer' ./writer", "Which header shall the loom read?"}, golden: 2},
	{name: "inbox-question", act: func(s *scene) { s.inbox(); s.Press("F7", "k") },
		says: []string{"What says the human?"}},
	{name: "inbox-rules", act: func(s *scene) { s.inbox(); then("F7", "j", "4")(s) },
		says: []string{"Bash(go test *)"}},
	{name: "inbox-all", act: func(s *scene) { s.inbox(); s.Press("F7", "j", "A") },
		says: []string{"Allow these 3 once"}},
}

// runs adds some runs of this directory.
func runs(_ *Options, h *fakeHost) {
	for i, title := range []string{"Teach the loom the new header", "織機に新しいヘッダーを教える", "Count the omens"} {
		h.found.Runs = append(h.found.Runs, RunInfo{ID: fmt.Sprintf("%08d-0000", i), Title: title,
			Status:     []string{"interrupted", "complete", "needs_input"}[i],
			LastActive: time.Date(1999, 12, 31, 20-i, 0, 0, 0, time.UTC), Bytes: 12_345 << (4 * i), Rehearsal: i == 2})
	}
}

func later(s *scene) { s.Advance(time.Second) }

// then presses keys.
func then(keys ...string) func(s *scene) { return func(s *scene) { s.Press(keys...) } }

// typing types a text.
func typing(text string) func(s *scene) { return func(s *scene) { s.Type(text) } }

// working starts work, and then presses keys or types a line.
func working(keys ...string) func(s *scene) {
	return func(s *scene) {
		s.startWork()
		if len(keys) == 1 && strings.HasSuffix(keys[0], "\n") {
			typing(keys[0])(s)
			return
		}
		then(keys...)(s)
	}
}

// compared opens the comparison of a changed file, and then presses keys.
func compared(keys ...string) func(s *scene) {
	return func(s *scene) { authored(s); then("Down", "Enter")(s); then(keys...)(s) }
}
