package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// RulingStanding is the present state of a run, as far as decisions depend on it. It is only read.
type RulingStanding struct {
	Options      *runconfig.Options
	Task         *TaskState
	Roster       *Roster
	Conversation *ConversationState
	Handoff      *HandoffState
	Tokens       int // used so far
	CostUSD      float64
	Elapsed      time.Duration
}

// AsksOther reports whether a decider other than the Arbiter's session decides at the points.
func (s *RulingState) AsksOther(o *runconfig.Options) bool {
	return o.Decider != "" && o.Decider != runconfig.DeciderSession && !s.DeciderYielded
}

// Withholds reports whether a message waits for a decision that the Arbiter does not make.
func (s *RulingState) Withholds(o *runconfig.Options, t *TaskState, m *Mail) bool {
	switch {
	case m.To != contract.Arbiter || m.Sent:
		return false
	case s.FallbackReason != "":
		return true
	case !s.AsksOther(o) || t.Text == "":
		return false
	}
	return m.EndsExecution() || m.Kind == KindTask && t.Phase != machine.Idle
}

// FailedBefore is the agent that waits for the Arbiter's ruling on its failure; empty: none.
func (s *RulingState) FailedBefore(r *Roster) string {
	if p := s.ArbiterRequest; p != nil && p.Point == decider.PointSelect {
		if a, ok := r.Agent(p.About); ok && a.Alive() && a.Standing == AgentWaiting {
			return a.ID
		}
	}
	return ""
}

// Due finds the point of decision that the task has reached.
func (s *RulingState) Due(w RulingStanding) (point decider.DecisionPoint, about string, ok bool) {
	if w.Task.Text == "" {
		return "", "", false
	}
	for _, m := range w.Conversation.Mail {
		if !m.AwaitsJudgement() || w.Task.Phase == machine.Idle {
			continue
		}
		if a, _ := w.Roster.Agent(m.From); m.Stumble || w.Task.HandedOffUnfinished(&a) || !w.Roster.AnyWorks() {
			return pointOf(&m), m.From, true // a finished document waits for other agents' work
		}
	}
	if id := s.FailedBefore(w.Roster); s.FallbackReason != "" && id != "" {
		return decider.PointSelect, id, true // the Arbiter had read about the failure, and rules no more
	}
	aside := s.FallbackReason != "" || w.Roster.Agents[0].Status != AgentBusy && !w.Conversation.AsksArbiter()
	if w.Task.Phase == machine.Evaluating {
		if id := w.Task.LastWorked(); aside && id != "" && !w.Roster.Engaged() && !w.Handoff.IsDue() {
			return decider.PointEvaluate, id, true // the Arbiter had read it, and rules no more
		}
	}
	switch {
	case w.Handoff.IsDue():
		return "", "", false
	case w.Task.Phase == machine.Error:
		if w.Roster.AnyWorks() {
			return "", "", false // the failed agent waits for a message
		}
	case w.Task.Phase == machine.Idle || w.Roster.Engaged():
		return "", "", false // in executing, too, there may be no Orchestrator: the Arbiter released them
	}
	return decider.PointSelect, "", aside // else the Arbiter is in a dialogue, and may rule itself
}

// pointOf is the point of decision for a message that ends an execution.
func pointOf(m *Mail) decider.DecisionPoint {
	if m.Stumble {
		return decider.PointSelect
	}
	return decider.PointEvaluate
}

// Record is the present state of the task; the inputs of decisions are built from it.
func (s *RulingState) Record(w RulingStanding) decider.DecisionRecord {
	o := w.Options
	r := decider.DecisionRecord{
		Task: w.Task.Text, History: w.Task.History, Error: w.Task.LastError, Failed: failedChecks(w),
		Iteration: w.Task.Iterations, MaxIterations: o.MaxIterations, Failures: w.Task.Failures,
		MaxFailures:   o.MaxFailures,
		TotalFailures: w.Task.TotalFailures, MaxTotalFailures: o.FailureLimit(s.FallbackReason != ""),
		TokensUsed: w.Tokens, CostUSD: w.CostUSD, MaxCostUSD: o.MaxCostUSD, Timeout: o.Timeout, Elapsed: w.Elapsed,
	}
	for _, p := range w.Task.Plan {
		r.Steps = append(r.Steps, decider.DecisionStep{Description: p.Text, Status: p.Status, Mode: p.Mode,
			AgentUsed: p.Agent})
	}
	for _, a := range o.AvailableModes() {
		d := decider.AgentDescription{
			Name: a.Name, DisplayName: a.Name, WhenToUse: a.Description,
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
func failedChecks(w RulingStanding) []decider.DecisionCheck {
	return append(w.Handoff.FailedChecks(), w.Task.FailedCriteria()...)
}

// Request builds the request for a decision at the point that the task has reached.
func (s *RulingState) Request(w RulingStanding, point decider.DecisionPoint, about string) *RulingRequest {
	p := &RulingRequest{Point: point, About: about}
	for i := range w.Conversation.Mail {
		if m := &w.Conversation.Mail[i]; m.AwaitsJudgement() {
			p.EndedExecutions = append(p.EndedExecutions, m.ID)
		}
	}
	r := s.Record(w)
	r.Judged = about
	p.Select = decider.SelectInput(r)
	var raw any = p.Select
	if point == decider.PointEvaluate {
		p.Evaluate = decider.EvaluateInput(r)
		raw = p.Evaluate
	}
	var err error
	p.Input, err = jsonl.Marshal(raw)
	if err != nil {
		panic(err) // our own types
	}
	return p
}

// Ask puts a question to the run's decider.
func (s *RulingState) Ask(c *effect.Collector, p *RulingRequest) {
	s.DeciderRequests++
	p.Serial = s.DeciderRequests
	s.DeciderRequest = p
	c.Do(effect.Decide{Question: decider.Record{Serial: p.Serial, Number: s.Decisions + 1, Point: p.Point, About: p.About,
		Input: p.Input}})
}

// ShowArbiter records the request that a message puts to the Arbiter, if the Arbiter's ruling on it is one of
// the task machine's decisions.
func (s *RulingState) ShowArbiter(w RulingStanding, m Mail) {
	if s.AsksOther(w.Options) {
		return
	}
	t := w.Task
	switch {
	case m.Kind == KindCorrection || m.Kind == KindRetry:
		// It is about the same request.
	case m.EndsExecution():
		s.ArbiterRequest = s.Request(w, pointOf(&m), m.From)
	case t.Text == "" || m.Kind == KindRenewal:
		s.ArbiterRequest = nil
	case t.Phase == machine.Selecting, t.Phase == machine.Error,
		t.Phase == machine.Idle && m.From == contract.Human: // the task itself
		s.ArbiterRequest = s.Request(w, decider.PointSelect, "")
	case t.Phase == machine.Evaluating && m.Kind == KindNotice && len(failedChecks(w)) > 0:
		s.ArbiterRequest = s.Request(w, decider.PointEvaluate, t.LastWorked()) // its COMPLETE was sent back
	default:
		s.ArbiterRequest = nil
	}
}

// AsksAt returns the point of decision at which the Arbiter was asked and gave no valid verdict; false: there
// was none.
func (s *RulingState) AsksAt(w RulingStanding) (point decider.DecisionPoint, about string, ok bool) {
	if w.Task.Text == "" {
		return "", "", false
	}
	switch p := s.ArbiterRequest; {
	case w.Task.Phase == machine.Evaluating && p != nil && p.Point == decider.PointEvaluate:
		return p.Point, p.About, true
	case w.Task.Phase == machine.Selecting && !w.Roster.Engaged() && !w.Handoff.IsDue(),
		w.Task.Phase == machine.Error && !w.Roster.AnyWorks() && !w.Handoff.IsDue():
		return decider.PointSelect, "", true
	}
	return "", "", false
}

// IsStumbling reports whether the decision about an Orchestrator's failure is still open.
func (s *RulingState) IsStumbling(w RulingStanding, id string) bool {
	return id == s.FailedBefore(w.Roster) || slices.ContainsFunc(w.Conversation.Mail, func(m Mail) bool {
		return m.From == id && m.Stumble && !m.Sent
	})
}
