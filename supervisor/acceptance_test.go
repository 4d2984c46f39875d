package supervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// accepting sets the human's criteria.
func accepting(commands ...string) func(*runconfig.Options) {
	return func(o *runconfig.Options) { o.Accept = commands }
}

// criteria answers the commands of the criteria, of which some fail, and returns them in order.
func (p *play) criteria(failing map[string]string) (run []string) {
	p.t.Helper()
	for c, open := p.checking(); open; c, open = p.checking() {
		if !c.Criterion {
			p.t.Fatalf("%q is not a criterion", c.Params.Command)
		}
		run = append(run, c.Params.Command)
		r := ok("ok")
		if out := failing[c.Params.Command]; out != "" {
			r = bridge.CheckResult{Exit: 1, Output: out, Bytes: int64(len(out))}
		}
		p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: r})
	}
	return run
}

func statusesOf(list []contract.Acceptance) (all []string) {
	for _, a := range list {
		all = append(all, a.By+": "+a.Text+": "+a.Status)
	}
	return all
}

// lastEffect is the last effect of a type.
func lastEffect[E input.Effect](p *play) E {
	p.t.Helper()
	list := effects[E](p)
	if len(list) == 0 {
		p.t.Fatalf("no %T", *new(E))
	}
	return list[len(list)-1]
}

func (p *play) complete() {
	p.t.Helper()
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
}

// TestCompleteIsJudged: a failed criterion rejects COMPLETE, with its output; once it passes the run is
// complete.
func TestCompleteIsJudged(t *testing.T) {
	p := begin(t, accepting("make test", "make lint"))
	p.contains("the task", p.lastSent("arbiter"), "acceptance criteria", "1. make test (set by the human)")
	p.complete()
	first, _ := p.checking()
	if !first.Permitted || first.Params.TimeoutMS < 60_000 {
		t.Errorf("the human's own command is run as %+v", first)
	}
	if diff := cmp.Diff([]string{"make test", "make lint"}, p.criteria(map[string]string{"make test": "--- FAIL: TestWarp"})); diff != "" {
		t.Errorf("run, -want +got:\n%s", diff)
	}
	if p.s.Ending != nil {
		t.Fatalf("complete over a criterion that failed: %+v", p.s.Ending)
	}
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "COMPLETE did not take effect", "| --- FAIL: TestWarp", "exit code 1")
	p.complete()
	p.criteria(nil)
	r, exit := p.finished()
	want := []string{"human: make test: passed", "human: make lint: passed"}
	if diff := cmp.Diff(want, statusesOf(r.Acceptance)); diff != "" || exit != contract.ExitComplete {
		t.Errorf("exit %d, -want +got:\n%s", exit, diff)
	}
	if n := len(told[contract.Acceptance](p)); n != 4 {
		t.Errorf("%d acceptance events for two criteria and two rounds", n)
	}
	p.folds()
}

// TestRejectedTooOften: the third rejection asks the human; without one the run fails with exit code 1.
func TestRejectedTooOften(t *testing.T) {
	for _, present := range []bool{true, false} {
		p := begin(t, func(o *runconfig.Options) { o.Accept, o.HumanPresent = []string{"make test"}, present })
		for range 3 {
			p.complete()
			p.criteria(map[string]string{"make test": "broken"})
		}
		if !present {
			if r, exit := p.finished(); exit != contract.ExitFailed || r.Status != contract.StatusFailed {
				t.Errorf("without a human: %s, exit %d", r.Status, exit)
			}
			continue
		}
		p.contains("the question", last[contract.Question](p).Text, "COMPLETE was rejected 3 times", "make test (exit code 1)")
		p.do(input.Command{Channel: input.ChannelScreen,
			Command: contract.Command{Body: contract.Say{Text: "Try once more."}}})
		p.complete()
		p.criteria(nil)
		if _, exit := p.finished(); exit != contract.ExitComplete {
			t.Errorf("after the human's answer: exit %d", exit)
		}
	}
}

// TestArbiterCannotWeaken: the Arbiter cannot weaken the human's criteria. It can add its own, which need
// permission.
func TestArbiterCannotWeaken(t *testing.T) {
	p := begin(t, accepting("make test"))
	set := func(criteria string) input.AnswerTool {
		p.do(input.ToolCalled{Call: "c", Params: bridge.ToolCallParams{
			AgentRef: p.agent("arbiter").AgentRef, Tool: "set_acceptance", Input: []byte(`{"criteria":` + criteria + `}`),
		}})
		return lastEffect[input.AnswerTool](p)
	}
	for _, weaker := range []string{`[]`, `[{"text":"make test","command":"true"}]`, `[{"text":"other","command":"make test"}]`} {
		a, first := set(weaker), p.s.Task.Acceptance.Criteria[0]
		if a.IsError || first.By != contract.Human || first.Text != "make test" || first.Command != "make test" {
			t.Errorf("%s is answered %+v, and the human's is %+v", weaker, a, first)
		}
	}
	if a := set(`[{"text":"make test","command":"make test"},{"text":"It is documented."},{"text":"It builds.","command":"make"}]`); a.IsError {
		t.Fatalf("its own are refused: %s", a.Text)
	}
	p.careful = true
	p.complete()
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "No command proves", "It is documented.")
	p.complete()
	var permitted []bool
	for c, open := p.checking(); open; c, open = p.checking() {
		permitted = append(permitted, c.Permitted)
		p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: ok("ok")})
	}
	testkit.Same(t, "permitted unasked", []bool{true, false}, permitted)
	r, _ := p.finished()
	want := []string{"human: make test: passed", "arbiter: It is documented.: unproven", "arbiter: It builds.: passed"}
	testkit.Same(t, "", want, statusesOf(r.Acceptance))
}

// TestHumanSetsCriteria: the human sets criteria during the run. The Arbiter is notified, and a COMPLETE that
// is being judged does not take effect.
func TestHumanSetsCriteria(t *testing.T) {
	p := begin(t, accepting("make test"))
	p.complete()
	p.do(input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r", Body: contract.SetAcceptance{
		Criteria: []contract.AcceptanceCriterion{{Text: "It is fast.", Command: "make bench"}},
	}}})
	p.contains("the answer", last[contract.Accepted](p).Message, "acceptance criteria set: 1")
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The human set the acceptance criteria", "It is fast. – proved by `make bench`")
	p.complete()
	testkit.Same(t, "run after the change", []string{"make bench"}, p.criteria(nil))
	r, _ := p.finished()
	testkit.Same(t, "", []string{"human: It is fast.: passed"}, statusesOf(r.Acceptance))
}

// TestJudgedOnATree: with Git the criteria are judged on the tree of a snapshot, even if the process crashed
// between the two.
func TestJudgedOnATree(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.Accept, o.Workspace = []string{"make test"}, runconfig.Workspace{Root: "/w", Base: "base"}
	})
	p.complete()
	asked := lastEffect[input.ChangeRecord](p)
	if !asked.Tree {
		t.Fatalf("asked for %+v", asked)
	}
	if c, open := p.checking(); open {
		t.Fatalf("%s is run before the tree is known", c.Params.Command)
	}
	p.do(input.SnapshotTaken{Serial: asked.Serial, Commit: "c", Tree: "tree"})
	p.criteria(nil)
	p.do(input.Stopped{})
	total := &contract.ResultChanges{Files: 1, Head: "c"}
	p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "c", Tree: "tree", Total: total})
	r := last[contract.Result](p)
	if r.Changes == nil || len(r.Acceptance) != 1 || r.Acceptance[0].Tree != "tree" {
		t.Errorf("%+v", r.Acceptance)
	}
}

// TestTheRulesNeverCompleteOverAFailedCriterion: an Orchestrator has to fix it. After three rejections the run
// asks a human, or fails.
func TestTheRulesNeverCompleteOverAFailedCriterion(t *testing.T) {
	for _, c := range []struct {
		name    string
		human   bool
		mending int // the criterion holds from this COMPLETE on
	}{{"mended", true, 2}, {"never, with a human", true, 99}, {"never, alone", false, 99}} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) {
				o.Decider, o.HumanPresent, o.Accept = runconfig.DeciderRules, c.human, []string{"make it"}
			})
			completed, mended := 0, 0
			for turns := 0; p.s.Ending == nil && p.s.Question.Open == nil && turns < 60; turns++ {
				if p.s.Rulings.DeciderRequest != nil {
					if d := p.decides(decider.Rules{}); d.Decision.Decision == "COMPLETE" {
						completed++
						output := ""
						if completed < c.mending {
							output = "it is broken"
						}
						p.criteria(map[string]string{"make it": output})
					}
					continue
				}
				id := p.working()
				if strings.Contains(p.lastSent(id), "these fail") {
					mended++
					p.contains("the brief", p.lastSent(id), "make it", "exit code 1", "it is broken")
				}
				p.verdict(id, leaving())
			}
			if c.mending < 99 {
				if r, _ := p.finished(); r.Status != contract.StatusComplete || mended != 1 {
					t.Errorf("%+v, mended %d times", r, mended)
				}
				return
			}
			if completed != 3 || mended != 2 {
				t.Errorf("completed %d times, mended %d times", completed, mended)
			}
			if c.human {
				if p.s.Question.Open == nil || !strings.Contains(p.s.Question.Open.Text, "make it") {
					t.Errorf("asked: %+v", p.s.Question.Open)
				}
				return
			}
			if r, exit := p.finished(); r.Status != contract.StatusFailed || exit != contract.ExitFailed {
				t.Errorf("%+v, exit %d", r, exit)
			}
		})
	}
}

// TestCriteriaGoWithTheTask: criteria apply to the task, however it is given. A resume adds new criteria of the
// options, but not those that the human dropped.
func TestCriteriaGoWithTheTask(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.Task, o.Accept, o.Lessons = "", []string{"make test"}, "Reports: the looms need oil."
	})
	p.do(input.Command{Channel: input.ChannelStdin, Command: contract.Command{Body: contract.Say{Text: "Build it."}}})
	p.contains("the task", p.lastSent("arbiter"), "Build it.", "1. make test (set by the human)", "the looms need oil")
	p.do(input.Command{Channel: input.ChannelStdin, Command: contract.Command{Body: contract.SetAcceptance{}}})
	resume := func(accept ...string) []Criterion {
		o := p.s.Options
		o.Accept = accept
		p.do(input.Resumed{Options: o, Salt: "s"})
		return p.s.Task.Acceptance.Criteria
	}
	if list := resume("make test"); len(list) != 0 {
		t.Errorf("after a resume there is %+v again", list)
	}
	if list := resume("make test", "make lint"); len(list) != 2 {
		t.Errorf("named anew, there is %+v", list)
	}
}
