package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// post queues a message and announces it. A run that is ending, perhaps since a
// moment ago in the same step, takes none.
func (st *step) post(m Mail) {
	if st.Ending != nil {
		return
	}
	m.ID, m.At = st.newMessageID(), st.at
	st.emit(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Text})
	if m.Strength == contract.Stop {
		// It goes first: the turn it interrupts must not be followed by another.
		at := slices.IndexFunc(st.Mail, func(x Mail) bool { return x.To == m.To && !x.Sent })
		if at >= 0 {
			st.Mail, st.ownMail = slices.Insert(slices.Clone(st.Mail), at, m), true
			return
		}
	}
	st.Mail = append(st.mail(), m)
}

// tell posts the supervisor's own word to an agent.
func (st *step) tell(to, kind, text string) {
	st.post(Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// toHuman announces a message that no agent receives.
func (st *step) toHuman(kind, text string) {
	st.emit(contract.Arbiter, contract.Message{
		MessageID: st.newMessageID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// pump sends what can be sent: one message a turn, oldest first, to each agent
// that has no turn running; and a word that steers to one that has.
func (st *step) pump() {
	if st.Paused {
		return
	}
	for i := range st.Mail {
		m := &st.Mail[i]
		if m.Sent || st.Held && st.betweenAgents(m.From, m.Kind) {
			continue
		}
		a, ok := st.agent(m.To)
		if !ok {
			continue
		}
		steer := m.Strength == contract.Steer && a.Status == Busy
		if a.Status == Ready || steer {
			st.send(i, steer)
		}
	}
}

// send writes one message to its agent. The work log travels with the first
// message to the Arbiter that can carry it.
func (st *step) send(i int, steer bool) {
	m := &st.mail()[i]
	m.Sent, m.Carries = true, nil
	if m.To == contract.Arbiter && m.Kind != KindCorrection {
		log := st.workLog()
		for k := range log {
			if log[k].Carrier == "" {
				log[k].Carrier = m.ID
				m.Carries = append(m.Carries, log[k].ID)
			}
		}
	}
	a := st.edit(m.To)
	if !steer {
		a.Status, a.Since, a.Turn = Busy, st.at, nil
	}
	a.Turn = append(slices.Clip(a.Turn), m.ID)
	st.do(Send{bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.ID, Content: st.render(*m), Steer: steer}})
}

// delivered takes a message off the queue, with the reports it carried.
func (st *step) delivered(id string) {
	i := slices.IndexFunc(st.Mail, func(m Mail) bool { return m.ID == id })
	if i < 0 {
		return
	}
	m := st.Mail[i]
	st.Mail = slices.Delete(st.mail(), i, i+1)
	st.emit(m.To, contract.Delivered{MessageID: id})
	if len(m.Carries) == 0 {
		return
	}
	kept := st.WorkLog[:0:0]
	for _, e := range st.WorkLog {
		if e.Carrier != id {
			kept = append(kept, e)
			continue
		}
		st.emit(m.To, contract.Delivered{MessageID: e.ID})
	}
	st.WorkLog, st.ownLog = kept, true
}

// unsent puts a message back: the agent did not take it up.
func (st *step) unsent(id string) {
	i := slices.IndexFunc(st.Mail, func(m Mail) bool { return m.ID == id })
	if i < 0 {
		return
	}
	m := &st.mail()[i]
	m.Sent, m.Carries = false, nil
	log := st.workLog()
	for k := range log {
		if log[k].Carrier == id {
			log[k].Carrier = ""
		}
	}
}

// drop takes all mail to an agent that can no longer read it, and returns it.
func (st *step) drop(to string) []Mail {
	var lost []Mail
	for _, m := range st.Mail {
		if m.To == to {
			st.unsent(m.ID)
			lost = append(lost, m)
		}
	}
	if len(lost) > 0 {
		st.Mail = slices.DeleteFunc(st.mail(), func(m Mail) bool { return m.To == to })
	}
	return lost
}

// notSent handles a message the bridge could not write. If the CLI has proven
// meanwhile that it has the message, the failure was one of the answer only.
func (st *step) notSent(f NotSent) {
	a := st.edit(f.Agent.ID)
	i := slices.IndexFunc(st.Mail, func(m Mail) bool { return m.ID == f.MessageID })
	if a == nil || a.Generation != f.Agent.Generation || i < 0 {
		return
	}
	st.unsent(f.MessageID)
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(id string) bool { return id == f.MessageID })
	if a.Status == Busy && len(a.Turn) == 0 {
		a.Status, a.Since = Ready, st.at
	}
	m := &st.mail()[i]
	m.Tries++
	if m.Tries < 3 {
		return // pump sends it again
	}
	st.Mail = slices.Delete(st.mail(), i, i+1)
	st.broken(a.ID, bridge.CatProtocol, "a message could not be written: "+f.Message)
}

// betweenAgents says whether a message is part of the agents' own talk, which
// the ceiling of exchanges counts and may hold.
func (s *State) betweenAgents(from, kind string) bool {
	return from != contract.Human && from != contract.Supervisor || kind == KindContinue
}

// log queues a report that expects no answer.
func (st *step) log(from, kind, text string) {
	e := Entry{ID: st.newMessageID(), From: from, Kind: kind, Text: text, At: st.at}
	st.emit(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	st.WorkLog = append(st.workLog(), e)
}
