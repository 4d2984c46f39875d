package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// The status of a message, for people and for audits.
const (
	MessageReported  = "said"      // to a human, or to the work log
	MessageWaiting   = "waiting"   // in a queue
	MessageSent      = "sent"      // written to the agent, not proven yet
	MessageDelivered = "delivered" // the agent has proven that it has the message
	MessageDemoted   = "shelved"   // decided without its reader, which reads about it later
	MessageReturned  = "returned"  // its reader was released before it read it, or before a model answered it
)

// MessageRecord is one message and what happened to it.
type MessageRecord struct {
	ID     string    `json:"message_id"`
	At     time.Time `json:"time"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text"`
	Status string    `json:"status"`
	Sent   int       `json:"sent"` // how often it was written to the agent
}

// Messages builds the ledger of a run from the entries of its event log, in order.
type Messages struct {
	List []MessageRecord
	byID map[string]int
}

// AddMessage adds a message.
func (m *Messages) AddMessage(at time.Time, b contract.Message) {
	if m.byID == nil {
		m.byID = map[string]int{}
	}
	m.byID[b.MessageID] = len(m.List)
	m.List = append(m.List, MessageRecord{
		ID: b.MessageID, At: at, From: b.From, To: b.To, Kind: b.Kind, Text: b.Text, Status: MessageReported,
	})
}

// Sent records that a message was written to its reader, once more.
func (m *Messages) Sent(id string) {
	m.set(id, func(x *MessageRecord) {
		x.Sent++
		if x.Status != MessageDelivered { // sent again to a process that does not know it, it stays delivered
			x.Status = MessageSent
		}
	})
}

// Delivered records that the reader has proven that it has the message.
func (m *Messages) Delivered(id string) {
	m.set(id, func(x *MessageRecord) { x.Status = MessageDelivered })
}

// Demoted records that a message was ruled on without its reader.
func (m *Messages) Demoted(id string) {
	m.set(id, func(x *MessageRecord) { x.Status = MessageDemoted })
}

func (m *Messages) set(id string, change func(*MessageRecord)) {
	if i, ok := m.byID[id]; ok {
		change(&m.List[i])
	}
}

// Close sets the status of messages that are still on their way, from the last state.
func (m *Messages) Close(s *ConversationState) {
	waiting := map[string]string{}
	for _, x := range s.Queue() {
		waiting[x.ID] = MessageWaiting
		if x.Sent {
			waiting[x.ID] = MessageSent
		}
	}
	for _, x := range s.WorkLog {
		if !x.Demoted {
			waiting[x.ID] = MessageWaiting
		}
	}
	for i := range m.List {
		x := &m.List[i]
		if status, ok := waiting[x.ID]; ok {
			x.Status = status
		} else if slices.Contains(s.Unanswered, x.ID) {
			x.Status = MessageReturned
		} else if x.Status != MessageDelivered && x.Status != MessageDemoted && x.To != contract.Human {
			x.Status = MessageReturned
		}
	}
}
