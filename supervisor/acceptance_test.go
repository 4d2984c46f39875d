package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
		testkit.Need(p.t, c.Criterion, "%q is not a criterion", c.Params.Command)
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
	return testkit.Each(list, func(a contract.Acceptance) string { return a.By + ": " + a.Text + ": " + a.Status })
}

// lastEffect is the last effect of a type.
func lastEffect[E input.Effect](p *play) E {
	p.t.Helper()
	list := effects[E](p)
	testkit.Need(p.t, len(list) != 0, "no %T", *new(E))
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
	testkit.Check(t, first.Permitted && first.Params.TimeoutMS >= 60_000, "the human's own command is run as %+v",
		first)
	testkit.Same(t, "run", []string{"make test", "make lint"},
		p.criteria(map[string]string{"make test": "--- FAIL: TestWarp"}))
	p.goesOn("complete over a criterion that failed")
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "COMPLETE did not take effect", "| --- FAIL: TestWarp",
		"exit code 1")
	p.complete()
	p.criteria(nil)
	r := p.endsAs(contract.StatusComplete, contract.ExitComplete)
	testkit.Same(t, "criteria", []string{"human: make test: passed", "human: make lint: passed"}, statusesOf(r.Acceptance))
	testkit.Same(t, "acceptance events for two criteria and two rounds", 4, len(told[contract.Acceptance](p)))
}

// TestJudgedWithTheNextBridge: the commands run once more if the bridge is lost, each once.
func TestJudgedWithTheNextBridge(t *testing.T) {
	p := begin(t, accepting("make test"))
	p.complete()
	p.out = nil
	p.bridgeReturns()
	testkit.Same(t, "runs of the command", 1, len(effects[input.RunCheck](p)))
	p.criteria(nil)
	p.endsAs(contract.StatusComplete, contract.ExitComplete)
}

// TestRejectedTooOften: the third rejection asks the human; without one the run fails with exit code 1.
func TestRejectedTooOften(t *testing.T) {
	for _, present := range []bool{true, false} {
		t.Run(fmt.Sprintf("a human: %v", present), func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.Accept, o.HumanPresent = []string{"make test"}, present })
			for range 3 {
				p.complete()
				p.criteria(map[string]string{"make test": "broken"})
			}
			if !present {
				p.endsAs(contract.StatusFailed, contract.ExitFailed)
				return
			}
			p.contains("the question", last[contract.Question](p).Text, "COMPLETE was rejected 3 times",
				"make test (exit code 1)")
			p.do(byHuman(input.ChannelScreen, contract.Say{Text: "Try once more."}))
			p.complete()
			p.criteria(nil)
			p.endsAs(contract.StatusComplete, contract.ExitComplete)
		})
	}
}

// TestArbiterCannotWeaken: the Arbiter cannot weaken the human's criteria. It can add its own, which need
// permission.
func TestArbiterCannotWeaken(t *testing.T) {
	p := begin(t, accepting("make test"))
	set := func(criteria string) input.AnswerTool {
		return p.call("arbiter", "set_acceptance", `{"criteria":`+criteria+`}`)
	}
	for _, weaker := range []string{`[]`, `[{"text":"make test","command":"true"}]`,
		`[{"text":"other","command":"make test"}]`} {
		a, first := set(weaker), p.s.Task.Acceptance.Criteria[0]
		testkit.Check(t, !a.IsError && first.By == contract.Human && first.Text == "make test" &&
			first.Command == "make test", "%s is answered %+v, and the human's is %+v", weaker, a, first)
	}
	a := set(`[{"text":"make test","command":"make test"},{"text":"It is documented."},{"text":"It builds.","command":"make"}]`)
	testkit.Need(t, !a.IsError, "its own are refused: %s", a.Text)
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
	fast := []contract.AcceptanceCriterion{{Text: "It is fast.", Command: "make bench"}}
	p.do(byHuman(input.ChannelStdin, contract.SetAcceptance{Criteria: fast}))
	p.contains("the answer", last[contract.Accepted](p).Message, "acceptance criteria set: 1")
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The human set the acceptance criteria",
		"It is fast. – proved by `make bench`")
	p.complete()
	testkit.Same(t, "run after the change", []string{"make bench"}, p.criteria(nil))
	r, _ := p.finished()
	testkit.Same(t, "", []string{"human: It is fast.: passed"}, statusesOf(r.Acceptance))

	p = begin(t, accepting("make test"))
	p.complete()
	o := p.s.Options
	o.Accept = nil
	p.do(input.Resumed{Options: o, Word: "Wait, there is more.", Salt: "/2"})
	p.back(bridge.DeliveryAbsent)
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "Wait, there is more.")
}

// TestJudgedOnATree: with Git the criteria are judged on the tree of a snapshot, even if the process crashed
// between the two.
func TestJudgedOnATree(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.Accept, o.Workspace = []string{"make test"}, runconfig.Workspace{Root: "/w", Base: "base"}
	})
	p.complete()
	asked := lastEffect[input.ChangeRecord](p)
	testkit.Need(t, asked.Tree, "asked for %+v", asked)
	c, open := p.checking()
	testkit.Need(t, !open, "%s is run before the tree is known", c.Params.Command)
	p.do(input.SnapshotTaken{Serial: asked.Serial, Commit: "c", Tree: "tree"})
	p.criteria(nil)
	p.do(input.Stopped{})
	total := &contract.ResultChanges{Files: 1, Head: "c"}
	p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "c", Tree: "tree", Total: total})
	r := last[contract.Result](p)
	testkit.Check(t, r.Changes != nil && len(r.Acceptance) == 1 && r.Acceptance[0].Tree == "tree", "%+v", r.Acceptance)
}

// TestCriteriaGoWithTheTask: criteria apply to the task, however it is given. A resume adds new criteria of the
// options, but not those that the human dropped.
func TestCriteriaGoWithTheTask(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.Task, o.Accept, o.Lessons = "", []string{"make test"}, "Reports: the looms need oil."
	})
	p.do(byHuman(input.ChannelStdin, contract.Say{Text: "Build it."}))
	p.contains("the task", p.lastSent("arbiter"), "Build it.", "1. make test (set by the human)", "the looms need oil")
	p.do(byHuman(input.ChannelStdin, contract.SetAcceptance{}))
	resume := func(accept ...string) []Criterion {
		o := p.s.Options
		o.Accept = accept
		p.do(input.Resumed{Options: o, Salt: "s"})
		return p.s.Task.Acceptance.Criteria
	}
	testkit.Empty(t, "after a resume there is again", resume("make test"))
	list := resume("make test", "make lint")
	testkit.Check(t, len(list) == 2, "named anew, there is %+v", list)
}

func set(t *testing.T, list ...Criterion) AcceptanceState {
	t.Helper()
	var s AcceptanceState
	testkit.OK(t, s.HumanSets(list))
	return s
}

var (
	tests = Criterion{Text: "the tests pass", Command: "make test"}
	lint  = Criterion{Command: "make lint"}
	reads = Criterion{Text: "the README is easy to read"}
)

// TestHumanMayDoAnything: set and add criteria, take them over from the Arbiter, and drop them.
func TestHumanMayDoAnything(t *testing.T) {
	s := set(t, tests)
	testkit.OK(t, s.ArbiterSets([]Criterion{tests, lint, reads}))
	testkit.OK(t, s.HumanAdds(reads))
	got := []string{}
	for _, c := range s.Criteria {
		got = append(got, c.By+" "+c.Text)
	}
	want := []string{"human the tests pass", "human the README is easy to read", "arbiter make lint"}
	testkit.Need(t, slices.Equal(got, want), "%q", got)
	err := s.HumanDrops(1)
	testkit.Check(t, err == nil && s.Criteria[0].Text == reads.Text, "%v, %+v", err, s.Criteria)
	testkit.Fails(t, "a criterion that is not there", s.HumanDrops(3), "no criterion 3: 2")
	testkit.OK(t, s.HumanSets([]Criterion{lint}))
	testkit.Check(t, len(s.Criteria) == 1 && s.Criteria[0].By == contract.Human, "%+v", s.Criteria)
}

// TestBounds: an invalid criterion is refused with its number.
func TestBounds(t *testing.T) {
	for want, list := range map[string][]Criterion{
		"criterion 2 has neither a text": {tests, {Text: " \n"}},
		"the text of criterion 1":        {{Text: strings.Repeat("x", MaxText+1)}},
		"the command of criterion 1":     {{Command: strings.Repeat("x", MaxCommand+1)}},
		"NUL":                            {{Command: "make\x00"}},
		"these are 31":                   slices.Repeat([]Criterion{tests}, MaxCriteria+1),
	} {
		var s AcceptanceState
		err := s.HumanSets(list)
		testkit.Check(t, err != nil && strings.Contains(err.Error(), want) && s.Criteria == nil, "%v, not %q", err, want)
	}
	s := set(t, lint, lint)
	testkit.Check(t, len(s.Criteria) == 1 && s.Criteria[0].Text == lint.Command, "%+v", s.Criteria)
}

// TestARoundIsJudgedWhenAllIsIn: also in copies of the state from before.
func TestARoundIsJudgedWhenAllIsIn(t *testing.T) {
	s := set(t, tests, reads)
	s.Begin("two")
	_, ok := s.Judge()
	testkit.Check(t, !ok && len(s.Pending()) == 1, "it is judged before all is in")
	before := s
	s.Finish(bridge.CheckResult{SHA256: "ab"}, "")
	s.Finish(bridge.CheckResult{Exit: 1}, "") // no command is pending
	testkit.Same(t, "the copy before was written to", 1, len(before.Pending()))
	o, _ := s.Judge()
	testkit.Check(t, o.Text == "", "%+v", o)
	want := []contract.Acceptance{
		{Text: tests.Text, Command: tests.Command, By: "human", Status: "passed", SHA256: "ab", Tree: "two"},
		{Text: reads.Text, By: "human", Status: "unproven", ExitCode: -1},
	}
	testkit.Same(t, "events", want, s.Events())
}

// TestCriterionWithoutARunFails: a command that did not run counts as failed, and a change of the criteria
// voids the round.
func TestCriterionWithoutARunFails(t *testing.T) {
	s := set(t, tests)
	s.Begin("")
	s.Finish(bridge.CheckResult{}, "not permitted")
	if o, ok := s.Judge(); !ok || o.Exhausted || !strings.Contains(o.Evidence, "not permitted") {
		t.Errorf("%+v", o)
	}
	testkit.Like(t, "the acceptance", contract.Acceptance{Status: string(AcceptanceFailed), ExitCode: -1},
		s.Events()[0])
	s.Begin("")
	s.Finish(bridge.CheckResult{Exit: 2, Output: "FAIL: TestLogin\n"}, "")
	o, _ := s.Judge()
	testkit.Same(t, "evidence", "## Criterion 1, set by the human: the tests pass\n\nCommand: make test\n"+
		"Result: exit code 2\nThe end of its output:\n\nFAIL: TestLogin\n", o.Evidence)
	s.Begin("")
	err := s.HumanAdds(lint)
	testkit.Check(t, err == nil && s.Round == nil, "the round goes on with other criteria: %v, %+v", err, s.Round)
	s.BeginTask()
	testkit.Check(t, s.Results == nil && s.Rejections == 0 && len(s.Criteria) == 2, "another task begins with %+v", s)
}

// TestAskHow: the Arbiter is asked once for each list how the criteria without proof hold.
func TestAskHow(t *testing.T) {
	s := set(t, tests, reads)
	text := s.AskHow()
	testkit.Check(t, strings.Contains(text, reads.Text) && !strings.Contains(text, tests.Text), "%q", text)
	testkit.Same(t, "again", "", s.AskHow())
	err := s.HumanAdds(Criterion{Text: "and short"})
	testkit.Check(t, err == nil && s.AskHow() != "", "another list is asked about again")
}

// TestEvidenceIsBounded: even if every criterion fails with endless output.
func TestEvidenceIsBounded(t *testing.T) {
	var list []Criterion
	for i := range MaxCriteria {
		list = append(list, Criterion{Text: strings.Repeat("t", MaxText), Command: strings.Repeat("c", MaxCommand-i)})
	}
	s := set(t, list...)
	s.Begin("t")
	for range s.Pending() {
		s.Finish(bridge.CheckResult{Exit: 1, Output: strings.Repeat("é", 1<<20)}, "")
	}
	o, _ := s.Judge()
	testkit.Check(t, len(o.Evidence) <= (evidence+MaxCriteria*1200) && len(o.Text) <= MaxCriteria*300,
		"%d bytes of evidence, %d of text", len(o.Evidence), len(o.Text))
	data, err := json.Marshal(s)
	testkit.Check(t, err == nil && len(data) <= MaxCriteria*(2*MaxText+2*MaxCommand+evidenceOne+500),
		"%v, %d bytes of state", err, len(data))
}

// TestRepeatingIsNotAdopting: a list can repeat a criterion of the Arbiter and leave it to the Arbiter, so that
// its command still needs permission.
func TestRepeatingIsNotAdopting(t *testing.T) {
	s := set(t, tests)
	testkit.OK(t, s.ArbiterSets([]Criterion{tests, {Text: "it is clean", Command: "make lint"}}))
	theirs := Criterion{Text: "it is clean", Command: "make lint", By: contract.Arbiter}
	testkit.OK(t, s.HumanSets([]Criterion{tests, theirs, reads}))
	by := testkit.Each(s.Criteria, func(c Criterion) string { return c.By })
	testkit.Check(t, slices.Equal(by, []string{contract.Human, contract.Human, contract.Arbiter}) &&
		s.Criteria[2].Command == "make lint", "%+v", s.Criteria)
	theirs.Command = "make"
	if err := s.HumanSets([]Criterion{theirs}); err == nil || len(s.Criteria) != 3 {
		t.Errorf("a criterion that the Arbiter did not set is kept as its own: %v, %+v", err, s.Criteria)
	}
}

// FuzzState calls random methods in random order. In every case, the Arbiter has weakened nothing, every
// accepted criterion was proven on the tree, no copy is changed, and a decoded state continues like the encoded
// one.
func FuzzState(f *testing.F) {
	f.Add([]byte("h1a2b1f0f0jb1f1f0j"))
	f.Add([]byte("h3b2f0a0f1jx1b2f0f0f0jd1q"))
	f.Add([]byte("\x00\xff\x80hh99"))
	f.Fuzz(func(t *testing.T, plan []byte) {
		var s AcceptanceState
		for i := 0; i+1 < len(plan) && i < 200; i += 2 {
			before, image := s, encodedAcceptance(t, s)
			human := s.ofHuman()
			act(t, &s, plan[i], int(plan[i+1]))
			testkit.Same(t, fmt.Sprintf("%q wrote to the copy before", plan[i]), image, encodedAcceptance(t, before))
			testkit.Need(t, plan[i] != 'a' || slices.Equal(human, s.ofHuman()), "the Arbiter made %+v of %+v",
				s.ofHuman(), human)
			var back AcceptanceState
			err := json.Unmarshal([]byte(encodedAcceptance(t, s)), &back)
			testkit.Need(t, err == nil && encodedAcceptance(t, back) == encodedAcceptance(t, s),
				"%v: %+v is %+v once decoded", err, s, back)
			s = back
		}
	})
}

func encodedAcceptance(t *testing.T, s AcceptanceState) string {
	data := testkit.Must(json.Marshal(s))(t)
	return string(data)
}

// act calls one method. Errors are valid answers.
func act(t *testing.T, s *AcceptanceState, what byte, n int) {
	trees := []string{"", "one", "two"}
	switch what {
	case 'h':
		_ = s.HumanSets(given(n))
	case 'x':
		_ = s.HumanAdds(given(n + 1)[n%2])
	case 'd':
		_ = s.HumanDrops(n % 5)
	case 'a':
		var list []Criterion
		for _, c := range s.Criteria {
			if n%7 != 0 || c.By == contract.Arbiter {
				list = append(list, Criterion{Text: c.Text, Command: c.Command})
			}
		}
		_ = s.ArbiterSets(append(list, given(n)...))
	case 'b':
		s.Begin(trees[n%3])
	case 'f':
		failed := ""
		if n%11 == 0 {
			failed = "out of time"
		}
		s.Finish(bridge.CheckResult{Exit: n % 3, Output: string(rune(n)) + "\xff"}, failed)
	case 'j':
		var tree string
		if s.Round != nil {
			tree = s.Round.Tree
		}
		criteria := s.Criteria
		if o, ok := s.Judge(); ok && o.Text == "" {
			accepted(t, s, criteria, tree)
		} else if ok && (o.Text == "" || o.Evidence == "" ||
			o.Exhausted != (s.Rejections >= MaxRejections)) {
			t.Fatalf("%+v after %d rejections", o, s.Rejections)
		}
	case 'q':
		s.AskHow()
		s.Rejections = 0
	case 't':
		s.BeginTask()
	}
}

// accepted fails unless every criterion with a command passed on the tree.
func accepted(t *testing.T, s *AcceptanceState, criteria []Criterion, tree string) {
	for i, e := range s.Events() {
		want := AcceptancePassed
		if criteria[i].Command == "" {
			want = AcceptanceUnproven
		}
		testkit.Need(t, e.Status == string(want) && (want != AcceptancePassed || e.Tree == tree) && e.ExitCode <= 0,
			"accepted on %q with %+v", tree, e)
	}
}

func given(n int) []Criterion {
	list := []Criterion{{Text: "t" + strconv.Itoa(n%4)},
		{Text: "t" + strconv.Itoa(n%5), Command: "c" + strconv.Itoa(n%3)}}
	if n%13 == 0 {
		return append(list, Criterion{Command: "\xff\x00"})
	}
	return list
}
