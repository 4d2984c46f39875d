package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/rulings"
	"github.com/arbiter-cli/arbiter/supervisor/sender"
)

// awaitsHuman reports whether a human who is there has yet to answer the Arbiter. Nobody else
// settles what they were asked.
func (s *State) awaitsHuman() bool {
	return s.Question.AwaitsAnswer() && s.HumanPresent
}

// Completed reports whether the run came to its end: it can be resumed, and then
// waits for another task.
func (s *State) Completed() bool {
	return s.Task.Phase == machine.Complete && s.Ending != nil && s.Ending.Status == contract.StatusComplete
}

// pendingFor reports whether a message waits to be sent to the agent, in its present
// incarnation.
func (s *State) pendingFor(id string) bool {
	return slices.ContainsFunc(s.Conversation.Mail, func(m conversation.Mail) bool {
		return m.To == id && !m.Sent && !(id == contract.Arbiter && s.Renewal.Withholds(m.Kind))
	})
}

// awaitsRuling reports whether a document is on its way to the Arbiter, or lies unread before it.
func (s *State) awaitsRuling() bool { return s.Conversation.DocumentWaits() || s.Handoff.IsDue() }

// standing is where the run stands, for decisions.
func (st *step) standing() rulings.Standing { return st.standingAfter(st.elapsed()) }

func (s *State) standingAfter(elapsed time.Duration) rulings.Standing {
	return rulings.Standing{
		Options: &s.Options, Task: &s.Task, Roster: &s.Roster, Conversation: &s.Conversation, Handoff: &s.Handoff,
		Tokens:  budget.Tokens(s.Budget.Usage),
		CostUSD: s.Budget.CostUSD, Elapsed: elapsed,
	}
}

// Record is the task as it stands, as the inputs of decisions are built from.
func (s *State) Record() decision.Record {
	return s.Rulings.Record(s.standingAfter(s.Budget.Runtime.Elapsed(s.Budget.Runtime.LastAt)))
}

// Senders says who an input is from.
func (s *State) Senders() sender.Run {
	return sender.Run{Roster: &s.Roster, Handoff: &s.Handoff, Permission: &s.Permission}
}
