package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const emptyDocument = `{accomplished: [begun], remaining: [the end], key_context: k, decisions: [], constraints: [], files: [], checks: [], open_questions: [], claims: []}`

// plays are short plays about which agent acts next. Each is played with the real CLI and the stand-in.
var plays = []struct {
	name  string
	steps string // steps of the Arbiter, then other actors
	args  []string
	exit  contract.Exit
	cut   bool // the run ends during a turn, whose model may be asked once more than in the script
	check func(t *testing.T, s *script, r contract.Result)
}{
	{
		name: "a missing verdict is asked for again",
		steps: `
      - {say: I shall ponder this.}
      - {expect: StructuredOutput, say: I ponder still.}
      - expect: kind. correction
        verdict: {decision: COMPLETE, message: It is done., summary: pondered, reason: r}
`,
		check: func(t *testing.T, s *script, r contract.Result) {
			if !sums(r, "pondered") || len(collect[contract.Error](s)) != 0 {
				t.Errorf("result %+v", r)
			}
		},
	},
	{
		name: "a contradictory verdict is asked for again, and then the rules decide",
		steps: `
      - {verdict: {decision: CONTINUE, message: m, reason: r}}
      - {expect: (?s)kind. correction.*none is at work, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-7, message: m, reason: r}}
      - {expect: (?s)kind. correction.*orch-7, verdict: {decision: SELECT_MODE, mode: wizard, message: m, reason: r}}
      - {expect: (?s)kind. done.*planned, verdict: {decision: COMPLETE, message: It is done., summary: alone, reason: r}}
  - name: planner
    match: {role: orchestrator}
    steps: [{verdict: {kind: done, expects_response: true, message: planned, handoff: ` + emptyDocument + `}}]
`,
		check: func(t *testing.T, s *script, r contract.Result) {
			d := collect[contract.Decision](s)
			if len(d) != 2 || d[0].Source != "fallback" || d[0].Mode != "planner" || !sums(r, "alone") {
				t.Errorf("decisions %+v, result %+v", d, r)
			}
			s.oneError(bridge.CatVerdict)
		},
	},
	{
		name: "nobody answers, twice",
		steps: `
      - {verdict: {decision: ADDRESS_HUMAN, message: "Which?", reason: r}}
      - {expect: No human is present, verdict: {decision: ADDRESS_HUMAN, message: "But which?", reason: r}}
`,
		exit: contract.ExitNeedsInput,
		check: func(t *testing.T, s *script, r contract.Result) {
			if r.Status != contract.StatusNeedsInput || r.Summary != "But which?" ||
				len(collect[contract.Question](s)) != 2 {
				t.Errorf("result %+v", r)
			}
		},
	},
	{
		name: "a mode is selected",
		steps: `
      - {verdict: {decision: SELECT_MODE, mode: planner, message: Plan it., reason: r}}
      - {expect: (?s)kind. done.*planned, verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}}
  - name: planner
    match: {role: orchestrator, contains: Plan it}
    steps:
      # The mode forbids it: it is not even offered.
      - {use: [{tool: Write, input: {file_path: "{{.cwd}}/plan.txt", content: x}}]}
      - {expect: (?i)no such tool|not, verdict: {kind: done, expects_response: true, message: planned, handoff: ` + emptyDocument + `}}
`,
		check: func(t *testing.T, s *script, r contract.Result) {
			if sp := collect[contract.Spawn](s); len(sp) != 2 || sp[1].Mode != "planner" {
				t.Errorf("spawns %+v", sp)
			}
			s.files(map[string]bool{"plan.txt": false})
		},
	},
	{
		name: "a successor asks its predecessor, which then goes",
		steps: `
      - {use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Begin it.}}]}
      - {verdict: {decision: CONTINUE, message: m, reason: r}}
      # The Arbiter only waits: the supervisor summons the successor.
      - {expect: kind. handoff, verdict: {decision: CONTINUE, message: m, reason: r}}
      - {expect: (?s)kind. done.*the word was hail, verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}}
  - name: first
    match: {role: orchestrator, contains: Begin it}
    steps:
      - {verdict: {kind: handoff, expects_response: true, message: my context thins, handoff: ` + emptyDocument + `}}
  - name: aside
    match: {role: side}
    steps: [{expect: (?s)What is the word, say: hail}]
  - name: second
    match: {role: orchestrator, contains: Continue the work}
    steps:
      - {use: [{tool: mcp__arbiter__ask_predecessor, input: {question: "What is the word?"}}]}
      - {expect: (?s)orch-1 answers.*(?P<word>hail), verdict: {kind: done, expects_response: true, message: "the word was {{.word}}", handoff: ` + emptyDocument + `}}
`,
		check: func(t *testing.T, s *script, r contract.Result) {
			if r.Iterations != 2 {
				t.Errorf("result %+v", r)
			}
			if !slices.ContainsFunc(s.lines, func(l contract.Line) bool {
				d, ok := l.Body.(contract.Done)
				return ok && l.ID == "orch-1" && d.Reason == "succeeded by orch-2"
			}) {
				t.Error("the predecessor was not let go")
			}
		},
	},
	{
		name: "too many and too often",
		steps: `
      - {use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: One.}}, {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Two.}}]}
      - {expect: (?s)orch-1.*1 Orchestrator alive already, use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]}
      - {expect: "Released: orch-1", use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Three.}}]}
      - {verdict: {decision: CONTINUE, message: m, reason: r}}
  - name: idle
    match: {role: orchestrator}
    steps: [{say: Waiting., delay: 5m}]
`,
		args: []string{"--max-orchestrators", "1", "--max-iterations", "1"},
		exit: contract.ExitLimit,
		cut:  true,
		check: func(t *testing.T, s *script, r contract.Result) {
			if r.Status != contract.StatusLimit || !strings.Contains(r.Summary, "1 Orchestrator summoned") {
				t.Errorf("result %+v", r)
			}
		},
	},
	{
		name: "the money is spent",
		steps: `
      - {use: [{tool: Grep, input: {pattern: "x"}}], usage: {input: 900000, output: 10000}}
      - {use: [{tool: Grep, input: {pattern: "x"}}], usage: {input: 900000, output: 10000}, repeat: forever}
`,
		args: []string{"--max-cost", "1"},
		exit: contract.ExitLimit,
		check: func(t *testing.T, s *script, r contract.Result) {
			if r.Status != contract.StatusLimit || r.CostUSD < 1 || r.CostUSD > 30 {
				t.Errorf("result %+v", r)
			}
		},
	},
}

func TestRulings(t *testing.T) {
	testkit.Long(t)
	for _, c := range plays {
		path := filepath.Join(t.TempDir(), "play.yaml")
		text := "name: play\ntitle: A play\nactors:\n  - name: arbiter\n    match: {role: arbiter}\n    steps:" +
			c.steps
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		for _, p := range players(t) {
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				p.long(t) // the driver's tests and the stand-in's cover the CLI's part
				t.Parallel()
				s := start(t, nil,
					slices.Concat(p.args, []string{"--json", "--no-input", "--scenario", path, "--task", "Rule"},
						c.args)...)
				s.offScript = c.cut
				c.check(t, s, s.finish(c.exit))
			})
		}
	}
}
