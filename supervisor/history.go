package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Where a message stands, for people and for audits.
const (
	MessageSaid      = "said"      // to a human, or to the work log
	MessageWaiting   = "waiting"   // in a queue
	MessageSent      = "sent"      // written to the agent, no proof yet
	MessageDelivered = "delivered" // the agent proved to have it
	MessageShelved   = "shelved"   // ruled on without its reader, who is told of it in passing
	MessageReturned  = "returned"  // its reader was let go before it read it
)

// MessageRecord is one message and what became of it.
type MessageRecord struct {
	ID     string    `json:"message_id"`
	At     time.Time `json:"time"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text"`
	Status string    `json:"status"`
	Sent   int       `json:"sent"` // how often it was written
}

// Messages makes the ledger of a run from its replayed history.
type Messages struct {
	List    []MessageRecord
	byID    map[string]int
	shelved int // messages so far
}

// Take notes one step of the history; wire ids are known by the state after it.
func (m *Messages) Take(r Replayed, after *State) {
	if after.Ledger.Shelved != m.shelved {
		m.shelved = after.Ledger.Shelved
		for _, e := range after.WorkLog {
			if e.Shelved {
				m.set(e.ID, func(x *MessageRecord) { x.Status = MessageShelved })
			}
		}
	}
	for _, e := range r.Effects {
		switch e := e.(type) {
		case Emit:
			m.emitted(r.Input.At, e.Event)
		case Send:
			if sent, ok := after.SentAs(e.Params.MessageID); ok {
				m.set(sent.ID, func(x *MessageRecord) {
					x.Sent++
					if x.Status != MessageDelivered { // sent to a process that knows nothing of it, it stays so
						x.Status = MessageSent
					}
				})
			}
		}
	}
}

func (m *Messages) emitted(at time.Time, e contract.Event) {
	switch b := e.Body.(type) {
	case contract.Message:
		if m.byID == nil {
			m.byID = map[string]int{}
		}
		m.byID[b.MessageID] = len(m.List)
		m.List = append(m.List, MessageRecord{
			ID: b.MessageID, At: at, From: b.From, To: b.To, Kind: b.Kind, Text: b.Text, Status: MessageSaid,
		})
	case contract.Delivered:
		m.set(b.MessageID, func(x *MessageRecord) { x.Status = MessageDelivered })
	}
}

func (m *Messages) set(id string, change func(*MessageRecord)) {
	if i, ok := m.byID[id]; ok {
		change(&m.List[i])
	}
}

// Close settles, by the last state, what is still on its way.
func (m *Messages) Close(s *State) {
	waiting := map[string]string{}
	for _, x := range s.Queue() {
		waiting[x.ID] = MessageWaiting
		if x.Sent {
			waiting[x.ID] = MessageSent
		}
	}
	for _, x := range s.WorkLog {
		if !x.Shelved {
			waiting[x.ID] = MessageWaiting
		}
	}
	for i := range m.List {
		x := &m.List[i]
		if status, ok := waiting[x.ID]; ok {
			x.Status = status
		} else if x.Status != MessageDelivered && x.Status != MessageShelved && x.To != contract.Human {
			x.Status = MessageReturned
		}
	}
}
