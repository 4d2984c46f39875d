package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// modelAnswered reports whether a model answered in a turn: then it has read what was delivered
// before.
func modelAnswered(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnDone || t.Usage != (bridge.Usage{})
}

// maybeUnanswered reports whether a model may never have read a message of a turn that ended: none answered
// in the turn, or the message went into a running one, of which a later request may have failed.
func maybeUnanswered(a *roster.Agent, t bridge.Turn, m conversation.Mail) bool {
	return a.Role == roster.RoleOrchestrator && t.Outcome == bridge.TurnFailed && t.Category != bridge.CatVerdict &&
		(!modelAnswered(t) || m.Strength == contract.Steer)
}
