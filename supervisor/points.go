package supervisor

// This file finds the point of decision that the task has reached, who decides there, and what the decision is based
// on.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// dueDecision finds the point of decision that the task has reached.
func (s *State) dueDecision() (point decider.DecisionPoint, about string, ok bool) {
	if s.Task.Text == "" {
		return "", "", false
	}
	for _, m := range s.Conversation.Mail {
		if !m.AwaitsJudgement() || s.Task.Phase == machine.Idle {
			continue
		}
		if m.Stumble || s.handedOffUnfinished(m.From) || !s.AnyWorks() {
			return pointOf(&m), m.From, true // a finished document waits for other agents' work
		}
	}
	if id := s.failedBefore(); s.Rulings.FallbackReason != "" && id != "" {
		return decider.PointSelect, id, true // the Arbiter had read about the failure, and rules no more
	}
	aside := s.Rulings.FallbackReason != "" || s.Agents[0].Status != AgentBusy && !s.Conversation.AsksArbiter()
	if s.Task.Phase == machine.Evaluating {
		if id := s.Task.LastWorked(); aside && id != "" && !s.EngagedBeside("") && !s.Handoff.IsDue() {
			return decider.PointEvaluate, id, true // the Arbiter had read it, and rules no more
		}
	}
	switch {
	case s.Handoff.IsDue():
		return "", "", false
	case s.Task.Phase == machine.Error:
		if s.AnyWorks() {
			return "", "", false // the failed agent waits for a message
		}
	case s.Task.Phase == machine.Idle || s.EngagedBeside(""):
		return "", "", false // in executing, too, there may be no Orchestrator: the Arbiter released them
	}
	return decider.PointSelect, "", aside // else the Arbiter is in a dialogue, and may rule itself
}

// handedOffUnfinished reports whether an agent has handed off unfinished work. A planner that hands off a plan has not.
func (s *State) handedOffUnfinished(id string) bool {
	a, _ := s.Agent(id)
	return a.Standing == HandedOff && !(a.Mode == PlannerMode && len(s.Task.Plan) > 0)
}

// pointOf is the point of decision for a message that ends an execution.
func pointOf(m *Mail) decider.DecisionPoint {
	if m.Stumble {
		return decider.PointSelect
	}
	return decider.PointEvaluate
}

// askedAt returns the point of decision at which the Arbiter was asked and gave no valid verdict; false: there
// was none.
func (s *State) askedAt() (point decider.DecisionPoint, about string, ok bool) {
	if s.Task.Text == "" {
		return "", "", false
	}
	switch p := s.Rulings.ArbiterRequest; {
	case s.Task.Phase == machine.Evaluating && p != nil && p.Point == decider.PointEvaluate:
		return p.Point, p.About, true
	case s.Task.Phase == machine.Selecting && !s.EngagedBeside("") && !s.Handoff.IsDue(),
		s.Task.Phase == machine.Error && !s.AnyWorks() && !s.Handoff.IsDue():
		return decider.PointSelect, "", true
	}
	return "", "", false
}

// isStumbling reports whether the decision about an Orchestrator's failure is still open.
func (s *State) isStumbling(id string) bool {
	return id == s.failedBefore() || slices.ContainsFunc(s.Conversation.Mail, func(m Mail) bool {
		return m.From == id && m.Stumble && !m.Sent
	})
}

// failedBefore is the agent that waits for the Arbiter's ruling on its failure; empty: none.
func (s *State) failedBefore() string {
	if p := s.Rulings.ArbiterRequest; p != nil && p.Point == decider.PointSelect {
		if a, ok := s.Agent(p.About); ok && a.Alive() && a.Standing == AgentWaiting {
			return a.ID
		}
	}
	return ""
}

// asksOther reports whether a decider other than the Arbiter's session decides at the points.
func (s *State) asksOther() bool {
	return s.Options.Decider != "" && s.Options.Decider != runconfig.DeciderSession && !s.Rulings.DeciderYielded
}

// withholds reports whether a message waits for a decision that the Arbiter does not make.
func (s *State) withholds(m *Mail) bool {
	switch {
	case m.To != contract.Arbiter || m.Sent:
		return false
	case s.Rulings.FallbackReason != "":
		return true
	case !s.asksOther() || s.Task.Text == "":
		return false
	}
	return m.EndsExecution() || m.Kind == KindTask && s.Task.Phase != machine.Idle
}

// pendingFor reports whether a message waits to be sent to the present generation of the agent. What waits for a
// decider, or for the Arbiter's successor, is not sent to it.
func (s *State) pendingFor(id string) bool {
	return slices.ContainsFunc(s.Conversation.Mail, func(m Mail) bool {
		withheld := s.Renewal.Withholds(m.Kind) || s.Rulings.FallbackReason == "" && s.withholds(&m)
		return m.To == id && !m.Sent && !(id == contract.Arbiter && withheld)
	})
}

// Record is the state of the task at the last input; the inputs of decisions are built from such a record.
func (s *State) Record() decider.DecisionRecord {
	return s.record(s.Budget.Runtime.Elapsed(s.Budget.Runtime.LastAt))
}

func (s *State) record(elapsed time.Duration) decider.DecisionRecord {
	o, used := &s.Options, &s.Budget.Usage
	r := decider.DecisionRecord{
		Task: s.Task.Text, History: s.Task.History, Error: s.Task.LastError, Failed: s.failedChecks(),
		DecisionConstraints: decider.DecisionConstraints{
			CurrentIteration: s.Task.Iterations, MaxIterations: o.MaxIterations,
			ConsecutiveFailures: s.Task.Failures, MaxConsecutiveFailures: o.MaxFailures,
			TotalFailures: s.Task.TotalFailures, MaxTotalFailures: o.FailureLimit(s.Rulings.FallbackReason != ""),
			EstimatedTokensUsed: used.Input + used.Output + used.CacheRead + used.CacheCreation,
			CostUSD:             s.Budget.CostUSD, MaxCostUSD: o.MaxCostUSD,
		}, Timeout: o.Timeout, Elapsed: elapsed,
	}
	for _, p := range s.Task.Plan {
		r.Steps = append(r.Steps, decider.DecisionStep{Description: p.Text, Status: p.Status, Mode: p.Mode,
			AgentUsed: p.Agent})
	}
	for _, a := range o.AvailableModes() {
		d := decider.AgentDescription{
			Name: a.Name, DisplayName: cmp.Or(a.DisplayName, a.Name), WhenToUse: a.Description,
			Tools: decider.ToolLists{Allowed: a.Tools, Blocked: a.DisallowedTools},
		}
		if p, known := o.Performance[a.Name]; known {
			d.RecentPerformance = &p
		}
		r.Agents = append(r.Agents, d)
	}
	return r
}

// failedChecks are the checks and criteria that kept a COMPLETE from taking effect, as deciders see them.
func (s *State) failedChecks() []decider.DecisionCheck {
	return append(s.Handoff.FailedChecks(), s.Task.FailedCriteria()...)
}

// rulingRequest builds the request for a decision at the point that the task has reached.
func (st *step) rulingRequest(point decider.DecisionPoint, about string) *RulingRequest {
	p := &RulingRequest{Point: point, About: about}
	for i := range st.Conversation.Mail {
		if m := &st.Conversation.Mail[i]; m.AwaitsJudgement() {
			p.EndedExecutions = append(p.EndedExecutions, m.ID)
		}
	}
	r := st.record(st.elapsed())
	r.Judged = about
	p.Select = decider.SelectInput(r)
	if point == decider.PointEvaluate {
		p.Evaluate = decider.EvaluateInput(r)
	}
	var err error
	p.Input, err = jsonl.Marshal(p.input())
	if err != nil {
		panic(err) // our own types
	}
	return p
}

// showArbiter records the request that a message puts to the Arbiter, if the Arbiter's ruling on it is one of
// the task machine's decisions.
func (st *step) showArbiter(m Mail) {
	if st.asksOther() {
		return
	}
	t := &st.Task
	switch {
	case m.Kind == KindCorrection || m.Kind == KindRetry:
		// It is about the same request.
	case m.EndsExecution():
		st.Rulings.ArbiterRequest = st.rulingRequest(pointOf(&m), m.From)
	case t.Text == "" || m.Kind == KindRenewal:
		st.Rulings.ArbiterRequest = nil
	case t.Phase == machine.Selecting, t.Phase == machine.Error,
		t.Phase == machine.Idle && m.From == contract.Human: // the task itself
		st.Rulings.ArbiterRequest = st.rulingRequest(decider.PointSelect, "")
	case t.Phase == machine.Evaluating && m.Kind == KindNotice &&
		(len(st.failedChecks()) > 0 || len(st.Handoff.PointsTold) > 0):
		st.Rulings.ArbiterRequest = st.rulingRequest(decider.PointEvaluate, t.LastWorked()) // its COMPLETE was sent back
	default:
		st.Rulings.ArbiterRequest = nil
	}
}

// brief is the brief of an Orchestrator that was not spawned by the Arbiter. aside: its work is not part of
// the plan. The error says why the user's template could not be used; the brief is usable all the same.
func (st *step) brief(v verdict.Arbiter, aside bool) (text string, err error) {
	set, err := decider.NewSet(st.Options.Templates)
	if err == nil {
		text, err = set.Brief(decider.BriefPrompt{Input: st.briefInput(), Mode: v.Mode, Reason: v.Reason, Message: v.Message,
			Aside: aside})
	}
	if err != nil || strings.TrimSpace(text) == "" {
		return st.Task.Text + "\n\n" + PlanText(st.Task.Plan),
			fmt.Errorf("the template of briefs cannot be used: %v", err)
	}
	return text, nil
}

// briefInput is the data for a brief. A document that is handed over with the brief is not included.
func (st *step) briefInput() decider.SelectAgentInput {
	in := decider.SelectInput(st.record(st.elapsed()))
	last := st.Task.History.Last(1)
	if len(last) == 0 || last[0].ID != st.Handoff.NextPredecessor() {
		return in
	}
	in.History[len(in.History)-1].Document = nil
	in.OpenPoints = slices.DeleteFunc(in.OpenPoints, func(p decider.OpenPoint) bool { return p.Agent == last[0].Agent })
	return in
}

// whoContinues determines who continues: the agent whose work was judged if it is alive, otherwise one of the same
// mode.
func (s *State) whoContinues(p *RulingRequest, v verdict.Arbiter) verdict.Arbiter {
	about := p.About
	if about == "" {
		about = s.Task.LastWorked()
	}
	if a, ok := s.Agent(about); ok && a.Alive() && a.Standing != HandedOff {
		v.To = about
		v.Message = cmp.Or(v.Message, goOnText(&s.Task, v))
		return v
	}
	mode := ""
	if a, ok := s.Agent(about); ok {
		mode = a.Mode
	} else if last := s.Task.History.Last(1); len(last) > 0 && last[0].Agent != AnyMode {
		mode = last[0].Agent
	}
	if _, known := s.Options.ModeNamed(mode); !known {
		mode = ""
	}
	v.Decision, v.Mode = verdict.SelectMode, mode
	return v
}

// goOnText is the message to an agent that continues.
func goOnText(t *TaskState, v verdict.Arbiter) string {
	text := "Go on with the task."
	if v.Decision == verdict.Retry {
		text = "It failed. Try again, another way."
	}
	if i := t.StepAtHand(); i >= 0 {
		text += fmt.Sprintf(" At hand is step %d of the plan: %s", i+1, t.Plan[i].Text)
	}
	return text + "\n\n" + v.Reason
}
