package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// ConversationState is the conversation part of a run: messages on their way, and past messages. It is a value that is
// copied with the state of the run; the mail and the work log are shared between copies until they are written.
type ConversationState struct {
	Mail    []Mail    // messages that are not delivered yet, oldest first
	Backlog []Backlog `json:",omitempty"` // of a human's messages, after those in Mail
	InTurn  []Mail    // delivered, and their turn is not over, or was refused by the API
	// ids of messages that were delivered, and whose readers were released before a model answered
	Unanswered        []string
	RecentMessages    []*contract.Message // the last messages, oldest first
	Ledger            ConversationLedger
	WorkLog           []ConversationEntry // reports that wait to be sent with a message
	Exchanges         int                 // messages between agents since a human spoke
	ExchangeLimitHits int                 // how often the limit of exchanges was reached since then
	Held              bool                // because of that limit: nothing is sent until a human sends a message

	IDs IDs

	own struct{ mail, log bool } // not shared with an earlier copy
}

// IDs is what ids of messages and sessions are derived from.
type IDs struct {
	Count int    // messages so far
	Salt  string `json:",omitempty"` // of the process that runs the run
}

// Freeze ends the editing of this copy. Call it before the state is shared.
func (s *ConversationState) Freeze() { s.own.mail, s.own.log = false, false }

// EditMail returns the mail for writing.
func (s *ConversationState) EditMail() []Mail {
	if !s.own.mail {
		s.Mail, s.own.mail = slices.Clone(s.Mail), true
	}
	return s.Mail
}

// EditLog returns the work log for writing.
func (s *ConversationState) EditLog() []ConversationEntry {
	if !s.own.log {
		s.WorkLog, s.own.log = slices.Clone(s.WorkLog), true
	}
	return s.WorkLog
}

// Remember records a message as the latest of the conversation.
func (s *ConversationState) Remember(m *contract.Message) {
	keep := s.RecentMessages
	if len(keep) >= RecentMessagesKept {
		keep = keep[len(keep)-RecentMessagesKept+1:]
	}
	s.RecentMessages = appended(keep, m)
}

// appended returns a copy of a list that shares nothing with it, with one more element and no space for others.
func appended[T any](list []T, x T) []T {
	longer := make([]T, len(list)+1)
	longer[copy(longer, list)] = x
	return longer
}

// Correct changes the recorded text of a message.
func (s *ConversationState) Correct(id string, change func(*contract.Message)) {
	s.RecentMessages = slices.Clone(s.RecentMessages)
	for i, said := range s.RecentMessages {
		if said.MessageID == id {
			other := *said
			change(&other)
			s.RecentMessages[i] = &other
		}
	}
}

// Forget removes a message from the recorded conversation.
func (s *ConversationState) Forget(id string) {
	s.RecentMessages = slices.DeleteFunc(slices.Clone(s.RecentMessages), func(x *contract.Message) bool {
		return x.MessageID == id
	})
}

// Mail is a message on its way to an agent. It stays until it is delivered.
type Mail struct {
	ID       string
	From, To string
	Kind     string
	Text     string
	At       time.Time
	Strength string // of a human's message: note, steer, stop
	Sent     bool   // written to the agent, not proven yet
	Wire     string // the id it was sent under; another one after its process ended
	Content  string // as it was sent: if sent again, it is the same
	Resent   bool   // written twice under the same id
	Reported bool   // the `delivered` event was emitted
	// the API refused the turn that contained it: no model has answered it yet
	Refused      bool                   `json:",omitempty"`
	Tries        int                    // sends that failed
	Carries      []string               // work log entries that are sent with it
	CarriesBrief bool                   // the hand-off brief of the Arbiter is sent with it
	BriefBytes   int                    // size of the brief at the beginning of Content
	Stumble      bool                   // a question caused by a failed tool: the execution is over
	Attached     []ConversationAttached `json:",omitempty"` // parts that the sender did not write
	Images       []contract.Image       `json:",omitempty"` // after the text
}

// ConversationEntry is a report that expects no answer.
type ConversationEntry struct {
	ID      string // of its `message` event
	From    string
	Kind    string
	Text    string
	At      time.Time
	Carrier string // the message it is sent with, once there is one
	Quiet   bool   // it was announced by another event
	Demoted bool   `json:",omitempty"` // it was a separate message, and was ruled on without its reader
}

// ConversationLedger counts what happened to messages to agents.
type ConversationLedger struct {
	Posted    int `json:"posted"`
	Sent      int `json:"sent"`              // written to an agent, repeats included
	Seen      int `json:"seen"`              // proven to have been processed
	Resent    int `json:"resent"`            // written again for lack of proof
	Swallowed int `json:"swallowed"`         // not processed even then; the agent was restarted
	Requeued  int `json:"requeued"`          // lost with a process, and queued again
	Returned  int `json:"returned"`          // their reader was released before it read them
	Demoted   int `json:"shelved,omitempty"` // became reports of the work log: they were ruled on without the Arbiter
}

// ConversationAttached is a part of a message that its sender did not write: a document that is passed on, or what the
// supervisor found about one. Unless it is trusted it is marked as a report, so that no Orchestrator can write
// in the name of the Arbiter or of the supervisor.
type ConversationAttached struct {
	Title      string
	From, Kind string
	Text       string
	Trusted    bool
}

// Backlog holds a human's messages that wait after InReach others for one agent, oldest first. Its parts are
// never changed once they are full: a state shares them with earlier ones.
type Backlog struct {
	To    string
	Parts [][]Mail // InReach in each but the first and the last
}

// RecentMessagesKept is how many messages of the conversation a state keeps.
const RecentMessagesKept = 200

// IsDocument reports whether a message of this kind carries a hand-off document.
func IsDocument(kind string) bool { return kind == verdict.KindDone || kind == verdict.KindHandoff }

// Whole is a message with its attachments, as people read it.
func (m *Mail) Whole() string {
	text := m.Text
	for _, a := range m.Attached {
		if a.From != contract.Supervisor || !a.Trusted {
			text += "\n\n" + a.Text
		}
	}
	return text
}

// EndsExecution reports whether the message ends an execution: what follows is a point of decision.
func (m *Mail) EndsExecution() bool { return IsDocument(m.Kind) || m.Stumble }

// AwaitsJudgement reports whether the message waits for a decision on the execution that it ends.
func (m *Mail) AwaitsJudgement() bool {
	return m.To == contract.Arbiter && m.EndsExecution() && !m.Sent
}

// OfSession reports whether a message refers to what its reader's own session contains: another session cannot
// understand it.
func (m *Mail) OfSession() bool {
	return m.From == contract.Supervisor && (m.Kind == KindCorrection || m.Kind == KindRetry || m.Kind == KindRenewal)
}

// DocumentWaits reports whether a `done` or `handoff` waits to be read by the Arbiter.
func (s *ConversationState) DocumentWaits() bool {
	return slices.ContainsFunc(s.Mail, isDocumentForArbiter)
}

// DocumentIsRead reports whether the Arbiter's present turn contains a `done` or `handoff`.
func (s *ConversationState) DocumentIsRead() bool {
	return slices.ContainsFunc(s.InTurn, isDocumentForArbiter)
}

func isDocumentForArbiter(m Mail) bool { return m.To == contract.Arbiter && IsDocument(m.Kind) }

// ForSuccessor prepares what waits for the Arbiter for another session: a message no longer contains what the
// old session received from its predecessor. It reports whether the old session had been asked for its ruling
// again.
func (s *ConversationState) ForSuccessor() (unruled bool) {
	for i := range s.EditMail() {
		m := &s.Mail[i]
		switch {
		case m.To != contract.Arbiter:
		case m.OfSession():
			unruled = unruled || m.Kind != KindRenewal
		case m.BriefBytes > 0:
			m.Content, m.BriefBytes, m.CarriesBrief = m.Content[m.BriefBytes:], 0, false
		}
	}
	return unruled
}
