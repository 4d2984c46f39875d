package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// takenUp has another of the same mode go on with what one hands off: that its work is
// not done is no question, and who knows of the mode has the tools for it.
func (st *step) takenUp(id, why string) {
	p := st.requestDecision(decision.PointEvaluate, id)
	a, _ := st.Agent(id)
	d := decider.Decision{Decision: verdict.Continue, Reason: a.Name +
		" hands off its work, and another of its mode takes it up.", Source: decider.ByRules}
	if why != "" {
		d.Source, d.Warnings = decider.ByFallback, []string{why}
	}
	st.note(input.Decided{Number: st.Decisions + 1, Point: p.Point, About: id, Input: p.Input, Decision: d})
	st.carryOut(p, d)
}

// abandonDecision: nobody decides any more.
func (st *step) abandonDecision(why string) {
	st.fire(machine.ArbiterError, occasion{stuck: true})
	if !st.HumanPresent {
		st.giveUp(bridge.CatVerdict, why)
		return
	}
	st.fail(contract.Supervisor, bridge.CatVerdict, why, []string{})
	st.Conversation.Held = true
	st.ask("Nobody decides any more: " + why + ". Speak, and the Arbiter is asked.")
}

// carryOut does what was decided in the Arbiter's place.
func (st *step) carryOut(p *DecisionRequest, d decider.Decision) {
	v := verdict.Arbiter{Decision: d.Decision, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Summary: d.Summary}
	st.Decisions++
	switch d.Decision {
	case verdict.Complete:
		v.Message = cmp.Or(d.Message, d.Summary)
		v.Summary = st.withFallback(cmp.Or(d.Summary, d.Reason))
		if st.FallbackReason != "" && st.awaitsHuman() {
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
		case st.FallbackReason == "":
			st.returnDecision(p, d, "the Arbiter has yet to read, or to answer, what the human said last")
			return
		case st.HumanPresent:
			st.rulesReadNothing(unread)
			return
		default:
			v.Summary += " Nobody read what the human said last: " + words.Head(strings.Join(unread, "; "), 1000)
		}
	case verdict.Continue, verdict.Retry:
		v = st.goOnWith(p, v)
	}
	if v.Decision == verdict.SelectMode {
		v.Message = st.briefFor(v, d.Aside)
		if a, ok := st.Agent(p.About); ok && a.Alive() && a.Standing == roster.Waiting {
			st.release(a.ID, "another takes its place", false)
		}
	}
	st.moveToWorkLog(p, d)
	if !d.Aside {
		defer st.assign(&v, len(p.Select.OpenPoints) > 0)
	}
	st.carry(v, decidedBy{source: string(d.Source), point: p.Point, cost: d.Usage.CostUSD, warnings: d.Warnings})
}

// returnDecision: a decision that the state of the task forbids is given to the Arbiter, or,
// where that one cannot rule, tried again as RETRY.
func (st *step) returnDecision(p *DecisionRequest, d decider.Decision, problem string) {
	st.emit(contract.Arbiter, contract.Decision{
		Decision: d.Decision, Mode: d.Mode, Reason: d.Reason, Source: string(d.Source), Number: st.Decisions,
		Point:   string(p.Point),
		CostUSD: d.Usage.CostUSD, Warnings: append(slices.Clip(d.Warnings), "not taken: "+problem),
	})
	if st.FallbackReason == "" && !st.DeciderYielded {
		st.yield()
		return
	}
	if a, ok := st.Agent(p.About); ok && a.Alive() && st.Task.Failures < st.Options.MaxFailures {
		st.Task.Failures++ // what is asked for again and again ends by its limit
		st.Task.TotalFailures++
		again := decider.Decision{Decision: verdict.Retry, Reason: problem, Message: problem, Source: d.Source,
			Warnings: d.Warnings}
		st.note(input.Decided{Number: st.Decisions + 1, Point: p.Point, About: p.About, Input: p.Input,
			Decision: again})
		st.carryOut(p, again)
		return
	}
	st.abandonDecision(problem)
}

// goOnWith finds who goes on: the agent whose work was judged if it lives, else one of
// the same mode.
func (st *step) goOnWith(p *DecisionRequest, v verdict.Arbiter) verdict.Arbiter {
	about := p.About
	if last := st.Task.History.Last(1); about == "" && len(last) > 0 {
		about = last[0].ID
	}
	if a, ok := st.Agent(about); ok && a.Alive() && a.Standing != roster.HandedOff {
		v.To = about
		v.Message = cmp.Or(v.Message, st.goOnText(v))
		return v
	}
	mode := ""
	if a, ok := st.Agent(about); ok {
		mode = a.Mode
	} else if last := st.Task.History.Last(1); len(last) > 0 && last[0].Agent != task.AnyMode {
		mode = last[0].Agent
	}
	if _, known := st.Options.ModeNamed(mode); !known {
		mode = ""
	}
	v.Decision, v.Mode = verdict.SelectMode, mode
	return v
}

// goOnText is the message to an agent that goes on.
func (st *step) goOnText(v verdict.Arbiter) string {
	text := "Go on with the task."
	if v.Decision == verdict.Retry {
		text = "It failed. Try again, another way."
	}
	if i := st.Task.StepAtHand(); i >= 0 {
		text += fmt.Sprintf(" At hand is step %d of the plan: %s", i+1, st.Task.Plan[i].Text)
	}
	return text + "\n\n" + v.Reason
}

// briefFor is the brief of an Orchestrator that was not summoned by the Arbiter.
// Aside: it is to do something beside the plan.
func (st *step) briefFor(v verdict.Arbiter, aside bool) string {
	set, err := prompts.NewSet(st.Options.Templates)
	var text string
	if err == nil {
		text, err = set.Brief(prompts.Brief{Input: st.briefed(), Mode: v.Mode, Reason: v.Reason, Message: v.Message,
			Aside: aside})
	}
	if err != nil || strings.TrimSpace(text) == "" {
		st.emit(contract.Supervisor, contract.Notice{Text: fmt.Sprintf("the template of briefs cannot be used: %v",
			err)})
		text = st.Task.Text + "\n\n" + task.PlanText(st.Task.Plan)
	}
	return text
}

// briefed is what a brief is made from. A document that is handed over beside the brief is
// not told in it, too.
func (st *step) briefed() decision.SelectAgentInput {
	in := decision.Select(st.record())
	last := st.Task.History.Last(1)
	if len(last) == 0 || last[0].ID != st.Handoff.NextPredecessor() {
		return in
	}
	in.History[len(in.History)-1].Document = nil
	in.OpenPoints = slices.DeleteFunc(in.OpenPoints, func(p decision.OpenPoint) bool { return p.Agent == last[0].Agent })
	return in
}

// yield leaves a decision to the Arbiter, and sees that it hears of it.
func (st *step) yield() {
	st.DeciderYielded = true
	if st.Ending == nil && !st.pendingFor(contract.Arbiter) {
		st.tell(contract.Arbiter, conversation.KindNotice, "The decider leaves it to you how the task goes on. Rule.")
	}
}
