package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// atWork brings a run to the point where four agents work: one runs a command, one edits, one reads, one
// thinks.
func (s *scene) atWork() {
	s.T.Helper()
	s.Type("Let the shop export invoices as CSV\n")
	s.Settle()
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

// cockpit are ten situations in which a user looks at the screen.
var cockpit = []struct {
	name   string
	change func(*Options, *fakeHost)
	act    func(s *scene)
	sees   []string // at every size: who does what, what is stuck, what waits
	wide   []string // from 120 columns
}{
	{"first", func(_ *Options, h *fakeHost) { h.found.Login, h.newcomer = LoginNo, true }, func(*scene) {},
		[]string{"Log in", "Rehearse"}, []string{"ANTHROPIC_API_KEY"}},
	{"home", func(_ *Options, h *fakeHost) {
		h.found.Runs = []RunInfo{{ID: "0bbbbbbb-2", Title: "Mend the shuttle",
			Status: "interrupted", Here: true, Resumable: true, Bytes: 123}}
	}, func(*scene) {},
		[]string{"Speak, mortal.", "Mend the shuttle"}, nil},
	{"at-work", nil, (*scene).atWork, []string{"Orch", "thinking"},
		[]string{"Bash go test ./...", "11s", "Edit web/invoices.html", "Read invoice/invoice.go", "thinking"}},
	{"asked", nil, (*scene).asked, []string{"asks", "3m", "both cases."},
		[]string{"a second path", "that converts old cloth", "in both cases."}},
	{"inbox", nil, func(s *scene) { s.inbox(); s.Press("F7", "j") }, []string{"What waits for you", "Allow once"},
		[]string{"go test -run 'Header|Writer' ./writer", "Which header shall the loom read?"}},
	{"proved", nil, (*scene).proved, []string{"refuted"},
		[]string{"2 proved", "1 refuted", "1 unproven", "Orchestrator I"}},
	{"stalled", nil, (*scene).stalled, []string{"again in"},
		[]string{"API overloaded", "again in 0:34", "rate limited", "without a word"}},
	{"changes", changed, authored, []string{"header.go", "+3"}, []string{"orch-1"}},
	{"timeline", nil, timed, []string{"TIMELINE"}, []string{"waits for you", "hand-off"}},
	{"ended", nil, (*scene).ended, []string{"7 passed", "1 failed"},
		[]string{"checks", "2 unproven", "criteria", "6 files", "+214", "-57", "$1.37"}},
}

// TestCockpit: in each situation, at every size, the screen shows what the user must know, truncates no
// important word, shows no prose that is too wide to read, and names no file by its absolute path on the
// main screen.
func TestCockpit(t *testing.T) {
	testkit.WithoutRace(t)
	for _, tt := range cockpit {
		for i, size := range [][2]int{{120, 40}, {40, 12}, {80, 24}, {200, 50}, {300, 90}} {
			if tuitest.Race && i > 0 {
				break // what a detector could find is the same at every size
			}
			if i > 2 && !testkit.AtNight() {
				break // large screens take long to draw
			}
			name := fmt.Sprintf("cockpit-%s-%dx%d", tt.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				still := func(o *Options, h *fakeHost) { // without animations, which take time to draw
					o.Still = true
					if tt.change != nil {
						tt.change(o, h)
					}
				}
				play(t, size[0], size[1], still, func(s *scene) {
					tt.act(s)
					s.Settle()
					if tt.name != "changes" { // which already has golden files
						s.Golden(name)
					}
					s.ExpectSound()
					s.Expect(tt.sees...)
					if size[0] >= 120 {
						s.Expect(tt.wide...)
					}
					if strings.Contains(s.Text(), "/home/weaver/loom/") {
						t.Error("a path is absolute")
					}
					for line := range strings.Lines(s.Text()) {
						for part := range strings.SplitSeq(line, "  ") {
							if n := uniseg.StringWidth(part); n > render.Prose+10 && strings.Count(part, " ") > 8 {
								t.Errorf("prose of %d columns: %q", n, part)
							}
						}
					}
				})
			})
		}
	}
}
