package supervisor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// runDueDecisions has each due point of decision decided, unless the Arbiter decides it in its own turn.
func (st *step) runDueDecisions() {
	if st.Rulings.FallbackReason == "" && !st.asksOther() {
		return
	}
	// The rules decide at once, and may then be asked again: each decision spawns, addresses or ends. The
	// bound only guards against a bug.
	for range 8 {
		if st.Ending != nil || st.Paused || st.budgetHolds() || st.Conversation.Held || st.Rulings.DeciderRequest != nil {
			return
		}
		why := st.Rulings.FallbackReason
		if why != "" && st.answerInFallback() {
			continue
		}
		point, about, due := st.dueDecision()
		switch {
		case !due || why == "" && !st.Lifecycle.IsUp(LifecycleHere):
			return // without a bridge, no model answers
		case point == decider.PointEvaluate && st.handedOffUnfinished(about):
			st.takenUp(about, why)
		case why != "":
			st.byRules(point, about, why)
		default:
			st.askDecider(point, about)
			return
		}
	}
}

// askDecider asks the run's decider. Notices for the Arbiter about this point go to its work log, where it
// reads them with the decision: only one of the two may rule on it.
func (st *step) askDecider(point decider.DecisionPoint, about string) {
	if point == decider.PointSelect {
		st.moveToWorkLog(func(m *Mail) bool {
			return m.To == contract.Arbiter && m.From == contract.Supervisor && m.Kind == KindNotice &&
				!m.Sent
		})
	}
	st.Rulings.Ask(&st.out, st.rulingRequest(point, about))
}

// answered records a decision: what a model's answer has cost, whether it was used or not; or that a decision
// made here is on disk. A decision that is used reports its cost itself.
func (st *step) answered(f input.Decided, used bool) {
	if f.Serial == 0 {
		st.Rulings.Noted(f.Number)
		return
	}
	u := f.Decision.Usage
	usage := bridge.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreation: u.CacheCreation}
	st.Budget.Charge(usage, u.CostUSD)
	if u.CostUSD > 0 && !used {
		st.emit(contract.Supervisor, contract.Cost{CostUSD: u.CostUSD, Usage: usage, RunCostUSD: st.Spent()})
	}
}

// decided takes the answer of the run's decider. An answer that is only recorded, or that a ruling has
// overtaken, decides nothing.
func (st *step) decided(f input.Decided) {
	p, why := st.Rulings.DeciderRequest, ""
	expected := p != nil && f.Serial == p.Serial
	switch unfit := Unfit(&st.Options, f.Decision); {
	case f.Failed != "":
		why = "the decider failed: " + f.Failed
	case unfit != "":
		why = "the decider gave no decision that can be acted on: " + unfit
	}
	st.answered(f, expected && !f.Deferred && why == "")
	st.reportSharedLevels()
	if !expected {
		return
	}
	st.Rulings.DeciderRequest = nil
	if f.Deferred {
		st.yield()
		return
	}
	if why != "" || f.Decision.Source == decider.ByFallback {
		st.fire(machine.ArbiterError, triggerData{})
	}
	if why != "" {
		st.byRules(p.Point, p.About, why)
		return
	}
	st.carryOut(p, f.Decision)
}

// fallback decides by rule when an agent gives no valid verdict. It never guesses what the agent
// meant: it lets the dialogue continue, and says that it does.
func (st *step) fallback(a *Agent, cause error, t bridge.Turn) {
	tries := a.Corrections
	a.Corrections = 0
	a.Fallbacks++
	said := strings.TrimSpace(t.Text)
	if said == "" {
		said = textOf(t)
	}
	trouble := fmt.Sprintf("%s gave no valid verdict %d times (%v)", a.Name, tries, cause)
	switch {
	case a.Role == RoleArbiter && st.Renewal.Stage == RenewalAsked:
		a.Fallbacks = 0
		st.notice(a.ID, trouble+"; a successor replaces it, with the supervisor's record")
		st.renewByRecord("it gave no valid document when it was asked for one")
		return
	case a.Fallbacks > maxFallbacks && a.Role == RoleArbiter:
		st.stopForLostArbiter(trouble, said)
		return
	case a.Fallbacks > maxFallbacks:
		a.Fallbacks = 0
		st.broken(a, bridge.CatVerdict, trouble)
		return
	}
	if a.Role == RoleOrchestrator {
		trouble += "; its last words go to the Arbiter as a question"
	} else {
		trouble += "; the rules decide"
	}
	st.fail(a.ID, bridge.CatVerdict, trouble, []string{})
	if a.Role == RoleOrchestrator {
		st.routeOrchestrator(a, verdict.Orchestrator{
			ExpectsResponse: true, Kind: verdict.KindQuestion,
			Message: "(It gave no valid verdict. Its last text was:)\n\n" + cmp.Or(said, noText),
		})
		return
	}
	st.fallbackArbiter(said)
}

// textOf returns the text of a verdict that cannot be acted on.
func textOf(t bridge.Turn) string {
	var v struct{ Message string }
	if json.Unmarshal(t.Verdict, &v) == nil && strings.TrimSpace(v.Message) != "" {
		return strings.TrimSpace(v.Message)
	}
	return strings.TrimSpace(string(t.Verdict))
}

// fallbackArbiter decides in the Arbiter's place. An agent that waits for a ruling continues by its own
// judgement, unless it needs an answer that the human can still give; a hand-off gets its successor; agents
// that work are waited for; else the human decides.
func (st *step) fallbackArbiter(said string) {
	const reason = "the Arbiter gave no valid verdict"
	free := slices.DeleteFunc(st.WaitingAgents(), st.needsAnswer)
	if st.awaitsHuman() && !st.AnyWorks() && len(free) == 0 {
		st.rule(verdict.Arbiter{Decision: verdict.Continue, Reason: reason + "; the human's answer is awaited"},
			decider.ByFallback)
		return
	}
	if id := st.failedBefore(); id != "" {
		st.byRules(decider.PointSelect, id, reason)
		return
	}
	if len(free) > 0 {
		st.rule(verdict.Arbiter{Decision: verdict.Continue, To: free[0], Reason: reason, Message: ownJudgement},
			decider.ByFallback)
		return
	}
	if point, about, ok := st.askedAt(); ok {
		st.byRules(point, about, reason)
		return
	}
	if len(st.Handoff.SuccessorQueue) > 0 || st.AnyWorks() || st.Handoff.IsDue() {
		v := verdict.Arbiter{Decision: verdict.Continue, Reason: reason}
		st.rule(v, decider.ByFallback)
		st.succession(v)
		return
	}
	st.rule(verdict.Arbiter{Decision: verdict.AddressHuman, Reason: reason, Message: cmp.Or(said, noText)},
		decider.ByFallback)
}

const ownJudgement = "The Arbiter gives no answer. Decide yourself, within your brief, and go on. Ask again only if " +
	"you cannot go on."

// answerInFallback answers what waits for the Arbiter apart from the points of decision, and reports whether it
// did something.
func (st *step) answerInFallback() bool {
	st.takeBack(func(m Mail) bool { // messages about a turn that will not be resumed
		return st.withholds(&m) && m.From == contract.Supervisor &&
			(m.Kind == KindCorrection || m.Kind == KindRenewal)
	})
	st.moveToWorkLog(func(m *Mail) bool {
		return st.withholds(m) && m.From != contract.Human &&
			m.Kind != KindTask && !m.EndsExecution()
	})
	if st.Task.Phase == machine.Error {
		return false // an agent that failed waits, too; a rule says how it continues
	}
	free := slices.DeleteFunc(st.WaitingAgents(),
		func(id string) bool { return st.isStumbling(id) || st.needsAnswer(id) })
	if len(free) == 0 {
		return false
	}
	st.letContinue(st.Edit(free[0]))
	return true
}

// letContinue makes an Orchestrator that asked continue by its own judgement, a few times in a row.
func (st *step) letContinue(a *Agent) {
	if a.UnansweredQuestions++; a.UnansweredQuestions > maxFallbacks {
		st.fail(a.ID, bridge.CatVerdict, a.Name+" asks, and the Arbiter does not answer",
			st.recoveryOptions(a, bridge.CatVerdict, ""))
		st.agentFailed(a.ID, bridge.CatVerdict, "it asked, and the Arbiter could not answer")
		return
	}
	st.Rulings.ArbiterRequest = nil // that was the request to the Arbiter
	st.rule(verdict.Arbiter{Decision: verdict.Continue, To: a.ID, Reason: "the Arbiter rules no more",
		Message: ownJudgement}, decider.ByFallback, st.Rulings.FallbackReason)
}

// maxFallbacks is how often in a row the rules may decide in an agent's place. Beyond it a dialogue would
// continue, and cost money, without a session that leads it.
const maxFallbacks = 2

// maxCorrections is how many requests without a valid verdict may be followed by another correction.
const maxCorrections = 2

// carryOut carries out a decision that was made in the Arbiter's place.
func (st *step) carryOut(p *RulingRequest, d decider.Decision) {
	v := verdict.Arbiter{Decision: d.Decision, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Summary: d.Summary}
	st.Rulings.Decisions++
	switch d.Decision {
	case verdict.Complete:
		v.Message = cmp.Or(d.Message, d.Summary)
		v.Summary = st.Rulings.WithFallback(cmp.Or(d.Summary, d.Reason))
		if st.Rulings.FallbackReason != "" && st.awaitsHuman() {
			st.Conversation.Held = true
			st.notice(contract.Supervisor, "By the rules the task is complete. It waits for your answer: choose "+
				"retry, and the Arbiter is started again to read it.")
			return
		}
		if st.awaitsHuman() {
			st.returnDecision(p, d, "the human has not answered what the Arbiter asked")
			return
		}
		if problem := st.checkRuling(v); problem != nil {
			st.returnDecision(p, d, problem.Error())
			return
		}
		switch unread := st.unreadWords(true); {
		case len(unread) == 0:
		case st.Rulings.FallbackReason == "":
			st.returnDecision(p, d, "the Arbiter has not yet read, or answered, the last message of the human")
			return
		case st.HumanPresent: // who can start the Arbiter again
			st.Conversation.Held = true
			st.ask("By the rules the task is complete, but the Arbiter can no longer rule, and has not read your last " +
				"message: " + words.Head(strings.Join(unread, "; "), 1000) +
				"\nWrite a message, and it is asked; if it is parked, choose retry first.")
			return
		default:
			v.Summary += " Nobody read what the human said last: " + words.Head(strings.Join(unread, "; "), 1000)
		}
	case verdict.Continue, verdict.Retry:
		v = st.whoContinues(p, v)
	}
	if v.Decision == verdict.SelectMode {
		var problem error
		v.Message, problem = st.brief(v, d.Aside)
		if problem != nil {
			st.notice(contract.Supervisor, problem.Error())
		}
		if a, ok := st.Agent(p.About); ok && a.Alive() && a.Standing == AgentWaiting {
			st.release(a.ID, "another takes its place", false)
		}
	}
	st.moveDecided(p, d)
	if !d.Aside {
		open := len(p.Select.OpenPoints) > 0
		defer func() { // when the agent is known that the ruling chose
			id := v.To
			if v.Decision == verdict.SelectMode {
				last, _ := st.Last()
				id = last.ID
			}
			st.assign(id, st.Task.StepAtHand(), open)
		}()
	}
	st.carry(v, contract.Decision{Source: string(d.Source), Point: string(p.Point), CostUSD: d.Usage.CostUSD,
		Warnings: d.Warnings})
}

// returnDecision handles a decision that the state of the task forbids. The Arbiter gets it or, where the
// Arbiter cannot rule, it is tried again as RETRY.
func (st *step) returnDecision(p *RulingRequest, d decider.Decision, problem string) {
	st.emit(contract.Arbiter, contract.Decision{
		Decision: d.Decision, Mode: d.Mode, Reason: d.Reason, Source: string(d.Source), Number: st.Rulings.Decisions,
		Point:   string(p.Point),
		CostUSD: d.Usage.CostUSD, Warnings: append(slices.Clip(d.Warnings), "not taken: "+problem),
	})
	if st.Rulings.FallbackReason == "" && !st.Rulings.DeciderYielded {
		st.yield()
		return
	}
	if a, ok := st.Agent(p.About); ok && a.Alive() && st.Task.Failures < st.Options.MaxFailures {
		st.Task.Failures++ // repeated requests end at the limit
		st.Task.TotalFailures++
		st.noteAndCarryOut(p, decider.Decision{Decision: verdict.Retry, Reason: problem, Message: problem,
			Source: d.Source, Warnings: d.Warnings})
		return
	}
	st.undecided(problem)
}

// yield leaves a decision to the Arbiter, and makes sure that the Arbiter is notified.
func (st *step) yield() {
	st.Rulings.DeciderYielded = true
	if st.Ending == nil && !st.pendingFor(contract.Arbiter) {
		st.tell("The decider leaves it to you how the task goes on. Decide.")
	}
}

// byRules decides by the deterministic rules, and records why.
func (st *step) byRules(point decider.DecisionPoint, about, why string) {
	st.Rulings.ArbiterRequest = nil
	if point == decider.PointEvaluate && st.handedOffUnfinished(about) {
		st.takenUp(about, why)
		return
	}
	p := st.rulingRequest(point, about)
	d := p.ByRules(why)
	if d.Decision == "" {
		st.undecided(why + ", and there is no agent that a rule could choose")
		return
	}
	st.noteAndCarryOut(p, d)
}

// takenUp makes another agent of the same mode continue what an agent hands off: the work is not done, and an agent of
// that mode has the tools for it.
func (st *step) takenUp(id, why string) {
	d := decider.Decision{Decision: verdict.Continue, Source: decider.ByRules,
		Reason: st.DisplayName(id) + " hands off its work, and another of its mode takes it up."}
	if why != "" { // why the rules decide
		d.Source, d.Warnings = decider.ByFallback, []string{why}
	}
	st.noteAndCarryOut(st.rulingRequest(decider.PointEvaluate, id), d)
}

// noteAndCarryOut records a decision that was made here, and carries it out.
func (st *step) noteAndCarryOut(p *RulingRequest, d decider.Decision) {
	st.Rulings.Note(&st.out, input.Decided{
		Number: st.Rulings.Decisions + 1, Point: p.Point, About: p.About, Input: p.Input, Decision: d,
	})
	st.carryOut(p, d)
}
