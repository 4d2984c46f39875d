package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// leftUndone reports whether one has handed off its own work. A planner hands on a plan.
func (s *State) leftUndone(a *roster.Agent) bool {
	return a.Standing == roster.HandedOff && !(a.Mode == task.PlannerMode && len(s.Task.Plan) > 0)
}

// due finds the point of decision that the task stands at.
func (st *step) due() (point decision.Point, about string, ok bool) {
	if st.Task.Text == "" {
		return "", "", false
	}
	for _, m := range st.Conversation.Mail {
		if !m.AwaitsJudgement() || st.Task.Phase == machine.Idle {
			continue
		}
		if a, _ := st.Agent(m.From); m.Stumble || st.leftUndone(&a) || !st.AnyWorks() {
			return pointOf(&m), m.From, true // what is done waits for what others still do
		}
	}
	if id := st.failedBefore(); st.FallbackReason != "" && id != "" {
		return decision.PointSelect, id, true // the Arbiter had read of the failure, and rules no more
	}
	aside := st.FallbackReason != "" || st.Agents[0].Status != roster.Busy && !st.arbiterAsked()
	if st.Task.Phase == machine.Evaluating {
		if last := st.Task.History.Last(1); aside && len(last) > 0 && !st.Engaged() && !st.Handoff.IsDue() {
			return decision.PointEvaluate, last[0].ID, true // the Arbiter had read it, and rules no more
		}
	}
	switch {
	case st.Handoff.IsDue():
		return "", "", false
	case st.Task.Phase == machine.Error:
		if st.AnyWorks() {
			return "", "", false // the one that broke waits for a word
		}
	case st.Task.Phase == machine.Idle || st.Engaged():
		return "", "", false // in executing, too, nobody may be left: the Arbiter released them, and then ruled no more
	}
	return decision.PointSelect, "", aside // else it speaks with somebody, and may rule itself
}

// arbiterAsked reports whether the Arbiter's own word is asked for, beyond the task: by the
// human, an Orchestrator, or a correction.
func (s *State) arbiterAsked() bool {
	return slices.ContainsFunc(slices.Concat(s.Conversation.Mail, s.Conversation.InTurn), func(m conversation.Mail) bool {
		return m.To == contract.Arbiter && m.Kind != conversation.KindTask && m.Kind != conversation.KindNotice && m.Kind != conversation.KindRenewal
	})
}

// pointOf is the point of decision that a message which ends an execution stands at.
func pointOf(m *conversation.Mail) decision.Point {
	if m.Stumble {
		return decision.PointSelect
	}
	return decision.PointEvaluate
}

// withheld reports whether a message waits for a decision that the Arbiter does not make.
func (s *State) withheld(m *conversation.Mail) bool {
	switch {
	case m.To != contract.Arbiter || m.Sent:
		return false
	case s.FallbackReason != "":
		return true
	case !s.asksOther() || s.Task.Text == "":
		return false
	}
	return m.EndsExecution() || m.Kind == conversation.KindTask && s.Task.Phase != machine.Idle
}
