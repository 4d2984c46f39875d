package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

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
	}, says: []string{"Rehearse"}, wide: []string{"npm install -g", "no program named claude on PATH"}},
	{name: "first-login", change: func(_ *Options, h *fakeHost) { h.found.Login, h.newcomer = LoginNo, true },
		says: []string{"Log in", "Rehearse"}, wide: []string{"ANTHROPIC_API_KEY"}, golden: 1},
	{name: "first-old", change: func(_ *Options, h *fakeHost) {
		h.found = Findings{Problem: "Claude CLI 2.0.1 is too old: 2.1.300 or later is needed"}
	}, says: []string{"Rehearse"}, wide: []string{"2.0.1 is too old"}},
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
		wide: []string{"orch-1", "M land"}},
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
	{name: "leave", act: working("Ctrl+C"), says: []string{"Leave?"}},
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
		h.found.Runs = append(h.found.Runs, RunInfo{
			ID: fmt.Sprintf("%08d-0000", i), Title: title,
			Status:     []string{"interrupted", "complete", "needs_input"}[i],
			LastActive: time.Date(1999, 12, 31, 20-i, 0, 0, 0, time.UTC), Bytes: 12_345 << (4 * i),
			Rehearsal: i == 2,
		})
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
