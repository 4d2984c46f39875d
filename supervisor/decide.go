package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// The task machine asks at two points: in selecting (and when an agent broke, or stopped
// at a failed tool) which agent works next, in evaluating what follows from what was done. Who answers is the run's
// decider: the Arbiter in its conversation, or another, whose decisions the Arbiter then
// reads in its work log. Where the Arbiter cannot rule, the rules do.

// asksOther says whether another than the Arbiter's session decides at the points.
func (s *State) asksOther() bool {
	return s.machined() && s.Options.Decider != "" && s.Options.Decider != DeciderSession && !s.Yielded
}

// adjudicate sees that each point of decision finds its decider, where that is not the
// Arbiter in its own turn.
func (st *step) adjudicate() {
	if !st.machined() || st.Regency == "" && !st.asksOther() {
		return
	}
	// The rules decide at once, and may then be asked again: each decision summons,
	// addresses or ends. The bound only guards against a fault of ours.
	for range 8 {
		if st.Ending != nil || st.Paused || st.Held || st.Deciding != nil {
			return
		}
		if st.Regency != "" && st.standIn() {
			continue
		}
		point, about, due := st.due()
		switch a, _ := st.agent(about); {
		case !due || st.Regency == "" && !st.BridgeUp:
			return // without a bridge no model answers
		case point == decision.PointEvaluate && st.leftUndone(&a):
			st.takenUp(about, st.Regency)
			continue
		}
		if st.Regency == "" {
			st.put(point, about)
			return
		}
		st.byRules(point, about, st.Regency)
	}
}

// put asks the run's decider. What the Arbiter would have been told at this point it
// reads with what was decided: two must not rule on the same.
func (st *step) put(point decision.Point, about string) {
	if point == decision.PointSelect {
		st.shelveAll(func(m *Mail) bool {
			return m.To == contract.Arbiter && m.From == contract.Supervisor && m.Kind == KindNotice && !m.Sent
		})
	}
	st.Questions++
	p := st.pose(point, about)
	p.Serial = st.Questions
	st.Deciding = p
	st.do(Decide{Decided{Serial: p.Serial, Number: st.Decisions + 1, Point: point, About: about, Input: p.Input}})
}

// leftUndone says whether one has handed off its own work. A planner hands on a plan.
func (s *State) leftUndone(a *Agent) bool {
	return a.Standing == HandedOff && !(a.Mode == plannerMode && len(s.Plan) > 0)
}

// takenUp has another of the same mode go on with what one hands off: that its work is
// not done is no question, and who knows of the mode has the tools for it.
func (st *step) takenUp(id, why string) {
	p := st.pose(decision.PointEvaluate, id)
	a, _ := st.agent(id)
	d := decider.Decision{Decision: verdict.Continue, Reason: a.Name + " hands off its work, and another of its mode takes it up.", Source: decider.ByRules}
	if why != "" {
		d.Source, d.Warnings = decider.ByFallback, []string{why}
	}
	st.note(Decided{Number: st.Decisions + 1, Point: p.Point, About: id, Input: p.Input, Decision: d})
	st.carryOut(p, d)
}

// yield leaves a decision to the Arbiter, and sees that it hears of it.
func (st *step) yield() {
	st.Yielded = true
	if st.Ending == nil && !st.pendingFor(contract.Arbiter) {
		st.tell(contract.Arbiter, KindNotice, "The decider leaves it to you how the task goes on. Rule.")
	}
}

// due finds the point of decision that the task stands at.
func (st *step) due() (point decision.Point, about string, ok bool) {
	if st.Task == "" {
		return "", "", false
	}
	for _, m := range st.Mail {
		if !m.awaitsJudgement() || st.Phase == machine.Idle {
			continue
		}
		if a, _ := st.agent(m.From); m.Stumble || st.leftUndone(&a) || !st.AnyWorks() {
			return m.point(), m.From, true // what is done waits for what others still do
		}
	}
	if id := st.failedBefore(); st.Regency != "" && id != "" {
		return decision.PointSelect, id, true // the Arbiter had read of the failure, and rules no more
	}
	aside := st.Regency != "" || st.Agents[0].Status != Busy && !st.arbiterAsked()
	if st.Phase == machine.Evaluating {
		if last := st.History.Last(1); aside && len(last) > 0 && !st.engaged() && !st.documentDue() {
			return decision.PointEvaluate, last[0].ID, true // the Arbiter had read it, and rules no more
		}
	}
	switch {
	case st.documentDue():
		return "", "", false
	case st.Phase == machine.Error:
		if st.AnyWorks() {
			return "", "", false // the one that broke waits for a word
		}
	case st.Phase == machine.Idle || st.engaged():
		return "", "", false // in executing, too, nobody may be left: the Arbiter released them, and then ruled no more
	}
	return decision.PointSelect, "", aside // else it speaks with somebody, and may rule itself
}

// arbiterAsked says whether the Arbiter's own word is asked for, beyond the task: by the
// human, an Orchestrator, or a correction.
func (s *State) arbiterAsked() bool {
	return slices.ContainsFunc(slices.Concat(s.Mail, s.Underway), func(m Mail) bool {
		return m.To == contract.Arbiter && m.Kind != KindTask && m.Kind != KindNotice && m.Kind != KindRenewal
	})
}

func isDocument(kind string) bool { return kind == verdict.KindDone || kind == verdict.KindHandoff }

// judged says whether the message ends an execution: what follows is a point of decision.
func (m *Mail) judged() bool { return isDocument(m.Kind) || m.Stumble }

// awaitsJudgement says whether it lies there for whoever decides.
func (m *Mail) awaitsJudgement() bool { return m.To == contract.Arbiter && m.judged() && !m.Sent }

// point is which.
func (m *Mail) point() decision.Point {
	if m.Stumble {
		return decision.PointSelect
	}
	return decision.PointEvaluate
}

// withheld says whether a message waits for a decision that the Arbiter does not make.
func (s *State) withheld(m *Mail) bool {
	switch {
	case m.To != contract.Arbiter || m.Sent || !s.machined():
		return false
	case s.Regency != "":
		return true
	case !s.asksOther() || s.Task == "":
		return false
	}
	return m.judged() || m.Kind == KindTask && s.Phase != machine.Idle
}

// note has a decision recorded that was made here. Until it is, the state holds it: a
// crash in between must not cost the record.
func (st *step) note(d Decided) {
	st.Unnoted = append(slices.Clip(st.Unnoted), d)
	st.do(Note{d})
}

// noteAgain has those recorded that the end of a life kept from it.
func (st *step) noteAgain() {
	for _, d := range st.Unnoted {
		st.do(Note{d})
	}
}

// noted lets go of a decision that is recorded.
func (st *step) noted(number int) {
	if slices.ContainsFunc(st.Unnoted, func(d Decided) bool { return d.Number == number }) {
		st.Unnoted = slices.DeleteFunc(slices.Clone(st.Unnoted), func(d Decided) bool { return d.Number == number })
	}
}

// decided takes the answer of the run's decider. One that is only recorded, or was
// overtaken by a ruling, changes nothing.
func (st *step) decided(f Decided) {
	if f.Serial == 0 {
		st.noted(f.Number)
		return
	}
	p := st.Deciding
	if p == nil || f.Serial != p.Serial {
		return
	}
	st.Deciding = nil
	u := f.Decision.Usage
	st.CostUSD += u.CostUSD
	st.Usage.Input += u.Input
	st.Usage.Output += u.Output
	st.Usage.CacheRead += u.CacheRead
	st.Usage.CacheCreation += u.CacheCreation
	if limit := st.Options.MaxCostUSD; limit > 0 && st.CostUSD >= limit {
		st.limitReached(fmt.Sprintf("the cost reached $%.4f of $%.4f", st.CostUSD, limit))
		return
	}
	switch {
	case f.Deferred:
		st.yield()
	case f.Failed != "":
		st.fire(machine.ArbiterError, occasion{})
		st.byRules(p.Point, p.About, "the decider failed: "+f.Failed)
	case st.unfit(f.Decision) != "":
		st.fire(machine.ArbiterError, occasion{})
		st.byRules(p.Point, p.About, "the decider gave no decision that can be acted on: "+st.unfit(f.Decision))
	default:
		if f.Decision.Source == decider.ByFallback {
			st.fire(machine.ArbiterError, occasion{})
		}
		st.carryOut(p, f.Decision)
	}
}

// assign notes which step of the plan whoever goes on was chosen for: its success is the
// step's, where nobody else keeps the plan.
func (st *step) assign(v *verdict.Arbiter) {
	id := v.To
	if v.Decision == verdict.SelectMode {
		last, _ := st.Last()
		id = last.ID
	}
	a := st.edit(id)
	i := st.stepAtHand()
	if st.Ending != nil || a == nil || !a.Works() || i < 0 {
		return
	}
	a.Assigned = i + 1
	if st.Plan[i].Status == contract.StepActive && st.Plan[i].Agent == id {
		return
	}
	plan := slices.Clone(st.Plan)
	plan[i].Status, plan[i].Agent = contract.StepActive, id
	st.setPlan(plan)
}

// assigned ends the step that an agent was chosen for, as its execution ended.
func (st *step) assigned(id, status string) {
	a := st.edit(id)
	if a == nil || a.Assigned == 0 {
		return
	}
	i := a.Assigned - 1
	a.Assigned = 0
	if i >= len(st.Plan) || st.Plan[i].Status != contract.StepActive || st.Plan[i].Agent != id {
		return // it has kept the plan itself, or there is another
	}
	plan := slices.Clone(st.Plan)
	plan[i].Status = status
	st.setPlan(plan)
}

// unfit says why a decision cannot be acted on. Deciders see to that themselves; this
// holds where one does not.
func (st *step) unfit(d decider.Decision) string {
	switch d.Decision {
	case verdict.SelectMode:
		if _, ok := st.modeNamed(d.Mode); !ok {
			return fmt.Sprintf("there is no mode %q", d.Mode)
		}
	case verdict.Continue, verdict.Retry, verdict.Complete:
	default:
		return fmt.Sprintf("there is no decision %q", d.Decision)
	}
	return ""
}

// byRules has the deterministic rules decide, and says why.
func (st *step) byRules(point decision.Point, about, why string) {
	if a, _ := st.agent(about); point == decision.PointEvaluate && st.leftUndone(&a) {
		st.takenUp(about, why)
		return
	}
	st.Posed = nil
	p := st.pose(point, about)
	var rules decider.Rules
	var d decider.Decision
	if point == decision.PointSelect {
		d, _ = rules.Select(p.sel)
	} else {
		d, _ = rules.Evaluate(p.eval)
	}
	if d.Decision == "" {
		st.unruled(why + ", and there is no agent that a rule could choose")
		return
	}
	d.Source, d.Warnings = decider.ByFallback, append(d.Warnings, why)
	st.note(Decided{Number: st.Decisions + 1, Point: point, About: about, Input: p.Input, Decision: d})
	st.carryOut(p, d)
}

// rulesDecide has the rules decide at the point the Arbiter was asked at and gave no
// valid verdict, and says whether it was one.
func (st *step) rulesDecide(why string) bool {
	if !st.machined() || st.Task == "" {
		return false
	}
	p := st.Posed
	switch {
	case st.Phase == machine.Evaluating && p != nil && p.Point == decision.PointEvaluate:
		st.Posed = nil
		st.byRules(p.Point, p.About, why)
	case st.Phase == machine.Selecting && !st.engaged() && !st.documentDue(), st.Phase == machine.Error && !st.AnyWorks() && !st.documentDue():
		st.Posed = nil
		st.byRules(decision.PointSelect, "", why)
	default:
		return false
	}
	return true
}

// unruled: nobody decides any more.
func (st *step) unruled(why string) {
	st.fire(machine.ArbiterError, occasion{stuck: true})
	if !st.HumanPresent {
		st.giveUp(bridge.CatVerdict, why)
		return
	}
	st.fail(contract.Supervisor, bridge.CatVerdict, why, []string{})
	st.Held = true
	st.ask("Nobody decides any more: " + why + ". Speak, and the Arbiter is asked.")
}

// carryOut does what was decided in the Arbiter's place.
func (st *step) carryOut(p *Posed, d decider.Decision) {
	v := verdict.Arbiter{Decision: d.Decision, Mode: d.Mode, Reason: d.Reason, Message: d.Message, Summary: d.Summary}
	st.Decisions++
	switch d.Decision {
	case verdict.Complete:
		v.Message = orDefault(d.Message, d.Summary)
		v.Summary = st.withRegency(orDefault(d.Summary, d.Reason))
		if problem := st.checkRuling(v); problem != nil {
			st.overruled(p, d, problem.Error())
			return
		}
	case verdict.Continue, verdict.Retry:
		v = st.goOnWith(p, v)
	}
	if v.Decision == verdict.SelectMode {
		v.Message = st.briefFor(v)
		if a, ok := st.agent(p.About); ok && a.Alive() && a.Standing == Waiting {
			st.release(a.ID, "another takes its place", false)
		}
	}
	st.shelve(p, d)
	defer st.assign(&v)
	st.carry(v, ruledBy{source: string(d.Source), point: p.Point, cost: d.Usage.CostUSD, warnings: d.Warnings})
}

// overruled: a decision that the state of the task forbids is given to the Arbiter, or,
// where that one cannot rule, tried again as RETRY.
func (st *step) overruled(p *Posed, d decider.Decision, problem string) {
	st.emit(contract.Supervisor, contract.Notice{Text: "a decision " + d.Decision + " by " + string(d.Source) + " is not taken: " + problem})
	if st.Regency == "" && !st.Yielded {
		st.yield()
		return
	}
	if a, ok := st.agent(p.About); ok && a.Alive() && st.Failures < st.Options.MaxFailures {
		st.Failures++ // what is asked for again and again ends by its limit
		st.TotalFailures++
		again := decider.Decision{Decision: verdict.Retry, Reason: problem, Message: problem, Source: d.Source, Warnings: d.Warnings}
		st.note(Decided{Number: st.Decisions + 1, Point: p.Point, About: p.About, Input: p.Input, Decision: again})
		st.carryOut(p, again)
		return
	}
	st.unruled(problem)
}

// goOnWith finds who goes on: the agent whose work was judged if it lives, else one of
// the same mode.
func (st *step) goOnWith(p *Posed, v verdict.Arbiter) verdict.Arbiter {
	about := p.About
	if last := st.History.Last(1); about == "" && len(last) > 0 {
		about = last[0].ID
	}
	if a, ok := st.agent(about); ok && a.Alive() && a.Standing != HandedOff {
		v.To = about
		v.Message = orDefault(v.Message, st.goOnText(v))
		return v
	}
	mode := ""
	if a, ok := st.agent(about); ok {
		mode = a.Mode
	} else if last := st.History.Last(1); len(last) > 0 && last[0].Agent != anyMode {
		mode = last[0].Agent
	}
	if _, known := st.modeNamed(mode); !known {
		mode = ""
	}
	v.Decision, v.Mode = verdict.SelectMode, mode
	return v
}

// goOnText is what one is told that goes on.
func (st *step) goOnText(v verdict.Arbiter) string {
	text := "Go on with the task."
	if v.Decision == verdict.Retry {
		text = "It failed. Try again, another way."
	}
	if i := st.stepAtHand(); i >= 0 {
		text += fmt.Sprintf(" At hand is step %d of the plan: %s", i+1, st.Plan[i].Text)
	}
	return text + "\n\n" + v.Reason
}

// briefFor is what an Orchestrator is told that was not summoned by the Arbiter.
func (st *step) briefFor(v verdict.Arbiter) string {
	set, err := prompts.NewSet(st.Options.Templates)
	var text string
	if err == nil {
		text, err = set.Brief(prompts.Brief{Input: decision.Select(st.record()), Mode: v.Mode, Reason: v.Reason, Message: v.Message})
	}
	if err != nil || strings.TrimSpace(text) == "" {
		st.emit(contract.Supervisor, contract.Notice{Text: fmt.Sprintf("the template of briefs cannot be used: %v", err)})
		text = st.Task + "\n\n" + planText(st.Plan)
	}
	return text
}
