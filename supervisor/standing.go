package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// awaitsRuling reports whether a `done` or `handoff` lies unread before the Arbiter.
func (s *State) awaitsRuling() bool {
	for i := range s.Conversation.Mail {
		if m := &s.Conversation.Mail[i]; m.To == contract.Arbiter &&
			(m.Kind == verdict.KindDone || m.Kind == verdict.KindHandoff) {
			return true
		}
	}
	return s.Handoff.IsDue()
}

// awaitsArbiter reports whether a `done` or `handoff` is with the Arbiter, unread or at hand.
func (s *State) awaitsArbiter() bool {
	return s.awaitsRuling() || slices.ContainsFunc(s.Conversation.InTurn,
		func(m conversation.Mail) bool { return m.To == contract.Arbiter && conversation.IsDocument(m.Kind) })
}

// awaitsHuman reports whether a human who is there has yet to answer the Arbiter. Nobody else
// settles what they were asked.
func (s *State) awaitsHuman() bool {
	return s.Question != nil && s.Question.Arbiter && s.HumanPresent
}

// Completed reports whether the run came to its end: it can be resumed, and then
// waits for another task.
func (s *State) Completed() bool {
	return s.Task.Phase == machine.Complete && s.Ending != nil && s.Ending.Status == contract.StatusComplete
}

// asksOther reports whether another than the Arbiter's session decides at the points.
func (s *State) asksOther() bool {
	return s.Options.Decider != "" && s.Options.Decider != runconfig.DeciderSession && !s.DeciderYielded
}

// failedBefore is who waits for what the Arbiter was to rule on its failure; empty: nobody.
func (s *State) failedBefore() string {
	if p := s.ArbiterRequest; p != nil && p.Point == decision.PointSelect {
		if a, ok := s.Agent(p.About); ok && a.Alive() && a.Standing == roster.Waiting {
			return a.ID
		}
	}
	return ""
}

// pendingFor reports whether a message waits to be sent to the agent, in its present
// incarnation.
func (s *State) pendingFor(id string) bool {
	return slices.ContainsFunc(s.Conversation.Mail, func(m conversation.Mail) bool {
		return m.To == id && !m.Sent && !(id == contract.Arbiter && s.renewing(m.Kind))
	})
}

// renewing reports whether a message of this kind waits for the Arbiter's successor.
func (s *State) renewing(kind string) bool {
	switch s.RenewalStage {
	case renewalAsked:
		return kind != conversation.KindRenewal && kind != conversation.KindCorrection && kind != conversation.KindRetry
	case renewalGiven:
		return true
	}
	return false
}

// nothingText stands for an empty text in what a model reads.
const nothingText = "(nothing)"
