package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// inspect answers the running surveys.
func (p *play) inspect(r bridge.InspectResult) {
	p.t.Helper()
	n := 0
	for _, h := range p.s.Handoff.Documents {
		if h.Document == nil {
			p.do(input.Inspected{Serial: h.Serial, Result: r})
			n++
		}
	}
	testkit.Need(p.t, n != 0, "no survey is under way")
}

// check is the check that was requested last.
func (p *play) check() input.RunCheck {
	p.t.Helper()
	return lastEffect[input.RunCheck](p)
}

// proven is a report with a document that has checks.
func proven(kind string, checks ...string) map[string]any {
	v := report(kind, "see the document", true)
	d := v["handoff"].(verdict.Document)
	for _, c := range checks {
		d.Checks = append(d.Checks, verdict.Check{Command: c, Expect: "`ok`"})
		d.Claims = append(d.Claims, verdict.Claim{Claim: "proved by " + c, Verified: true, Check: len(d.Checks)})
	}
	d.Claims = append(d.Claims, verdict.Claim{Claim: "it is beautiful", Verified: true})
	v["handoff"] = d
	return v
}

func ok(output string) bridge.CheckResult {
	return bridge.CheckResult{Output: output, Bytes: int64(len(output)), SHA256: strings.Repeat("ab", 32)}
}

// TestTheSupervisorRunsTheChecks: they run one after the other, and the Arbiter gets the document only when all
// of them have ended.
func TestTheSupervisorRunsTheChecks(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, proven("done", "make test", "make lint", "curl localhost"))
	m := lastMail(p, "arbiter")
	testkit.Need(t, !strings.Contains(m, "see the document"), "told before the checks: %s", m)
	testkit.Same(t, "phase", machine.Evaluating, p.s.Task.Phase)
	c := p.check()
	testkit.Check(t, c.Number == 1 && c.Params.Command == "make test" && c.Params.CWD == p.s.Options.CWD &&
		c.Params.TimeoutMS == 120_000 && c.Agent.ID == one, "first check %+v", c)
	p.do(input.Checked{Serial: c.Serial, Number: 2, Result: ok("no such check was asked for")})
	p.do(input.Checked{Serial: c.Serial, Number: 1, Result: ok("all ok")})
	p.do(input.Checked{Serial: c.Serial, Number: 1, Result: ok("said twice")})
	p.do(input.Checked{Serial: c.Serial, Number: 2, Result: ok("a warning")})
	testkit.Same(t, "checks were asked for", 3, len(effects[input.RunCheck](p)))
	p.do(input.Checked{Serial: c.Serial, Number: 3, Failed: "not permitted"})
	h := last[contract.Handoff](p)
	results := testkit.Each(h.Receipts, func(r verdict.Receipt) string { return r.Result })
	testkit.Same(t, "", []string{verdict.CheckPassed, verdict.CheckFailed, verdict.CheckUnrun}, results)
	proofs := []string{verdict.Verified, verdict.Refuted, verdict.Unverified, verdict.Unverified}
	testkit.Same(t, "proofs", proofs, h.Proofs)
	testkit.Same(t, "check events", 3, len(told[contract.Check](p)))
	p.contains("the Arbiter's message", p.lastSent("arbiter"), "1 passed, 1 failed, 1 unrun or unclear",
		"make test — expect: `ok` — PASSED", "make lint — expect: `ok` — FAILED", "UNRUN; not permitted",
		"proved by make test — VERIFIED", "proved by make lint — REFUTED",
		"it is beautiful — UNVERIFIED (said to be verified)")
	testkit.Same(t, fmt.Sprintf("still under way: %+v", p.s.Handoff.Documents), 0, len(p.s.Handoff.Documents))
}

// TestNothingIsRuledOverARunningCheck: COMPLETE has to wait, CONTINUE need not.
func TestNothingIsRuledOverARunningCheck(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict(one, proven("done", "make test"))
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "done"))
	p.contains("the correction", p.lastSent("arbiter"), "still checks a document")
	p.verdict("arbiter", ruling("CONTINUE", "I wait."))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")})
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "done"))
	p.repeat(nil)
	p.endsAs(contract.StatusComplete, contract.ExitComplete)
}

func TestChecksAreBounded(t *testing.T) {
	many := make([]string, 14)
	for i := range many {
		many[i] = "true " + fmt.Sprintf("orch-%d", i)
	}
	t.Run("in number", func(t *testing.T) {
		p, one := oneWorks(t, nil)
		p.verdict(one, proven("handoff", many...))
		for range MaxChecks {
			c := p.check()
			p.do(input.Checked{Serial: c.Serial, Number: c.Number, Result: ok("ok")})
		}
		p.contains("the Arbiter's message", p.lastSent("arbiter"), "10 passed, 0 failed, 4 unrun or unclear")
	})
	t.Run("in time", func(t *testing.T) {
		p, one := oneWorks(t, nil)
		p.verdict(one, proven("handoff", "sleep 9", "true"))
		c := p.check()
		p.do(asked2(c))
		testkit.Same(t, "the check was not asked for", 1, len(p.s.Permission.Open))
		p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, c.Serial)})
		testkit.Same(t, "its permission is still asked", 0, len(p.s.Permission.Open))
		p.contains("the Arbiter's message", p.lastSent("arbiter"), "UNRUN; out of time",
			"0 passed, 0 failed, 2 unrun or unclear")
		p.do(input.Checked{Serial: c.Serial, Number: 1, Result: ok("ok, but late")})
	})
	t.Run("switched off", func(t *testing.T) {
		p, one := oneWorks(t, func(o *runconfig.Options) { o.CheckTimeout = -1 })
		p.verdict(one, proven("handoff", "true"))
		testkit.Same(t, "checks", 0, len(effects[input.RunCheck](p)))
		p.contains("the Arbiter's message", p.lastSent("arbiter"), "0 passed, 0 failed, 1 unrun or unclear")
	})
}

func asked2(c input.RunCheck) input.Body {
	return input.PermissionAsked{Behavior: "ask", Params: bridge.PermissionParams{
		AgentRef: c.Agent, Request: c.Request, Tool: "Bash", Input: []byte(`{"command":"x"}`)}}
}

// TestChecksOverAResume: a finished check keeps its result, an unfinished one is requested again.
func TestChecksOverAResume(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, proven("handoff", "first", "second"))
	c := p.check()
	p.do(input.Checked{Serial: c.Serial, Number: 1, Result: ok("ok")})
	before := len(effects[input.RunCheck](p))
	p.do(input.Resumed{Options: p.s.Options})
	again := effects[input.RunCheck](p)[before:]
	testkit.Need(t, len(again) == 1 && again[0].Number == 2 && again[0].Serial == c.Serial, "after the resume %+v",
		again)
	p.back(bridge.DeliveryAbsent)
	p.do(input.Checked{Serial: c.Serial, Number: 2, Result: ok("ok")})
	p.contains("the Arbiter's message", p.lastSent("arbiter"), "2 passed, 0 failed, 0 unrun or unclear")
	two := p.spawn("go on")
	p.contains("the brief", p.lastSent(two), "the second half", "proved by first — VERIFIED",
		"Begin when the Arbiter has answered")
	h := last[contract.Handoff](p)
	testkit.Check(t, h.To == two && len(h.Receipts) == 2, "handoff %+v", h)
}

var traces = bridge.InspectResult{
	Texts: []string{"I look.", "I nearly have it."}, Files: []string{"/w/a.go"},
	Commands: []bridge.RanCommand{{Command: "go test ./...", Outcome: "failed"},
		{Command: "git commit", Outcome: "unknown", Subagent: true}},
	Git: &bridge.GitState{Branch: "main", Head: "0123456789abcdef", Commits: []string{"0123456 half"},
		Status: []string{" M a.go"}, Stat: " a.go | 2 +-"},
}

// TestRecords: an agent that cannot write its hand-off gets a generated one, which is marked.
func TestRecords(t *testing.T) {
	common := []string{"could not hand off", "Nobody has confirmed it", "build the bridge", "I nearly have it.",
		"go test ./... (failed)", "git commit (unknown, by a subagent)",
		"branch main at 0123456789ab", "0123456 half", " M a.go", "/w/a.go", "it reported: half of it stands — UNVERIFIED"}
	for _, c := range []struct {
		name   string
		end    func(p *play, id string)
		reader func(p *play) string
		passes bool // with its own text to the next Orchestrator
		want   []string
	}{
		{"killed by the human", func(p *play, id string) { p.command(contract.Kill{ID: id}) },
			func(p *play) string { return lastMail(p, "arbiter") }, false,
			[]string{"was ended by the human", "successor_of orch-1 passes this record to"}},
		{"its process cannot be revived", func(p *play, id string) { p.crash(id, 6) },
			func(p *play) string { return lastMail(p, "arbiter") }, true,
			[]string{"is gone", "The next Orchestrator that you summon receives this record"}},
		{"its context is exhausted", func(p *play, id string) {
			p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatPromptTooLong, Error: "Prompt is too long"})
		}, func(p *play) string { return lastMail(p, "arbiter") }, true, []string{"its context is exhausted"}},
		{"its context refills", func(p *play, id string) {
			p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatCompaction, Error: "rapid refill"})
		}, func(p *play) string { return lastMail(p, "arbiter") }, true, []string{"fills as fast as it is compacted"}},
		{"released", func(p *play, id string) {
			a := p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"it goes astray"}`)
			p.contains("the tool's answer", a.Text, "follows in the work log")
		}, func(p *play) string { return p.s.Conversation.WorkLog[len(p.s.Conversation.WorkLog)-1].Text }, false,
			[]string{"it was released: it goes astray", "successor_of orch-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, nil)
			one := p.spawn("build the bridge")
			p.verdict(one, report("progress", "half of it stands", false))
			p.happen(one, bridge.Delivered{MessageID: p.agent(one).Turn[0]})
			c.end(p, one)
			s := effects[input.Inspect](p)
			testkit.Need(t, len(s) == 1 && s[0].Params.SessionID == p.agent(one).SessionID, "surveys: %+v", s)
			p.inspect(traces)
			p.contains("the record", c.reader(p), append(common, c.want...)...)
			testkit.Same(t, "passed on unasked", c.passes, p.s.Handoff.NextPredecessor() == one)
			input := `{"prompt":"go on"}`
			if !c.passes {
				input = `{"prompt":"go on","successor_of":"orch-1"}`
			}
			p.call("arbiter", "spawn_orchestrator", input)
			h := last[contract.Handoff](p)
			testkit.Check(t, h.From == one && h.To == "orch-2" && h.GeneratedBecause != "", "handoff %+v", h)
			p.contains("the brief", lastMail(p, "orch-2"), "Its author could not hand off", "written by the supervisor",
				"I nearly have it.")
		})
	}
}

// TestNothingWasBegun: an agent that has not read its brief leaves no document.
func TestNothingWasBegun(t *testing.T) {
	p := begin(t, nil)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"x"}`)
	p.command(contract.Kill{ID: "orch-1"})
	testkit.Same(t, "surveyed for nothing", 0, len(effects[input.Inspect](p)))
	p.contains("the Arbiter", lastMail(p, "arbiter"), "was ended by the human")
}

// TestInspectionTimesOut: the record contains what is known.
func TestInspectionTimesOut(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build the bridge")
	p.happen(one, bridge.Delivered{MessageID: p.agent(one).Turn[0]})
	p.command(contract.Kill{ID: one})
	p.bridgeReturns()
	s := effects[input.Inspect](p)
	testkit.Need(t, len(s) == 2, "%d surveys over a lost bridge", len(s))
	p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, s[0].Serial)})
	p.contains("the record", lastMail(p, "arbiter"), "build the bridge", "Not seen: nothing was found out in time")
}

// TestExhaustedOneBeginsAnew: a human's retry gives it another session.
func TestExhaustedOneBeginsAnew(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build the bridge")
	session := p.agent(one).SessionID
	p.turn(one, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatCompaction, Error: "rapid refill"})
	testkit.Same(t, "p.agent(one).Status", AgentParked, p.agent(one).Status)
	p.happen(one, bridge.Done{SessionID: session, Exit: bridge.Exit{Expected: true}})
	testkit.Like(t, "done", contract.Done{Reason: string(bridge.CatCompaction)}, last[contract.Done](p))
	p.inspect(traces)
	p.command(contract.RetryLast{})
	a := p.agent(one)
	testkit.Check(t, a.Status == AgentStarting && a.SessionID != session && a.Context.Tokens == 0,
		"it comes back as %+v", a)
}

// TestAskingOneThatIsComingBack: a question to a predecessor whose process is being restarted waits for it.
func TestAskingOneThatIsComingBack(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, report("handoff", "here", true))
	two := p.spawn("go on")
	p.happen(one, bridge.Done{Exit: bridge.Exit{Code: 1}})
	ask := func() []input.Effect {
		return p.do(input.ToolCalled{Call: "c9", Params: bridge.ToolCallParams{AgentRef: p.agent(two).AgentRef,
			Tool: "ask_predecessor", Input: []byte(`{"question":"why?"}`)}})
	}
	ask()
	p.restartDue(one)
	testkit.Same(t, "asked before it is there", 0, len(effects[input.AskAgent](p)))
	p.do(input.Spawned{Agent: p.agent(one).AgentRef, Result: bridge.SpawnResult{Resumed: true}})
	q := effects[input.AskAgent](p)
	testkit.Need(t, len(q) == 1 && q[0].Call == "c9" && q[0].Agent == p.agent(one).AgentRef, "asked %+v", q)
	p.happen(one, bridge.Done{Exit: bridge.Exit{Code: 1}})
	ask()
	p.rebirth(two, bridge.DeliveryBegun)
	p.restartDue(one)
	p.do(input.Spawned{Agent: p.agent(one).AgentRef, Result: bridge.SpawnResult{Resumed: true}})
	testkit.Same(t, "asked, with the call of a process that has ended", 1, len(effects[input.AskAgent](p)))
	p.happen(one, bridge.Done{Exit: bridge.Exit{Code: 1}})
	ask()
	p.command(contract.Kill{ID: one})
	for _, a := range effects[input.AnswerTool](p) {
		if a.Call == "c9" && a.IsError && strings.Contains(a.Text, "is gone") {
			return
		}
	}
	t.Error("the question waits for one that is gone")
}

// TestCompletingOverFailedChecks: the Arbiter is notified once, and the result reports it.
func TestCompletingOverFailedChecks(t *testing.T) {
	p := begin(t, nil)
	p.careful = true
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make test", "make lint"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: bridge.CheckResult{Exit: 2}})
	p.do(input.Checked{Serial: p.check().Serial, Number: 2, Result: ok("ok")})
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "done"))
	p.contains("the notice", p.lastSent("arbiter"), "checks fail: orch-1: `make test`", "leaves open: the second half")
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "done; the first check is wrong"))
	p.repeat(map[string]bool{"make test": true})
	r, exit := p.finished()
	testkit.Check(t, r.Checks != nil && *r.Checks == (contract.Checks{Passed: 1, Failed: 1}), "result %+v", r.Checks)
	testkit.Check(t, r.Status == contract.StatusIncomplete && exit == contract.ExitFailed && len(r.Open) == 2,
		"result %+v, exit %d", r, exit)
}

// TestGenerateLeavesTheDocumentAlone: an author's own earlier document goes into the record, and is not
// changed.
func TestGenerateLeavesTheDocumentAlone(t *testing.T) {
	own := &verdict.Document{Accomplished: append(make([]string, 0, 8), "one"),
		Files: append(make([]string, 0, 8), "a.go")}
	plan := []contract.Step{{Text: "two", Status: contract.StepDone, Agent: "orch-1"}}
	a := Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}},
		AgentHandoff: AgentHandoff{Document: own}}
	s := State{Task: TaskState{Plan: plan}}
	d := s.generateHandoff(&a, "it was killed", bridge.InspectResult{Files: []string{"b.go"}})
	testkit.Need(t, len(d.Accomplished) == 2 && len(d.Files) == 2, "record %+v", d)
	testkit.Same(t, "was written behind the author's lists", "", own.Accomplished[:2][1]+own.Files[:2][1])
}

func by(id string) bridge.AgentRef { return bridge.AgentRef{ID: id, Generation: 1} }

// TestProofsThatBreak: a check that held and fails when it is repeated is reported as new once.
func TestProofsThatBreak(t *testing.T) {
	d := &verdict.Document{Checks: []verdict.Check{{Command: "make test"}, {Command: "make lint"},
		{Command: "make secret"}}}
	passed, failed := verdict.Receipt{Result: verdict.CheckPassed}, verdict.Receipt{Result: verdict.CheckFailed}
	var s HandoffState
	s.Prove(Handover{Agent: by("orch-1"), Document: d,
		Receipts: []verdict.Receipt{passed, failed, {Result: verdict.CheckUnrun}}}, "developer", []string{"a.go"})
	checks, authors := s.ToRepeat()
	testkit.Need(t, len(checks) == 2 && len(authors) == 2, "to be repeated: %+v", checks)
	testkit.Check(t, !s.ReportBroken(), "what never held did not break")
	repeated := &verdict.Document{Checks: checks}
	s.Repeated(Handover{Document: repeated, Receipts: []verdict.Receipt{failed, failed}},
		func(p Proved) string { return p.Files[0] + " was changed by orch-2" })
	testkit.Check(t, s.ReportBroken() && !s.ReportBroken(), "it is news once")
	failing := s.proofsThat(func(p *Proved) bool { return p.Receipt.Result == verdict.CheckFailed })
	if broken := s.proofsThat((*Proved).Broken); len(broken) != 1 || len(failing) != 2 || len(s.FailedChecks()) != 1 {
		t.Errorf("broken %v, failing %v", broken, failing)
	}
	testkit.Check(t, strings.HasSuffix(s.proofsThat((*Proved).Broken)[0], "; a.go was changed by orch-2") &&
		s.FailedChecks()[0].Why == "; a.go was changed by orch-2", "nothing is said of the last change: %q, %+v",
		s.proofsThat((*Proved).Broken), s.FailedChecks())
	sum := s.ChecksRun()
	testkit.Check(t, *sum == (contract.Checks{Failed: 2, Unproven: 1}), "%+v", sum)
	s.ForgetProofs()
	testkit.Check(t, s.ChecksRun() == nil, "another task begins with nothing proved")
}

// TestScratch: each check runs on a copy if copies hold on this machine, but not on another host, whose copies were not
// tried.
func TestScratch(t *testing.T) {
	for _, run := range []struct {
		o    runconfig.Options
		host string
		want bool
	}{{runconfig.Options{}, "", false}, {runconfig.Options{ScratchChecks: true}, "", true},
		{runconfig.Options{ScratchChecks: true}, "far", false}} {
		run.o.CheckTimeout = time.Minute
		for _, kind := range []HandoffKind{KindHandoff, KindDone, KindRepeated, KindAccept} {
			st := readyRun(run.o)
			a := addOrchestrator(st)
			st.Edit(a.ID).Host = run.host
			h := Handover{Agent: a.AgentRef, Kind: kind,
				Document: &verdict.Document{Checks: []verdict.Check{{Command: "true"}}}}
			here := h.Completes()
			st.handOver(h)
			asked := did[input.RunCheck](st)
			testkit.Check(t, len(asked) == 1 && asked[0].Params.Scratch == (run.want || here && run.o.ScratchChecks),
				"%v, %v on %q: %+v", run.o.ScratchChecks, kind, run.host, asked)
		}
	}
}

// TestASuccessorsHistoryIsLost: what its predecessor left was in the lost session, and is sent again.
func TestASuccessorsHistoryIsLost(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.full("arbiter", 90)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("question", "Which port?", true))
	p.renewNow("the human hates yellow")
	p.contains("its first message", p.lastSent("arbiter"), "kind: inheritance", "the human hates yellow")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))

	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: 1}})
	p.restartDue("arbiter")
	p.do(input.Spawned{Agent: p.agent("arbiter").AgentRef, Result: bridge.SpawnResult{Window: 200_000, Resumed: false}})
	p.contains("the record", p.lastSent("arbiter"), "history is lost", "the human hates yellow",
		"## The ledger of decisions", "HANDOFF: because", "Which port?")
}

// TestDocumentsKeepTheirOrder: of two documents of the same author, the Arbiter gets the first one first,
// however long its checks take.
func TestDocumentsKeepTheirOrder(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, lasting("handoff", "the first", "make"))
	slow := p.check()
	p.say("More of it.", contract.Note, one)
	p.verdict(one, lasting("done", "the second", "ls"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Request: p.check().Request, Result: ok("ok")})
	testkit.Check(t, p.s.Handoff.IsDue() && len(told[contract.Handoff](p)) == 0, "the second overtook the first")
	p.do(input.Checked{Serial: slow.Serial, Number: 1, Request: slow.Request, Result: ok("ok")})
	var heard []string
	for _, m := range told[contract.Message](p) {
		if m.From == one {
			heard = append(heard, m.Kind)
		}
	}
	testkit.Check(t, slices.Equal(heard, []string{"handoff", "done"}) && !p.s.Handoff.IsDue(),
		"heard %v, documents under way: %v", heard, p.s.Handoff.Documents)
	testkit.Same(t, "its document is the one", "the second", p.agent(one).Document.KeyContext)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`)
	p.spawned("orch-2")
	p.contains("the successor", p.lastSent("orch-2"), "the second")
}

// TestAnAuthorThatGoesOnHasNoSuccessor: an Orchestrator that hands off, and goes on with its work all the same, is no
// predecessor of the next one that is summoned.
func TestAnAuthorThatGoesOnHasNoSuccessor(t *testing.T) {
	checked := func(p *play) { p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: ok("ok")}) }
	addressed := func(p *play, one string) {
		p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Mind the step.", "to", one))
	}
	for name, goOn := range map[string]func(p *play, one string){
		"the Arbiter instructs it while its checks run": func(p *play, one string) {
			p.verdict(one, proven("handoff", "make"))
			p.say("Hurry.")
			addressed(p, one)
			checked(p)
		},
		"the Arbiter instructs it": func(p *play, one string) {
			p.verdict(one, proven("handoff", "make"))
			checked(p)
			addressed(p, one)
		},
		"the human does": func(p *play, one string) {
			p.verdict(one, proven("handoff", "make"))
			p.say("Mind the step.", contract.Note, one)
			checked(p)
		},
		"the human has it try again": func(p *play, one string) {
			p.verdict(one, proven("handoff", "make"))
			p.mustCommand(contract.RetryLast{})
			checked(p)
		},
		"a message that came before its hand-off": func(p *play, one string) {
			p.say("Mind the step.", contract.Note, one)
			p.verdict(one, proven("handoff", "make"))
			checked(p)
			p.verdict(one, report("done", "I have minded it.", true))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := oneWorks(t, nil)
			goOn(p, one)
			testkit.Empty(t, "wait for a successor", p.s.Handoff.SuccessorQueue)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"something else"}`)
			testkit.Same(t, "the predecessor of the next one", "", p.agent("orch-2").Predecessor)
		})
	}
}

// TestOneSuccessorForOne: an Orchestrator that hands off while a message waits for it reads that first, and hands off
// again. The document is for the Arbiter and for the successor that was spawned meanwhile: it gets no other.
func TestOneSuccessorForOne(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.say("Mind the step.", contract.Note, one)
	p.verdict(one, report("handoff", "The half is there.", true))
	next := p.spawn("take it up")
	testkit.Same(t, "its predecessor", one, p.agent(next).Predecessor)
	p.verdict(one, report("handoff", "I have minded it.", true))
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.contains("the Arbiter", p.lastSent("arbiter"), "I have minded it.")
	testkit.Empty(t, "waits for another successor", p.s.Handoff.SuccessorQueue)
}

// TestADocumentThatNobodyHasRead: if a successor ends before it begins, the next Orchestrator continues the work.
func TestADocumentThatNobodyHasRead(t *testing.T) {
	for name, ends := range map[string]func(p *play, next string){
		"it does not start": func(p *play, next string) {
			p.notSpawned(next, bridge.CatWorkspace, "no space")
		},
		"a human kills it": func(p *play, next string) {
			p.spawned(next)
			p.mustCommand(contract.Kill{ID: next})
			p.happen(next, bridge.Done{Exit: bridge.Exit{Expected: true}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, one := oneWorks(t, nil)
			p.verdict(one, report("handoff", "The half is there.", true))
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"take it up"}`)
			testkit.Same(t, "its predecessor", one, p.agent("orch-2").Predecessor)
			ends(p, "orch-2")
			a := p.agent("orch-2")
			testkit.Check(t, !a.Alive(), "it is %s", a.Status)
			next := p.spawn("take it up")
			testkit.Same(t, "the predecessor of the next one", one, p.agent(next).Predecessor)
			p.contains("its brief", p.lastSent(next), "the second half")
		})
	}
}
