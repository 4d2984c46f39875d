package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// wrongRuler is an Arbiter that names a mode that does not exist, says nothing, and sends a message to an agent
// that is gone, each until the rules decide.
const wrongRuler = `
  - name: wrong
    match: {role: arbiter}
    otherwise:
      - {expect: "(?s)kind: done.*The loom was read", verdict: {decision: COMPLETE, message: It is done., summary: It stands., reason: r}}
      - {expect: The warp is missing, verdict: {decision: RETRY, to: orch-2, message: Lay the warp., reason: r}}
      - {expect: "(?s)kind: done.*The loom was tried", verdict: {decision: SELECT_MODE, mode: reviewer, message: Read loom.txt with fresh eyes., reason: r}}
      - {expect: "(?s)kind: done.*The loom is built|orch-1. is gone", verdict: {decision: CONTINUE, to: orch-1, message: Go on., reason: r}}
      - {expect: "kind: task|no mode .wizard", verdict: {decision: SELECT_MODE, mode: wizard, message: Enchant it., reason: r}}
      - {say: ""}
`

// TestAnArbiterThatRulesWrongly: a wrong decision of the Arbiter is corrected twice each time; then the rules
// decide. The Arbiter decides again with its next valid decision.
func TestAnArbiterThatRulesWrongly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			p.long(t)
			t.Parallel()
			s := start(t, nil, append(slices.Clone(p.args), "--json", "--no-input", "--scenario",
				workflow(t, wrongRuler), "--task", "Weave")...)
			s.decidesThrice()
			r := s.finish(contract.ExitComplete)
			if diff := cmp.Diff(taskRulings("fallback", "fallback", "session", "fallback", "session", "session"),
				rulingsOf(s)); diff != "" {
				t.Errorf("decisions (-want +got):\n%s\n%s", diff, s.dump())
			}
			var corrections []string
			for _, m := range collect[contract.Message](s) {
				if m.Kind == "correction" && m.To == contract.Arbiter {
					corrections = append(corrections, m.Text)
				}
			}
			want := []string{`no mode "wizard"`, `no mode "wizard"`, "no verdict", "no verdict", "(orch-1) is gone",
				"(orch-1) is gone"}
			for i, text := range want {
				if len(corrections) != len(want) || !strings.Contains(corrections[i], text) {
					t.Fatalf("corrections %q", corrections)
				}
			}
			told := 0
			for _, e := range collect[contract.Error](s) {
				if e.Category == bridge.CatVerdict && strings.Contains(e.Message, "3 times") &&
					strings.Contains(e.Message, "the rules decide") {
					told++
				}
			}
			if told != 3 || r.Summary != "It stands." {
				t.Errorf("%d errors say so, result %+v", told, r)
			}
		})
	}
}

// steady is a developer that succeeds at once.
const steady = `
  - name: steady
    match: {role: orchestrator, contains: "You work as ` + "`developer`" + `"}
    steps:
      - use: [{tool: Bash, input: {command: echo weft over warp > loom.txt, description: Build it}}]
    otherwise:
      verdict: {expects_response: true, kind: done, message: The loom is built., handoff: {accomplished: [built], remaining: [], key_context: none}}
`

// TestTheArbiterIsLost: the Arbiter never decides, its model is down, or its process crashes repeatedly. The
// rules bring the task to its end, and each decision and the result say so.
func TestTheArbiterIsLost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		name, actors string
		ills         sick // faults of the stand-in, which plays these cases alone
		real         bool
		args         []string
		category     bridge.Category
		why          string
	}{
		{"babbles", "\n  - {name: babbler, match: {role: arbiter}, otherwise: {say: Hm.}}\n", nil, false, nil,
			bridge.CatVerdict, "no valid verdict 3 times"},
		{"is down", "\n  - {name: down, match: {role: arbiter}, otherwise: {fault: {status: 503}}}\n" + steady, nil,
			true, []string{"--max-failures", "2"}, bridge.CatServer, "503"},
		{"dies", "", sick{"arbiter.*": "die-mid-turn"}, false, nil, bridge.CatCrash, "parked"},
	} {
		for _, p := range players(t) {
			if p.real && !c.real {
				continue
			}
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				args := p.args
				if c.ills != nil {
					args = []string{"--rehearse", "--claude", sickClaude(t, c.ills)}
				}
				s := start(t, []string{"CLAUDE_CODE_MAX_RETRIES=0"},
					slices.Concat(args, c.args, []string{"--json", "--no-input", "--scenario", workflow(t, c.actors),
						"--task", "Weave"})...)
				s.decidesThrice()
				r := s.finish(contract.ExitComplete)
				if r.Status != contract.StatusComplete || !strings.Contains(r.Summary, "The rules led here") ||
					!strings.Contains(r.Summary, c.why) {
					t.Errorf("result %+v", r)
				}
				s.awaitNotice("The Arbiter can no longer rule: ")
				d := collect[contract.Decision](s)
				for i, one := range d {
					if one.Number != i+1 || one.Source != "fallback" || len(one.Warnings) == 0 {
						t.Errorf("decision %+v", one)
					}
				}
				if n := len(d); n == 0 || !strings.Contains(d[n-1].Warnings[0], c.why) ||
					d[n-1].Decision != "COMPLETE" {
					t.Errorf("%d decisions, the last %+v", n, d[n-1])
				}
				if !slices.ContainsFunc(collect[contract.Error](s),
					func(e contract.Error) bool { return e.Category == c.category }) {
					t.Errorf("no error says so\n%s", s.dump())
				}
			})
		}
	}
}

// TestTheArbiterIsBroughtBack: while the rules decide, the human restarts the Arbiter: it reads what was
// decided, and makes the remaining decisions.
func TestTheArbiterIsBroughtBack(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := start(t, nil, "--rehearse", "--claude", sickClaude(t, sick{"arbiter.[1-5]": "die-mid-turn"}), "--json",
		"--task", "Weave", "--scenario", workflow(t, `
  - name: patient # so that somebody works when it is brought back
    match: {role: orchestrator, contains: "You work as `+"`tester`"+`"}
    steps:
      - use: [{tool: Bash, input: {command: "`+untilLetGo+`", description: Wait}}]
    otherwise:
      verdict: {expects_response: true, kind: done, message: The loom was tried., handoff: {accomplished: [tried], remaining: [], key_context: none}}
`))
	await[contract.Decision](s, "a tester chosen by the rules", func(_ string, d contract.Decision) bool {
		return d.Mode == "tester" && d.Source == "fallback"
	})
	if q := collect[contract.Question](s); len(q) != 0 {
		t.Errorf("questions %+v", q)
	}
	s.send(contract.Choose{Option: "retry"})
	s.awaitNotice("The Arbiter rules again.")
	s.letGo()
	r := s.finish(contract.ExitComplete)
	d := collect[contract.Decision](s)
	if last := d[len(d)-1]; last.Source != "session" || last.Decision != "COMPLETE" ||
		strings.Contains(r.Summary, "The rules led here") || r.Crashes != 5 {
		t.Errorf("the last decision %+v, result %+v", last, r)
	}
	if n := len(s.spawns(contract.Arbiter)); n != 6 {
		t.Errorf("the Arbiter was started %d times", n)
	}
}

// TestHumanIsAskedInsteadOfArbiter: if the Arbiter makes no valid decision and there is a human, the human
// is asked. After the answer, the Arbiter is asked again.
func TestHumanIsAskedInsteadOfArbiter(t *testing.T) {
	t.Parallel()
	s := start(t, nil, "--stand-in", "--json", "--task", "Weave", "--scenario", workflow(t, `
  - name: babbler
    match: {role: arbiter}
    otherwise:
      - {expect: Try it once more, verdict: {decision: RETRY, to: orch-2, message: Lay the warp., reason: the human has said so}}
      - {expect: "(?s)kind: done.*The loom is built", verdict: {decision: COMPLETE, message: It is done., summary: It stands., reason: r}}
      - say: Hm.
`))
	q := await[contract.Question](s, "a question", nil)
	if !strings.Contains(q.Text, "can no longer rule") {
		t.Errorf("question %q", q.Text)
	}
	s.send(contract.Say{Text: "Try it once more."})
	if r := s.finish(contract.ExitComplete); r.Summary != "It stands." || r.Iterations != 2 {
		t.Errorf("result %+v", r)
	}
}
