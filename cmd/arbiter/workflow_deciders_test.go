package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// taskRulings returns the decisions of the play, with these sources.
func taskRulings(sources ...string) []string {
	list := []string{
		"1 select S: SELECT_MODE planner", "2 evaluate S: SELECT_MODE developer", "3 select S: RETRY orch-2",
		"4 evaluate S: SELECT_MODE tester", "5 evaluate S: SELECT_MODE reviewer", "6 evaluate S: COMPLETE",
	}
	for i, source := range sources {
		list[i] = strings.Replace(list[i], "S", source, 1)
	}
	return list
}

// billed checks that the cost of the run is the sum of its turns and decisions.
func (s *script) billed(r contract.Result) {
	s.t.Helper()
	sum, rounded := 0.0, 1.0 // each amount is reported with six decimals
	for _, turn := range collect[contract.Turn](s) {
		sum += turn.CostUSD
		rounded++
	}
	for _, d := range collect[contract.Decision](s) {
		if asked := d.Source == "model"; asked != (d.CostUSD > 0) && d.Source != "fallback" {
			s.t.Errorf("decision %d by %s cost %g", d.Number, d.Source, d.CostUSD)
		}
		sum += d.CostUSD
		rounded++
	}
	if math.Abs(sum-r.CostUSD) > rounded*0.5e-6+1e-9 {
		s.t.Errorf("the run cost %g, its turns and decisions %g", r.CostUSD, sum)
	}
}

// TestWorkflowByDeciders plays the same task with deciders other than the Arbiter, which gets no messages.
func TestWorkflowByDeciders(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		decider string
		want    []string
	}{
		{"stateless", taskRulings("model", "model", "model", "model", "model", "model")},
		// Rules decide the clear cases: the planner at the beginning, and steps that name their mode.
		{"hybrid", taskRulings("rules", "rules", "model", "rules", "rules", "model")},
		{"rules", taskRulings("rules", "rules", "rules", "rules", "rules", "rules")},
	} {
		for _, p := range players(t) {
			if p.real && c.decider != "stateless" {
				continue // the other deciders use the CLI less
			}
			t.Run(c.decider+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				flags := append(slices.Clone(p.args), "--json", "--no-input", "--scenario", "workflow", "--task",
					"Weave", "--decider", c.decider, "--decision-cache")
				s := start(t, nil, flags...)
				s.decidesThrice()
				r := s.finish(contract.ExitComplete)
				if diff := cmp.Diff(c.want, rulingsOf(s)); diff != "" {
					t.Errorf("decisions (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(taskMoves, moves(s)); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				for _, turn := range s.lines {
					if _, ok := turn.Body.(contract.Turn); ok && turn.ID == contract.Arbiter {
						t.Errorf("the Arbiter was spoken to\n%s", s.dump())
					}
				}
				if diff := cmp.Diff([]string{"ppp", "app", "dpp", "dap", "ddp", "dda", "ddd"},
					planned(s)); diff != "" || r.Iterations != 4 {
					t.Errorf("result %+v, plan (-want +got):\n%s", r, diff)
				}
				s.billed(r)
				s.replaysExactly()
				if c.decider == "stateless" && !p.real {
					remembers(t, s, flags)
				}
			})
		}
	}
}

// remembers plays the run once more: decisions on the same input come from the cache, except the last.
func remembers(t *testing.T, s *script, flags []string) {
	t.Helper()
	again := s.again(flags...)
	r := again.finish(contract.ExitComplete)
	if diff := cmp.Diff(taskRulings("cache", "cache", "cache", "cache", "cache", "model"),
		rulingsOf(again)); diff != "" {
		t.Errorf("with what was remembered (-want +got):\n%s", diff)
	}
	again.billed(r)
}

// badAnswers are models that give wrong answers.
const badAnswers = `
  - name: talker # fences, and prose around them
    match: {role: main, contains: "Nothing was done yet"}
    otherwise:
      say: |
        There is {no} plan yet, so:
        ` + "```json" + `
        {"decision": "SELECT_MODE", "mode": "planner", "reason": "There is no plan {yet}."}
        ` + "```" + `
        So be it.
  - name: decided # at the third time
    match: {role: main, contains: "quoted: .*Hm, hm\\."}
    otherwise: {verdict: {decision: SELECT_MODE, mode: developer, reason: Step 1 is next.}}
  - name: wavering
    match: {role: main, contains: "quoted: .*Hm\\."}
    otherwise: {say: "Hm, hm."}
  - name: waverer
    match: {role: main, contains: "# What is to be judged\\s+- agent: planner"}
    otherwise: {say: Hm.}
`

// worseAnswers are none, or none that could be used.
const worseAnswers = `
  - name: babbler # never decides
    match: {role: main, contains: "# The last error\\s+- agent: developer"}
    otherwise: {verdict: {decision: SELECT_MODE, mode: wizard, reason: Magic.}}
  - name: ruin
    match: {role: main, contains: "# What is to be judged\\s+- agent: developer"}
    otherwise: {fault: {status: 500}}
`

// TestDecidersThatAnswerBadly: text around the JSON is taken, nonsense is corrected
// twice; beyond that, and where the API fails, the rules decide and say why.
func TestDecidersThatAnswerBadly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			t.Parallel()
			actors, sources := badAnswers, taskRulings("model", "model", "model", "model", "model", "model")
			warnings := make([][]string, 6)
			warnings[1] = []string{"answer 1 could not be used", "answer 2 could not be used"}
			if !p.real { // to which they are answers like any other
				actors, sources = badAnswers+worseAnswers[1:],
					taskRulings("model", "model", "fallback", "fallback", "model", "model")
				warnings[2] = []string{"answer 1 could not be used", "answer 2 could not be used",
					"none of 3 answers could be used"}
				warnings[3] = []string{"asked again", "asked again", "the rules decide: "}
			}
			s := start(t, []string{"CLAUDE_CODE_MAX_RETRIES=0"},
				append(slices.Clone(p.args), "--json", "--no-input", "--scenario", workflow(t, actors),
					"--task", "Weave", "--decider", "stateless")...)
			s.decidesThrice()
			r := s.finish(contract.ExitComplete)
			if diff := cmp.Diff(sources, rulingsOf(s)); diff != "" {
				t.Fatalf("decisions (-want +got):\n%s\n%s", diff, s.dump())
			}
			for i, want := range warnings {
				got := collect[contract.Decision](s)[i].Warnings
				if len(got) != len(want) {
					t.Errorf("decision %d warns of %q", i+1, got)
					continue
				}
				for k := range want {
					if !strings.Contains(got[k], want[k]) {
						t.Errorf("decision %d warns of %q, want %q", i+1, got[k], want[k])
					}
				}
			}
			if c := collect[contract.Decision](s)[2].CostUSD; c <= 0 {
				t.Errorf("three answers that could not be used cost %g", c)
			}
			s.billed(r)
		})
	}
}

// TestTheDeciderIsSilent: its time runs out once, and the rules decide.
func TestTheDeciderIsSilent(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--no-input", "--task", "Weave", "--decider", "hybrid",
		"--decider-timeout", "5s", "--scenario", workflow(t, `
  - name: silent
    match: {role: main, contains: "# The last error"}
    otherwise: {fault: {stall: 300s}}
`))
	s.finish(contract.ExitComplete)
	d := collect[contract.Decision](s)
	if len(d) != 6 || d[2].Decision != "RETRY" || d[2].Source != "fallback" || len(d[2].Warnings) != 1 ||
		!strings.Contains(d[2].Warnings[0], "no answer within 5s") {
		t.Errorf("decisions %+v", d)
	}
}
