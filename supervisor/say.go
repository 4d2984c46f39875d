package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// humanMessage routes a message of the human.
func (st *step) humanMessage(ref string, c contract.Say) {
	to := cmp.Or(c.To, contract.Arbiter)
	a, ok := st.Agent(to)
	if !ok || !a.Alive() {
		if a.Status == AgentParked {
			st.out.Reject(ref, "there is no living agent %q: it is parked; choose retry first", to)
			return
		}
		st.out.Reject(ref, "there is no living agent %q; alive: %s", to, st.AddresseesText())
		return
	}
	st.out.Accept(ref, "message to "+to)
	st.word(c)
}

// word delivers a message of the human to a living agent.
func (st *step) word(c contract.Say) {
	to := cmp.Or(c.To, contract.Arbiter)
	a, _ := st.Agent(to)
	st.HumanSpoke = true
	st.Task.Acceptance.Rejections = 0
	st.Conversation.Exchanges, st.Conversation.ExchangeLimitHits, st.Conversation.Held = 0, 0, false
	st.allMoved()
	if to == contract.Arbiter {
		st.Rulings.LeaveFallback(&st.out)
		// the Arbiter has to know the task that the message is about
		st.moveToWorkLog(func(m *Mail) bool { return st.withholds(m) && m.Kind == KindTask })
	}
	if to == contract.Arbiter && st.Task.Text == "" && st.asksOther() {
		st.Question.Open = nil
		st.giveTask(c.Text, c.Kept) // it is for the decider, without a dialogue before it
		return
	}
	m := Mail{From: contract.Human, To: to, Kind: KindMessage, Text: c.Text,
		Strength: c.Strength, Images: c.Kept}
	switch {
	case to != contract.Arbiter:
		m.Kind = KindInstruction
		st.Question.Recovery.Overcome(&st.Roster, to)
		worker := st.Edit(to)
		worker.Standing = AgentWorking
		st.renewFuse(worker)
		st.executing()
		st.goesOn(worker)
	case st.Task.Text == "" && (st.Question.Open != nil || !st.AnyWorks()): // also if it answers what the human wants
		m.Kind = KindTask
		st.Task.Text, st.Task.Images, st.Question.Open = c.Text, c.Kept, nil
	case st.Question.Open != nil:
		m.Kind = KindAnswer
		st.Question.Open = nil
	case st.AnyWorks():
		m.Kind = KindInterjection
	}
	if m.Kind == KindTask {
		m.Attached = st.attachedToTask()
	}
	st.post(m)
	if c.Strength == contract.Stop && a.Status == AgentBusy {
		st.do(input.Interrupt{Agent: a.AgentRef})
	}
}

// Held says why a paused or halted run sends nothing; empty: it is neither.
func Held(paused, halted bool) string {
	how := "paused"
	switch {
	case halted:
		how = "halted"
	case !paused:
		return ""
	}
	return "the run is " + how + ": nothing is sent before it is continued (`/continue`; the command continue)"
}

// pump sends what can be sent: one message a turn, oldest first, to each agent that has no turn running; and a
// steering message to an agent that has one.
func (st *step) pump() {
	if st.Paused || st.budgetHolds() {
		return
	}
	room := st.turnsLeft() - st.busyCount()
	for i := range st.Conversation.Mail {
		m := &st.Conversation.Mail[i]
		byAgent := m.From != contract.Human && m.From != contract.Supervisor || m.Kind == KindContinue
		if m.Sent || m.Pauses || st.Conversation.Held && byAgent || st.withholds(m) {
			continue
		}
		a, ok := st.Agent(m.To)
		if !ok || a.Role == RoleArbiter && st.Renewal.Withholds(m.Kind) {
			continue
		}
		steer := m.Strength == contract.Steer && a.Status == AgentBusy && a.Make == "" // no other make takes it then
		switch {
		case steer:
			st.send(i, true)
		case a.Status == AgentReady && room > 0:
			st.send(i, false)
			room--
		}
	}
}
