package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		testkit.Need(p.t, c.Again, "%q is run for a document", c.Params.Command)
		run = append(run, c.Params.Command)
		r := ok("ok")
		if failing[c.Params.Command] {
			r = bridge.CheckResult{Exit: 2, Output: "it is gone", Bytes: 10}
		}
		p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: r})
	}
	testkit.Need(p.t, len(run) != 0, "no check is run once more")
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

// TestBrokenCheckGoesBackToTheArbiter: before COMPLETE takes effect the checks of all documents are repeated. If one
// fails, the Arbiter has it fixed, or rules "complete" again. Then the run is complete, and the result lists the failed
// check.
func TestBrokenCheckGoesBackToTheArbiter(t *testing.T) {
	for _, mended := range []bool{true, false} {
		p := overwritten(t, nil)
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
		first, _ := p.checking()
		testkit.Same(t, "in whose name a check is repeated", "orch-1", first.Agent.ID)
		testkit.Same(t, "repeated", []string{"make parser", "make printer"}, p.repeat(map[string]bool{"make parser": true}))
		p.goesOn("complete over a check that fails")
		p.contains("what the Arbiter reads", p.lastSent("arbiter"), "COMPLETE did not take effect", "orch-1: `make parser`",
			"exit code 2", "use COMPLETE again", "make parser: exit code 2")
		p.lacks("its message lists criteria that are met", p.lastSent("arbiter"), "make printer")
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
		r := p.endsAs(contract.StatusComplete, contract.ExitComplete)
		testkit.Same(t, fmt.Sprintf("mended %v: checks", mended), want, *r.Checks)
		again := slices.DeleteFunc(told[contract.Check](p), func(c contract.Check) bool { return !c.Again })
		testkit.Same(t, "checks that are said to be repeated", 4, len(again))
		testkit.Check(t, mended == (len(r.Failing) == 0) && mended != strings.Contains(r.Summary, "orch-1: `make parser`"),
			"mended %v: failing %q, summary %q", mended, r.Failing, r.Summary)
		// The decision about it was based on an input that shows it.
		var in decider.EvaluateProgressInput
		if n := p.lastNote(); !mended {
			err := json.Unmarshal(n.Input, &in)
			testkit.Check(t, err == nil && len(in.FailedChecks) == 1 && in.FailedChecks[0].Command == "make parser",
				"the input of the last decision: %+v, %v", in.FailedChecks, err)
		}
	}
}

// TestTheRulesNeverCompleteOverAFailure of a check or a criterion: it is fixed, or after a few attempts a human is
// asked or the run fails.
func TestTheRulesNeverCompleteOverAFailure(t *testing.T) {
	for _, c := range []struct {
		name             string
		criterion, human bool
		mending          int // it holds from this COMPLETE on
	}{
		{"check mended", false, true, 2}, {"check never, with a human", false, true, 99},
		{"check never, alone", false, false, 99},
		{"criterion mended", true, true, 2}, {"criterion never, with a human", true, true, 99},
		{"criterion never, alone", true, false, 99},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) {
				o.Decider, o.HumanPresent = runconfig.DeciderRules, c.human
				if c.criterion {
					o.Accept = []string{"make it"}
				}
			})
			completed, mended := 0, 0
			for turns := 0; p.s.Ending == nil && p.s.Question.Open == nil && turns < 60; turns++ {
				if p.s.Rulings.DeciderRequest != nil {
					if d := p.decides(decider.Rules{}); d.Decision.Decision == "COMPLETE" {
						completed++
						switch {
						case !c.criterion:
							p.repeat(map[string]bool{"make it": completed < c.mending})
						case completed < c.mending:
							p.criteria(map[string]string{"make it": "it is broken"})
						default:
							p.criteria(map[string]string{"make it": ""})
						}
					}
					continue
				}
				id := p.working()
				v := leaving()
				switch said := p.lastSent(id); {
				case strings.Contains(said, "these fail"):
					mended++
					p.contains("the brief", said, "make it", map[bool]string{true: "it is broken", false: "exit code 2"}[c.criterion])
				case !c.criterion && p.agent(id).Mode == "developer":
					d := v["handoff"].(verdict.Document)
					d.Checks = []verdict.Check{{Command: "make it", Expect: "exit 0"}}
					v["handoff"] = d
				}
				p.verdict(id, v)
				p.pass()
			}
			if c.mending < 99 {
				r, _ := p.finished()
				testkit.Check(t, r.Status == contract.StatusComplete && mended == 1 &&
					(c.criterion || *r.Checks == (contract.Checks{Passed: 1})), "%+v, mended %d times", r, mended)
				return
			}
			sentBack := map[bool]int{false: maxSentBack, true: 2}[c.criterion]
			testkit.Same(t, "completed", sentBack+1, completed)
			testkit.Same(t, "mended", sentBack, mended)
			if !c.human {
				p.endsAs(contract.StatusFailed, contract.ExitFailed)
			} else if p.s.Question.Open == nil || !strings.Contains(p.s.Question.Text(), "make it") {
				t.Errorf("asked: %+v", p.s.Question.Open)
			}
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
	testkit.OK(t, json.Unmarshal(p.asked().Input, &in))
	testkit.Check(t, len(in.FailedChecks) == 1 && in.FailedChecks[0].Command == "make it" &&
		in.FailedChecks[0].Agent == "developer", "what it is shown: %+v", in.FailedChecks)
	p.answers(p.asked(), "COMPLETE", "")
	p.repeat(map[string]bool{"make it": true})
	testkit.Same(t, "failing", 1, len(p.endsAs(contract.StatusIncomplete, contract.ExitFailed).Failing))
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
		testkit.Check(t, p.s.Ending == nil, "%s: complete all the same", name)
		p.contains(name, last[contract.Notice](p).Text, "COMPLETE did not take effect: meanwhile")
	}
	// Nothing is to be repeated: it waits only for the snapshot of the last turn.
	p, one := oneWorks(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
	p.careful = true
	for _, next := range []func(){
		func() {
			p.recorded("a.go") // the COMPLETE goes back for its open points
			p.verdict("arbiter", ruling("CONTINUE", "Go on.", "to", one))
		},
		func() { p.say("Wait, there is more.") },
	} {
		p.turn(one, verdictTurn(report("done", "It is built.", true), bridge.Turn{Tools: 1}))
		p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
		next()
	}
	p.recorded("a.go")
	testkit.Check(t, p.s.Ending == nil, "complete although the human said more: %+v", p.s.Ending)
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
	r, _ := p.finished()
	testkit.Check(t, r.Status == contract.StatusComplete && *r.Checks == (contract.Checks{Passed: 2}), "%+v", r)
}

// TestUnrunCheckIsNotRepeated: it stays unproven, and so does a check that cannot be repeated.
func TestUnrunCheckIsNotRepeated(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, proven("done", "make test", "curl localhost"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	p.do(input.Checked{Serial: p.check().Serial, Number: 2, Failed: "not permitted"})
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	c, _ := p.checking()
	testkit.Same(t, "is repeated", "make test", c.Params.Command)
	p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Failed: "not permitted"})
	if r, _ := p.finished(); r.Status != contract.StatusComplete || *r.Checks != (contract.Checks{Unproven: 2}) {
		t.Errorf("%+v, %+v", r, r.Checks)
	}
}

// TestProofsAreBounded: proofs beyond the bound are still counted.
func TestProofsAreBounded(t *testing.T) {
	p, one := oneWorks(t, nil)
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
	r, _ := p.finished()
	testkit.Check(t, *r.Checks == (contract.Checks{Passed: 80}), "%+v", r.Checks)
}

// TestOpenPoints: each thing that speaks against the end of a task, alone.
func TestOpenPoints(t *testing.T) {
	settled := func() *State {
		s := &State{Options: runconfig.Options{Workspace: runconfig.Workspace{Root: "/w", Base: "b"}}}
		s.Task.History = s.Task.History.Add(decider.DecisionExecution{ID: "orch-1"})
		s.Task.Acceptance.Criteria = []Criterion{{Text: "tests", Command: "make test"}}
		s.Task.Plan = []contract.Step{{Text: "one", Status: contract.StepDone}, {Text: "two", Status: contract.StepSkipped}}
		s.Changes.Files = []input.ChangeFile{{Path: "src/a.go", Changed: 1}}
		s.Handoff.FilesListed = []string{"src"}
		s.Handoff.LastDocument = LastDocument{Agent: "orch-1", Serial: 1}
		return s
	}
	check := func(result string) Proved {
		p := Proved{Check: verdict.Check{Command: "make"}, Receipt: verdict.Receipt{Result: result, Why: "exit code 2"}}
		p.Author.ID = "orch-1"
		return p
	}
	for name, c := range map[string]struct {
		change func(*State)
		want   string
	}{
		"settled": {func(*State) {}, ""},
		"nobody": {func(s *State) { s.Task.History = decider.DecisionHistory{} },
			"no Orchestrator has worked on the task"},
		"at work": {func(s *State) {
			s.Task.History, s.Agents = decider.DecisionHistory{}, []*Agent{worker("orch-1", "")}
			s.Agents[0].Work = &Work{}
		}, ""},
		"nothing": {func(s *State) { s.Changes.Files, s.Handoff.FilesListed = nil, nil },
			"no file has changed since the run began"},
		"only its own": {func(s *State) { s.Changes.Files[0].Changed = 0 }, "no file has changed since the run began"},
		"in its own directory": {func(s *State) {
			s.Changes.Files = []input.ChangeFile{{Path: "src/a.go", Authors: []input.ChangeAuthor{{Agent: "orch-1", Known: 1}}}}
		}, "files were changed in agents' own directories and are not merged: src/a.go (orch-1)"},
		"no Git": {func(s *State) {
			s.Options.Workspace = runconfig.Workspace{}
			s.Changes.Files = nil
		}, ""},
		"no proof": {func(s *State) { s.Task.Acceptance.Criteria[0].Command = "" },
			"no check and no acceptance criterion with a command proves the work"},
		"none run": {func(s *State) {
			s.Task.Acceptance.Criteria, s.Handoff.Proofs = nil, []Proved{check(verdict.CheckUnrun)}
		}, "none of the checks was run"},
		"a check fails": {func(s *State) { s.Handoff.Proofs = []Proved{check(verdict.CheckFailed)} },
			"checks fail: orch-1: `make`: exit code 2"},
		"a check proves": {func(s *State) {
			s.Task.Acceptance.Criteria, s.Handoff.Proofs = nil, []Proved{check(verdict.CheckPassed)}
		}, ""},
		"not merged": {func(s *State) { s.Handoff.LastDocument.Unmerged = "it conflicts" },
			"the work of orch-1 is not merged: it conflicts"},
		"plan": {func(s *State) {
			s.Task.Plan = append(s.Task.Plan, contract.Step{Text: "three", Status: contract.StepActive},
				contract.Step{Text: "four", Status: contract.StepFailed})
		}, "steps of the plan are not done: 3. three (active); 4. four (failed)"},
		"left": {func(s *State) { s.Handoff.LastDocument.Left = []string{"the tests", "who pays?"} },
			"the last document, of orch-1, leaves open: the tests; who pays?"},
		"absent": {func(s *State) { s.Handoff.FilesListed = []string{"src/a.go", "src/b.go"} },
			"a document lists files that no snapshot shows as changed (unchanged, ignored by Git, or missing): src/b.go"},
		"unlisted": {func(s *State) {
			s.Changes.Files = append(s.Changes.Files, input.ChangeFile{Path: "srcs", Changed: 2})
		}, "files have changed that no document lists: srcs"},
		"too many files": {func(s *State) {
			s.Changes.Files = make([]input.ChangeFile, 4000)
			s.Handoff.FilesListed = nil
		}, ""},
		"many": {func(s *State) { s.Handoff.LastDocument.Left = strings.Split("a b c d e f g h i j", " ") },
			"the last document, of orch-1, leaves open: a; b; c; d; e; f; g; h; and 2 more"},
	} {
		s := settled()
		c.change(s)
		testkit.Same(t, name, c.want, strings.Join(s.openTexts(), "\n"))
	}
}

// TestOpenPointsGoBackOnce: a COMPLETE without any work goes back to the Arbiter once, and what it insists on is in
// the result; after more work it goes back for what is new.
func TestOpenPointsGoBackOnce(t *testing.T) {
	p := begin(t, nil)
	p.careful = true
	p.verdict("arbiter", ruling("COMPLETE", "I made all files and ran the tests.", "summary", "All is there."))
	p.contains("the notice", p.lastSent("arbiter"), "COMPLETE did not take effect yet", "no Orchestrator has worked")
	id := p.spawn("make the files")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(id, report("done", "made", true))
	p.complete()
	p.contains("the notice", p.lastSent("arbiter"), "leaves open: the second half", "no check")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "The second half is not wanted."))
	r := p.endsAs(contract.StatusComplete, contract.ExitComplete)
	testkit.Same(t, "open", 2, len(r.Open))
	p.contains("the summary", r.Summary, "The second half is not wanted. Open at the end: no check", "the second half.")
}

// scratchChecks is a run whose agents share a directory, and whose checks run on copies of it.
func scratchChecks(o *runconfig.Options) {
	isolated(o)
	o.Workspace.Isolation, o.ScratchChecks = "", true
}

// answersCheck answers the check that runs, which is one on the files before the task or not.
func (p *play) answersCheck(earlier bool, r bridge.CheckResult) {
	p.t.Helper()
	c, open := p.checking()
	testkit.Need(p.t, open, "no check runs")
	is := strings.Contains(c.Params.Command, "read-tree -u --reset base")
	testkit.Need(p.t, is == earlier && (!earlier || c.Permitted) && c.Params.Scratch,
		"on the files before the task: %t, want %t: %+v", is, earlier, c)
	p.do(input.Checked{Serial: c.Serial, Number: c.Number, Request: c.Request, Result: r})
}

// TestACheckRunsOnTheFilesBeforeTheWork: what passes is tried once on the files as they were, and its receipt says how
// that ended, wherever it is shown. It is tried once only.
func TestACheckRunsOnTheFilesBeforeTheWork(t *testing.T) {
	for name, c := range map[string]struct {
		now, then bridge.CheckResult
		want      string
	}{
		"it failed":                  {ok("ok"), bridge.CheckResult{Exit: 1}, verdict.FailedAtFirst},
		"it was true":                {ok("ok"), ok("ok"), verdict.AlreadyTrue},
		"its output was another":     {ok("ok"), ok("nothing"), verdict.FailedAtFirst},
		"the files are not restored": {ok("ok"), bridge.CheckResult{Exit: notAsBefore}, ""},
		"it takes too long then":     {ok("ok"), bridge.CheckResult{TimedOut: true}, ""},
		"it took too long": {bridge.CheckResult{Output: "ok", Bytes: 2, DurationMS: 31_000},
			bridge.CheckResult{}, ""},
		"it fails, and is not tried":   {bridge.CheckResult{Exit: 2}, bridge.CheckResult{}, ""},
		"the time of its checks ended": {ok("ok"), bridge.CheckResult{Exit: -2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := oneWorks(t, scratchChecks)
			p.works(one, []string{"parser.go"}, "make parser")
			p.answersCheck(false, c.now)
			testkit.Same(t, fmt.Sprintf("reported: %+v", told[contract.Check](p)),
				(name == "it took too long" || name == "it fails, and is not tried"), len(told[contract.Check](p)) > 0)
			switch {
			case c.then.Exit == -2:
				h := p.s.Handoff.Documents[0]
				p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, h.Serial)})
			case len(told[contract.Check](p)) == 0:
				p.answersCheck(true, c.then)
			}
			p.recorded("parser.go")
			testkit.Same(t, "the event says", c.want, last[contract.Check](p).Receipt.Before)
			h := last[contract.Handoff](p)
			testkit.Check(t, len(h.Receipts) == 1 && h.Receipts[0].Before == c.want, "the document has %+v", h.Receipts)
			got := p.lastSent("arbiter")
			testkit.Check(t, strings.Contains(got, c.want) == true, "the Arbiter reads %q", got)
			_, open := p.checking()
			testkit.Check(t, !open, "another check runs")
		})
	}
}

// TestNobodyLooksBack: without scratch copies, on another host, and of what asks Git.
func TestNobodyLooksBack(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*runconfig.Options)
		command string
	}{
		"no copies": {func(o *runconfig.Options) { scratchChecks(o); o.ScratchChecks = false }, "make"},
		"no Git":    {func(o *runconfig.Options) { o.ScratchChecks = true }, "make"},
		"asks Git":  {scratchChecks, "cd x && git log --oneline | grep parser"},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := oneWorks(t, c.change)
			p.works(one, nil, c.command)
			check, _ := p.checking()
			p.do(input.Checked{Serial: check.Serial, Number: 1, Request: check.Request, Result: ok("ok")})
			_, open := p.checking()
			testkit.Check(t, !open, "it runs on the files before the task")
		})
	}
}

// TestACompleteThatNothingProves goes back once; what the Arbiter insists on is in the result. One proof is enough.
func TestACompleteThatNothingProves(t *testing.T) {
	const open = "already true before the work"
	for name, c := range map[string]struct {
		check, criterion bridge.CheckResult // on the files before the task
		back             bool
	}{
		"both were true":            {ok("ok"), ok("ok"), true},
		"the check failed at first": {bridge.CheckResult{Exit: 1}, ok("ok"), false},
		"the criterion failed":      {ok("ok"), bridge.CheckResult{Exit: 1}, false},
		"one is not known":          {ok("ok"), bridge.CheckResult{TimedOut: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := oneWorks(t, func(o *runconfig.Options) { scratchChecks(o); o.Accept = []string{"make test"} })
			p.works(one, []string{"parser.go"}, "true")
			p.answersCheck(false, ok("ok"))
			p.answersCheck(true, c.check)
			p.recorded("parser.go")
			completes := func(first bool) {
				if first { // then the Arbiter of this test insists
					p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
				}
				p.answersCheck(false, ok("ok")) // once more
				p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "c", Tree: "tree"})
				p.answersCheck(false, ok("ok"))
				if first {
					p.answersCheck(true, c.criterion)
				}
			}
			completes(true)
			testkit.Same(t, fmt.Sprintf("sent back: %s", p.lastSent("arbiter")), c.back,
				strings.Contains(p.lastSent("arbiter"), open))
			if c.back {
				p.contains("what is open", p.lastSent("arbiter"), "`true`", "`make test`")
				completes(false)
			}
			p.do(input.Stopped{})
			p.recorded()
			r := last[contract.Result](p)
			testkit.Same(t, fmt.Sprintf("open at the end: %q", r.Open), c.back,
				slices.ContainsFunc(r.Open, func(text string) bool { return strings.Contains(text, open) }))
			want := map[bool]string{true: verdict.AlreadyTrue}[c.criterion.Exit == 0 && !c.criterion.TimedOut]
			if c.criterion.Exit == 1 {
				want = verdict.FailedAtFirst
			}
			testkit.Check(t, len(r.Acceptance) == 1 && r.Acceptance[0].Before == want, "the criterion: %+v",
				r.Acceptance)
		})
	}
}
