package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// A message that the CLI has taken up is in the session's history, but no model has read it if the
// API refused the turn: the agent is told later to take it up again. An Orchestrator that is let go
// before that never reads it.

// modelAnswered reports whether a model answered in a turn: then it has read what was delivered
// before.
func modelAnswered(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnDone || t.Usage != (bridge.Usage{})
}

// maybeUnanswered reports whether a model may never have read a message of a turn that ended: none answered
// in the turn, or the message went into a running one, of which a later request may have failed.
func maybeUnanswered(a *roster.Agent, t bridge.Turn, m Mail) bool {
	return a.Role == roster.RoleOrchestrator && t.Outcome == bridge.TurnFailed && t.Category != bridge.CatVerdict &&
		(!modelAnswered(t) || m.Strength == contract.Steer)
}

// markRefused keeps a message whose turn the API refused until a model has answered in a later one.
func (st *step) markRefused(wire string) {
	i := onWire(st.InTurn, wire)
	if i < 0 {
		return
	}
	st.InTurn = slices.Clone(st.InTurn)
	st.InTurn[i].Refused = true
}

// forgetRefused forgets the messages of an agent's earlier turns: a model has read them now.
func (st *step) forgetRefused(id string) {
	read := func(m Mail) bool { return m.To == id && m.Refused }
	if slices.ContainsFunc(st.InTurn, read) {
		st.InTurn = slices.DeleteFunc(slices.Clone(st.InTurn), read)
	}
}

// returnRefused returns the messages that an agent was given and no model answered: the agent is
// let go.
func (st *step) returnRefused(id string) []Mail {
	var list []Mail
	for _, m := range st.InTurn {
		if m.To != id || !m.Refused {
			continue
		}
		list = append(list, m)
		st.Ledger.Seen--
		st.Ledger.Returned++
		if len(st.Unanswered) >= RecentMessagesKept {
			st.Unanswered = st.Unanswered[1:]
		}
		st.Unanswered = append(slices.Clip(st.Unanswered), m.ID)
		if m.From == contract.Human {
			st.emit(id, contract.Notice{Text: "message " + m.ID + " was not answered: the API refused the turn, and " +
				st.displayName(id) + " was let go before another"})
		}
	}
	return list
}
