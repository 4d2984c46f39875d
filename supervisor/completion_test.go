package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// checking is the running check; false: none.
func (p *play) checking() (input.RunCheck, bool) {
	list := effects[input.RunCheck](p)
	if len(list) == 0 {
		return input.RunCheck{}, false
	}
	c := list[len(list)-1]
	return c, slices.ContainsFunc(p.s.Handoff.Documents, func(h Handover) bool { return h.Request == c.Request })
}

// pass answers the running checks, all of which pass.
func (p *play) pass() {
	for c, open := p.checking(); open; c, open = p.checking() {
		p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: ok("ok")})
	}
}

// repeat answers the checks that run once more before COMPLETE takes effect, of which some fail, and returns
// their commands in order.
func (p *play) repeat(failing map[string]bool) (run []string) {
	p.t.Helper()
	for c, open := p.checking(); open; c, open = p.checking() {
		if !c.Again {
			p.t.Fatalf("%q is run for a document", c.Params.Command)
		}
		run = append(run, c.Params.Command)
		r := ok("ok")
		if failing[c.Params.Command] {
			r = bridge.CheckResult{Exit: 2, Output: "it is gone", Bytes: 10}
		}
		p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: r})
	}
	if len(run) == 0 {
		p.t.Fatal("no check is run once more")
	}
	return run
}

// overwritten is a run of two agents whose checks passed.
func overwritten(t *testing.T, change func(*runconfig.Options)) *play {
	p := begin(t, change)
	one, two := p.spawn("parser"), p.spawn("printer")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(two, proven("done", "make printer"))
	p.pass()
	return p
}

// TestChecksAreRepeatedBeforeComplete: the run repeats the checks of all documents. If they pass, it is
// complete, and the result counts all of them.
func TestChecksAreRepeatedBeforeComplete(t *testing.T) {
	p := overwritten(t, nil)
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	if p.s.Ending != nil {
		t.Fatal("it is complete before the checks were repeated")
	}
	first, _ := p.checking()
	if diff := cmp.Diff([]string{"make parser", "make printer"}, p.repeat(nil)); diff != "" || first.Agent.ID != "orch-1" {
		t.Errorf("repeated, in the name of %s (-want +got):\n%s", first.Agent.ID, diff)
	}
	r, exit := p.finished()
	if r.Status != contract.StatusComplete || exit != contract.ExitComplete || len(r.Failing) > 0 ||
		r.Checks == nil || *r.Checks != (contract.Checks{Passed: 2}) {
		t.Errorf("result %+v, %+v, exit %d", r, r.Checks, exit)
	}
	again := 0
	for _, c := range told[contract.Check](p) {
		if c.Again {
			again++
		}
	}
	testkit.Same(t, "checks are said to be repeated", 2, again)
	p.folds()
}

// TestBrokenCheckGoesBackToTheArbiter: the Arbiter has it fixed, or rules "complete" again. Then the run is
// complete, and the result lists the failed check.
func TestBrokenCheckGoesBackToTheArbiter(t *testing.T) {
	for _, mended := range []bool{true, false} {
		p := overwritten(t, nil)
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
		p.repeat(map[string]bool{"make parser": true})
		if p.s.Ending != nil {
			t.Fatalf("complete over a check that fails: %+v", p.s.Ending)
		}
		p.contains("what the Arbiter reads", p.lastSent("arbiter"), "COMPLETE did not take effect", "orch-1: `make parser`", "exit code 2", "use COMPLETE again", "make parser: exit code 2")
		if strings.Contains(p.lastSent("arbiter"), "make printer") {
			t.Errorf("its message lists criteria that are met:\n%s", p.lastSent("arbiter"))
		}
		p.contains("what frontends receive", last[contract.Notice](p).Text, "orch-1: `make parser`")
		want, failing := contract.Checks{Passed: 2}, map[string]bool{}
		if mended {
			p.verdict("arbiter", ruling("CONTINUE", "Mend the parser.", "to", "orch-1"))
			p.verdict("orch-1", proven("done", "make parser"))
			p.pass()
		} else {
			want, failing = contract.Checks{Passed: 1, Failed: 1}, map[string]bool{"make parser": true}
		}
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "The parser is not wanted any more."))
		p.repeat(failing)
		r, exit := p.finished()
		if r.Status != contract.StatusComplete || exit != contract.ExitComplete || *r.Checks != want {
			t.Errorf("mended %v: %+v, %+v, exit %d", mended, r, *r.Checks, exit)
		}
		if mended != (len(r.Failing) == 0) || mended == strings.Contains(r.Summary, "orch-1: `make parser`") {
			t.Errorf("mended %v: failing %q, summary %q", mended, r.Failing, r.Summary)
		}
		// The decision about it was based on an input that shows it.
		var in decider.EvaluateProgressInput
		if n := p.lastNote(); !mended {
			if err := json.Unmarshal(n.Input, &in); err != nil || len(in.FailedChecks) != 1 || in.FailedChecks[0].Command != "make parser" {
				t.Errorf("the input of the last decision: %+v, %v", in.FailedChecks, err)
			}
		}
		p.folds()
	}
}

// TestTheRulesNeverCompleteOverAFailedCheck: the check is fixed, or after a few attempts a human is asked or
// the run fails.
func TestTheRulesNeverCompleteOverAFailedCheck(t *testing.T) {
	for _, c := range []struct {
		name    string
		human   bool
		mending int // the check holds from this COMPLETE on
	}{{"mended", true, 2}, {"never, with a human", true, 99}, {"never, alone", false, 99}} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.Decider, o.HumanPresent = runconfig.DeciderRules, c.human })
			completed, mended := 0, 0
			for turns := 0; p.s.Ending == nil && p.s.Question.Open == nil && turns < 60; turns++ {
				if p.s.Rulings.DeciderRequest != nil {
					if d := p.decides(decider.Rules{}); d.Decision.Decision == "COMPLETE" {
						completed++
						p.repeat(map[string]bool{"make it": completed < c.mending})
					}
					continue
				}
				id := p.working()
				v := leaving()
				if p.agent(id).Mode == "developer" {
					if strings.Contains(p.lastSent(id), "these fail") {
						mended++
						p.contains("the brief", p.lastSent(id), "make it", "exit code 2")
					} else {
						d := v["handoff"].(verdict.Document)
						d.Checks = []verdict.Check{{Command: "make it", Expect: "exit 0"}}
						v["handoff"] = d
					}
				}
				p.verdict(id, v)
				p.pass()
			}
			if c.mending < 99 {
				if r, _ := p.finished(); r.Status != contract.StatusComplete || mended != 1 || *r.Checks != (contract.Checks{Passed: 1}) {
					t.Errorf("%+v, mended %d times", r, mended)
				}
				return
			}
			if completed != maxSentBack+1 || mended != maxSentBack {
				t.Errorf("completed %d times, mended %d times", completed, mended)
			}
			if c.human {
				if p.s.Question.Open == nil || !strings.Contains(p.s.Question.Open.Text, "make it") {
					t.Errorf("asked: %+v", p.s.Question.Open)
				}
				return
			}
			r, exit := p.finished()
			if r.Status != contract.StatusFailed || exit != contract.ExitFailed || !strings.Contains(r.Summary, "make it") {
				t.Errorf("%+v, exit %d", r, exit)
			}
			p.folds()
		})
	}
}

// TestAModelIsAskedAgainOverAFailedCheck: its input shows the check, and it may insist.
func TestAModelIsAskedAgainOverAFailedCheck(t *testing.T) {
	p := begin(t, stateless)
	p.answers(p.asked(), "SELECT_MODE", "developer")
	p.verdict(p.working(), proven("done", "make it"))
	p.pass()
	p.answers(p.asked(), "COMPLETE", "")
	p.repeat(map[string]bool{"make it": true})
	var in decider.EvaluateProgressInput
	if err := json.Unmarshal(p.asked().Input, &in); err != nil {
		t.Fatal(err)
	}
	if len(in.FailedChecks) != 1 || in.FailedChecks[0].Command != "make it" || in.FailedChecks[0].Agent != "developer" {
		t.Errorf("what it is shown: %+v", in.FailedChecks)
	}
	p.answers(p.asked(), "COMPLETE", "")
	p.repeat(map[string]bool{"make it": true})
	r, exit := p.finished()
	if r.Status != contract.StatusIncomplete || exit != contract.ExitFailed || len(r.Failing) != 1 {
		t.Errorf("%+v, exit %d", r, exit)
	}
	p.folds()
}

// TestACompleteIsOvertaken: messages and work that begin while the checks are repeated prevent a COMPLETE.
func TestACompleteIsOvertaken(t *testing.T) {
	for name, meanwhile := range map[string]func(p *play){
		"a word to the Arbiter": func(p *play) { p.say("Wait, there is more.") },
		"work":                  func(p *play) { p.mustCommand(contract.ForceAgent{Mode: "tester"}) },
	} {
		p := overwritten(t, nil)
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
		meanwhile(p)
		p.repeat(nil)
		if p.s.Ending != nil {
			t.Errorf("%s: complete all the same", name)
		}
		p.contains(name, last[contract.Notice](p).Text, "COMPLETE did not take effect: meanwhile")
	}
}

// TestRepeatedChecksOverAResume: the next process runs the remaining checks.
func TestRepeatedChecksOverAResume(t *testing.T) {
	p := overwritten(t, nil)
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	c := p.check()
	p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Result: ok("ok")})
	p.do(input.Resumed{Options: p.s.Options})
	p.back(bridge.DeliveryAbsent)
	testkit.Same(t, "repeated", []string{"make printer"}, p.repeat(nil))
	if r, _ := p.finished(); r.Status != contract.StatusComplete || *r.Checks != (contract.Checks{Passed: 2}) {
		t.Errorf("%+v", r)
	}
}

// TestUnrunCheckIsNotRepeated: it stays unproven, and so does a check that cannot be repeated.
func TestUnrunCheckIsNotRepeated(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make test", "curl localhost"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	p.do(input.Checked{Serial: p.check().Serial, Number: 2, Failed: "not permitted"})
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	c, _ := p.checking()
	if c.Params.Command != "make test" {
		t.Fatalf("%q is repeated", c.Params.Command)
	}
	p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Failed: "not permitted"})
	if r, _ := p.finished(); r.Status != contract.StatusComplete || *r.Checks != (contract.Checks{Unproven: 2}) {
		t.Errorf("%+v, %+v", r, r.Checks)
	}
}

// TestProofsAreBounded: proofs beyond the bound are still counted.
func TestProofsAreBounded(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	for i := range 8 {
		var commands []string
		for k := range MaxChecks {
			commands = append(commands, "make "+fmt.Sprintf("orch-%d", i)+fmt.Sprintf("orch-%d", k))
		}
		p.verdict(one, proven("done", commands...))
		p.pass()
		p.verdict("arbiter", ruling("CONTINUE", "More.", "to", one))
	}
	p.verdict(one, report("done", "that was all", true))
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	testkit.Same(t, "checks are repeated", MaxProofs, len(p.repeat(nil)))
	if r, _ := p.finished(); *r.Checks != (contract.Checks{Passed: 80}) {
		t.Errorf("%+v", r.Checks)
	}
}
