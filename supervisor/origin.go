package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// otherSession says why a process is not the one that was asked for, by the session it
// names; empty: it is, or it names none.
func otherSession(a *roster.Agent, session string) string {
	if session == "" || strings.EqualFold(session, a.SessionID) {
		return ""
	}
	return fmt.Sprintf("its process speaks for session %.100q, and not for %s", session, a.SessionID)
}

// disowned tells of such a process.
func (st *step) disowned(a *roster.Agent, why string) {
	st.emit(a.ID, contract.Error{Category: bridge.CatProtocol, Message: a.Name + ": " + why,
		RecoveryOptions: []string{}})
}

// handed tells that an agent was proven to have read a message.
func (st *step) handed(to, from, id string) {
	d := contract.Delivered{MessageID: id}
	if a := st.Edit(to); a != nil {
		a.Delivered++
		d.From, d.SessionID, d.Generation, d.Sequence = from, a.SessionID, a.Generation, a.Delivered
	}
	st.emit(to, d)
}
