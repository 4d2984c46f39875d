package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// checkRuling checks an Arbiter's verdict against the state: who is alive, who works.
func (st *step) checkRuling(v verdict.Arbiter) error {
	problem, unknownMode := st.rulingProblem(v)
	if unknownMode {
		st.fire(machine.SelectionFailed, triggerData{mode: v.Mode})
	}
	if problem == "" {
		return nil
	}
	return &verdict.Problem{Text: problem + " Give your verdict again."}
}

// rule carries out a ruling of the Arbiter's session, or of the rules in its place.
func (st *step) rule(v verdict.Arbiter, source decider.Source, warnings ...string) {
	point := st.Rulings.Rule(&st.out, v, source, warnings...)
	st.carry(v, contract.Decision{Source: string(source), Point: string(point), Warnings: warnings})
}

// carry carries out a decision of any decider; d says who made it, and how.
func (st *step) carry(v verdict.Arbiter, d contract.Decision) {
	d.Decision, d.Mode, d.To, d.Reason, d.Number = v.Decision, v.Mode, v.To, v.Reason, st.Rulings.Decisions
	st.emit(contract.Arbiter, d)
	st.Rulings.Enter(st.at, v, d.Source)
	if v.Decision != verdict.Handoff {
		st.Renewal.Rulings++
	}
	st.triesAgain(v)
	st.asksAgain(v)
	if v.Decision != verdict.Complete {
		if st.fire(machine.Decision, triggerData{ruling: v}); st.Ending != nil {
			return
		}
	}
	from := contract.Arbiter
	if d.Source != string(decider.BySession) {
		from = contract.Supervisor
	}
	switch v.Decision {
	case verdict.Handoff:
		a, _ := st.Agent(contract.Arbiter)
		st.Renewal.GeneratedInRow = 0
		st.Renewal.Stage = RenewalGiven
		st.handOver(Handover{Agent: a.AgentRef, Kind: HandoffKindRenewal, Message: v.Message,
			Document: v.Handoff})
	case verdict.AddressHuman:
		if st.isReport(v) && (st.AnyWorks() || st.awaitsHuman()) {
			st.tellHuman(KindReport, v.Message)
			break
		}
		st.question(QuestionPart{Text: v.Message, Arbiter: true})
	case verdict.AddressOrchestrator, verdict.Retry:
		st.address(from, v.To, v.Message, v.Decision == verdict.Retry)
	case verdict.Continue:
		if v.To != "" {
			st.address(from, v.To, v.Message, false)
		}
	case verdict.SelectMode:
		st.Question.Recovery.Overcome(&st.Roster, st.Question.Recovery.Agent)
		if from == contract.Supervisor {
			st.releaseFinished()
		}
		problem := st.spawnOrchestrator(SpawningRequest{Brief: v.Message, Mode: v.Mode, By: from})
		if problem == "" || st.Ending != nil {
			break
		}
		if st.Rulings.FallbackReason != "" { // the Arbiter reads no correction, and the rules would say the same again
			st.undecided(problem)
			break
		}
		// Each refusal costs a turn of the Arbiter: it must not continue like that without an end.
		if st.exchange(); st.Ending == nil {
			st.notify(contract.Arbiter, KindCorrection, problem+" Decide again.")
		}
	case verdict.Complete:
		st.complete(v)
	}
}

// succession makes sure that a hand-off gets a successor: the Arbiter had its turn, and if it only waits, the
// supervisor spawns one.
func (st *step) succession(v verdict.Arbiter) {
	if st.Ending != nil || len(st.Handoff.SuccessorQueue) == 0 || v.Decision != verdict.Continue || v.To != "" ||
		st.AnyWorks() {
		return
	}
	if st.pendingFor(contract.Arbiter) || st.Handoff.IsDue() {
		return
	}
	st.notice(contract.Supervisor, "the Arbiter named no successor to "+st.Handoff.NextPredecessor()+"; the "+
		"supervisor summons one")
	next := SpawningRequest{
		Brief:       "Continue the work that is handed over to you below, where its author stopped.",
		SuccessorOf: st.Handoff.NextPredecessor(), By: contract.Supervisor,
	}
	if problem := st.spawnOrchestrator(next); problem != "" && st.Ending == nil {
		st.ask("No successor could be summoned: " + problem)
	}
}

// address sends a message of the Arbiter to an Orchestrator, which works from then on.
func (st *step) address(from, to, text string, retry bool) {
	if a, _ := st.Agent(to); retry && a.Watch.Hung {
		st.relaunch(to, runconfig.RestartHung, "the Arbiter had it started again")
	}
	st.Question.Recovery.Overcome(&st.Roster, to)
	a := st.Edit(to)
	kind := KindInstruction
	switch {
	case retry && from != contract.Supervisor: // whose `retry` is about a process that ended
		kind = KindRetry
	case a.Standing == AgentWaiting:
		kind = KindAnswer
	}
	st.goesOn(a)
	st.exchange()
	st.post(Mail{From: from, To: to, Kind: kind, Text: text})
}

// goesOn records that an Orchestrator was given something to do: if it has handed off before, no other continues its
// work, and a release that waits for the end of its takeover is called off.
func (st *step) goesOn(a *Agent) {
	a.Standing = AgentWorking
	st.Handoff.LeaveSuccessorQueue(a.ID)
	if a.Takeover != nil {
		a.editTakeover().Release = ""
	}
	st.Task.BeginWork(a, st.at)
}

// routeOrchestrator handles an Orchestrator's verdict.
func (st *step) routeOrchestrator(a *Agent, v verdict.Orchestrator) {
	a.Standing = AgentWaiting
	if v.Kind != verdict.KindHandoff { // a message that came with its hand-off made it go on
		st.Handoff.LeaveSuccessorQueue(a.ID)
	}
	if st.Task.Phase == machine.Idle || st.Task.Phase == machine.Selecting || st.Task.Phase == machine.Evaluating {
		st.executing() // it had been done, and was asked for its status
	}
	old, ok := st.Agent(a.Predecessor) // it could be asked until now
	if v.Kind != verdict.KindQuestion && ok && old.Alive() && old.Standing == HandedOff {
		st.release(old.ID, "succeeded by "+a.ID, false)
	}
	if st.askForHandOff(a, v) {
		return
	}
	if v.Kind != verdict.KindQuestion && v.Kind != verdict.KindIntroduction {
		a.UnansweredQuestions = 0
	}
	stalled := ""
	if IsDocument(v.Kind) {
		if st.handsOver(a); st.Ending != nil {
			return
		}
	} else {
		stalled = st.stalls(a)
	}
	if !v.ExpectsResponse {
		if stalled == "" {
			st.log(a.ID, v.Kind, v.Message)
		}
		a.Standing = AgentWorking
		if st.exchange(); st.pendingFor(a.ID) || st.Ending != nil {
			return
		}
		if stalled == "" {
			st.letGoOn(a)
			return
		}
		a.Standing = AgentWaiting
		st.post(Mail{From: a.ID, To: contract.Arbiter, Kind: v.Kind, Text: v.Message, Attached: partOf("rhythm", stalled)})
		return
	}
	a.Standing = AgentWaiting
	stumble := false
	switch v.Kind {
	case verdict.KindDone, verdict.KindHandoff:
		if a.Standing = AgentFinished; v.Kind == verdict.KindHandoff {
			a.Standing = HandedOff
		}
		st.fire(machine.AgentComplete, triggerData{agent: a.ID, output: v.Message})
	case verdict.KindQuestion:
		stumble = st.stumbled(a, v.Message)
	}
	if st.pendingFor(a.ID) {
		a.Standing = AgentWorking // it got another message meanwhile, and reads that first
	}
	if IsDocument(v.Kind) {
		st.handOver(Handover{Agent: a.AgentRef, Kind: HandoffKind(v.Kind), Message: v.Message, Document: v.Handoff})
		return
	}
	st.exchange()
	st.post(Mail{From: a.ID, To: contract.Arbiter, Kind: v.Kind, Text: v.Message, Stumble: stumble,
		Attached: partOf("rhythm", stalled)})
}
