package supervisor

import (
	"cmp"
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

// abandonDecision cancels the pending decision.
func (st *step) abandonDecision(why string) {
	st.fire(machine.ArbiterError, occasion{stuck: true})
	if !st.HumanPresent {
		st.giveUp(bridge.CatVerdict, why)
		return
	}
	st.fail(contract.Supervisor, bridge.CatVerdict, why, []string{})
	st.Conversation.Held = true
	st.ask("The decider no longer decides: " + why + ". Send a message, and the Arbiter decides.")
}

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
			st.emit(contract.Supervisor, contract.Notice{Text: "By the rules the task is complete. It waits for your " +
				"answer: choose retry, and the Arbiter is started again to read it."})
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
		switch unread := st.unreadWords(); {
		case len(unread) == 0:
		case st.Rulings.FallbackReason == "":
			st.returnDecision(p, d, "the Arbiter has not yet read, or answered, the last message of the human")
			return
		case st.HumanPresent:
			st.rulesReadNothing(unread)
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
			st.emit(contract.Supervisor, contract.Notice{Text: problem.Error()})
		}
		if a, ok := st.Agent(p.About); ok && a.Alive() && a.Standing == AgentWaiting {
			st.release(a.ID, "another takes its place", false)
		}
	}
	st.moveDecided(p, d)
	if !d.Aside {
		open := len(p.Select.OpenPoints) > 0
		defer func() { st.assignPlanStep(&v, open) }()
	}
	st.carry(v, RulingBy{Source: d.Source, Point: p.Point, CostUSD: d.Usage.CostUSD, Warnings: d.Warnings})
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
	st.abandonDecision(problem)
}

// yield leaves a decision to the Arbiter, and makes sure that the Arbiter is notified.
func (st *step) yield() {
	st.Rulings.DeciderYielded = true
	if st.Ending == nil && !st.pendingFor(contract.Arbiter) {
		st.notify(contract.Arbiter, KindNotice,
			"The decider leaves it to you how the task goes on. Rule.")
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
		st.abandonDecision(why + ", and there is no agent that a rule could choose")
		return
	}
	st.noteAndCarryOut(p, d)
}

// takenUp makes another agent of the same mode continue what an agent hands off.
func (st *step) takenUp(id, why string) {
	st.noteAndCarryOut(st.rulingRequest(decider.PointEvaluate, id),
		ContinueHandoff(st.DisplayName(id), why))
}

// noteAndCarryOut records a decision that was made here, and carries it out.
func (st *step) noteAndCarryOut(p *RulingRequest, d decider.Decision) {
	st.Rulings.Note(&st.out, input.Decided{
		Number: st.Rulings.Decisions + 1, Point: p.Point, About: p.About, Input: p.Input, Decision: d,
	})
	st.carryOut(p, d)
}

// handedOffUnfinished reports whether an agent has handed off its own work unfinished.
func (st *step) handedOffUnfinished(id string) bool {
	a, _ := st.Agent(id)
	return st.Task.HandedOffUnfinished(&a)
}
