package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// pump sends what can be sent: one message a turn, oldest first, to each agent
// that has no turn running; and a word that steers to one that has.
func (st *step) pump() {
	st.Conversation.CatchUp()
	if st.Paused || st.budgetHolds() {
		return
	}
	room := st.account().Room() - st.busyCount()
	for i := range st.Conversation.Mail {
		m := &st.Conversation.Mail[i]
		if m.Sent || st.Conversation.Held && conversation.BetweenAgents(m.From, m.Kind) ||
			st.Rulings.Withholds(&st.Options, &st.Task, m) {
			continue
		}
		a, ok := st.Agent(m.To)
		if !ok || a.Role == roster.RoleArbiter && st.Renewal.Withholds(m.Kind) {
			continue
		}
		steer := m.Strength == contract.Steer && a.Status == roster.Busy
		switch {
		case steer:
			st.mail().Send(i, true)
		case a.Status == roster.Ready && room > 0:
			st.mail().Send(i, false)
			room--
		}
	}
}
