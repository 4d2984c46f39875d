package main

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// blocker has the actors of a reviewer that finds a blocker, of a developer that is told about it, and of a
// model that decides by its input alone: it completes if nothing is open.
const blocker = `
  - name: finder
    match: {role: orchestrator, contains: "You work as ` + "`reviewer`" + `|Read loom\\.txt with fresh eyes", nth: 1}
    steps:
      - use:
          - tool: mcp__arbiter__update_plan
            input: {index: 3, status: done}
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: The loom was read.
        handoff:
          accomplished: [loom.txt was read]
          remaining: ["BLOCKER: the selvage is missing"]
          key_context: The edge frays.
          open_questions: ["Which thread is for the selvage?"]
          checks: [{command: grep -c weft loom.txt, expect: '"1"'}]
          claims: [{claim: There is one weft, verified: true, check: 1}]
  - name: mender
    match: {role: orchestrator, contains: "BLOCKER: the selvage is missing[\\s\\S]*Which thread is for the selvage|Sew the selvage"}
    steps:
      - use:
          - tool: Bash
            input: {command: "printf 'selvage\\n' | cat - loom.txt > sewn && mv sewn loom.txt", description: Sew the selvage}
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: The selvage is sewn.
        handoff: {accomplished: [the selvage is sewn], remaining: [], key_context: In the first line., files: [loom.txt]}
  - name: judge
    match: {role: main, contains: "(?s)# Open points, by the last document of each.*BLOCKER: the selvage is missing"}
    otherwise:
      - expect: "since then there has worked: developer"
        verdict: {decision: SELECT_MODE, mode: reviewer, reason: The blocker is said to be mended., message: Look again.}
      - verdict: {decision: SELECT_MODE, mode: developer, reason: "The reviewer has found a blocker.", message: Sew the selvage.}
`

// arbiterMends is an Arbiter of the play that acts on a document with open points.
const arbiterMends = `
  - name: arbiter that reads
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE while
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: The work is done.}}]
      - expect: "Released: |Nothing is missing"
        verdict: {decision: COMPLETE, message: It is done., summary: The loom stands., reason: Nothing is open.}
      - expect: "The selvage is sewn"
        verdict: {decision: SELECT_MODE, mode: reviewer, message: Read loom.txt with fresh eyes., reason: It was mended.}
      - expect: "(?s)BLOCKER: the selvage is missing.*reviewer, remaining: BLOCKER"
        verdict: {decision: SELECT_MODE, mode: developer, message: Sew the selvage., reason: The reviewer has found a blocker.}
      - expect: (?s)from:? (?P<who>orch-\d+).*The warp is missing
        verdict: {decision: RETRY, to: "{{.who}}", message: Lay the warp first., reason: The order was wrong.}
      - expect: The loom was tried
        verdict: {decision: SELECT_MODE, mode: reviewer, message: Read loom.txt with fresh eyes., reason: Nobody has read it.}
      - expect: The loom is built
        verdict: {decision: SELECT_MODE, mode: tester, message: Try loom.txt by command., reason: Nobody has tried it.}
      - expect: The plan is laid|none is at work
        verdict: {decision: SELECT_MODE, mode: developer, message: Build loom.txt., reason: The plan begins with it.}
      - expect: "kind: task"
        verdict: {decision: SELECT_MODE, mode: planner, message: Lay a plan., reason: There is none.}
      - verdict: {decision: CONTINUE, message: Patience., reason: The thread continues.}
`

// TestAReviewersBlocker: with every decider, an open finding of a reviewer keeps the task from completing. An
// Orchestrator fixes it, a reviewer checks again, and then the task is complete.
func TestAReviewersBlocker(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, by := range []string{"session", "stateless", "hybrid", "rules"} {
		for _, p := range players(t) {
			t.Run(by+"/"+p.name, func(t *testing.T) {
				p.long(t) // TestWorkflow covers the real CLI
				t.Parallel()
				s := start(t, nil, append(slices.Clone(p.args), "--json", "--no-input", "--max-orchestrators", "8",
					"--scenario", workflow(t, blocker+arbiterMends[1:]), "--task", "Weave", "--decider", by)...)
				s.finish(contract.ExitComplete)
				var modes []string
				for _, d := range collect[contract.Decision](s) {
					if d.Decision == "SELECT_MODE" {
						modes = append(modes, d.Mode)
					}
				}
				want := []string{"planner", "developer", "tester", "reviewer", "developer", "reviewer"}
				if !slices.Equal(modes, want) {
					t.Fatalf("%s has summoned %v, want %v\n%s", by, modes, want, s.dump())
				}
				s.blockerExplained()
			})
		}
	}
}

// blockerExplained checks the input of the decision on the reviewer's work.
func (s *script) blockerExplained() {
	s.t.Helper()
	number := 0
	for _, d := range collect[contract.Decision](s) {
		if d.Mode == "reviewer" {
			number = d.Number + 1
			break
		}
	}
	out, _ := s.output(0, "decide", "--explain", s.run(), "--number", strconv.Itoa(number), "--json")
	var x struct {
		Input    decider.EvaluateProgressInput
		Decision decider.Decision
		Rendered *subcommands.Rendered
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	read, session := x.Decision.Prompt, x.Decision.Source == decider.BySession
	if x.Decision.Source != decider.ByRules && !strings.Contains(read, "BLOCKER: the selvage is missing") ||
		session != strings.Contains(read, "| kind: done |") {
		s.t.Errorf("by %s, read:\n%s", x.Decision.Source, read)
	}
	if session && x.Rendered != nil {
		s.t.Errorf("the explanation shows a prompt that no model received: %+v", x.Rendered)
	}
	d := x.Input.LastExecution.Document
	if d == nil || len(d.Remaining) != 1 || len(d.OpenQuestions) != 1 || d.KeyContext != "The edge frays." ||
		len(d.Checks) != 1 || d.Checks[0].Result != "passed" || len(d.Claims) != 1 || d.Claims[0].Proof != "verified" {
		s.t.Errorf("the document in the input: %+v", d)
	}
	if o := x.Input.OpenPoints; len(o) != 1 || o[0].Agent != "reviewer" ||
		!strings.HasPrefix(o[0].Remaining[0], "BLOCKER") {
		s.t.Errorf("open points: %+v", o)
	}
}
