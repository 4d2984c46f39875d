package tui

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

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
