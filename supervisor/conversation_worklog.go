package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	demotedText = 4 << 10 // bytes of a message that becomes a work log entry
	demotedMost = 64      // entries; beyond them the oldest are dropped
)

// MoveToWorkLog turns messages into entries of the work log: they were ruled on without their reader.
func (s *ConversationState) MoveToWorkLog(taken func(*Mail) bool) {
	for _, m := range slices.Clone(s.Mail) {
		if !taken(&m) {
			continue
		}
		s.WorkLog = append(
			s.EditLog(),
			ConversationEntry{
				ID:      m.ID,
				From:    m.From,
				Kind:    m.Kind,
				Text:    words.Head(m.Text, demotedText),
				At:      m.At,
				Demoted: true,
			},
		)
		s.Mail = slices.DeleteFunc(s.EditMail(), func(x Mail) bool { return x.ID == m.ID })
		if !m.Reported {
			s.Ledger.Demoted++
		}
	}
}

// BoundLog drops the oldest entries of the work log above a bound: if another decider decides, the Arbiter may
// never read them.
func (s *ConversationState) BoundLog() {
	for range len(s.WorkLog) - demotedMost {
		if i := slices.IndexFunc(s.WorkLog, func(e ConversationEntry) bool { return e.Carrier == "" }); i >= 0 {
			s.WorkLog = slices.Delete(s.EditLog(), i, i+1)
		}
	}
}

// AddEntry adds a report to the work log.
func (s *ConversationState) AddEntry(e ConversationEntry) {
	s.WorkLog, s.own.log = appended(s.WorkLog, e), true
}

// Attach attaches to a message all reports that no other message carries yet.
func (s *ConversationState) Attach(m *Mail) {
	log := s.EditLog()
	for k := range log {
		if log[k].Carrier == "" {
			log[k].Carrier = m.ID
			m.Carries = append(m.Carries, log[k].ID)
		}
	}
}

// TakeCarried removes the reports that were sent with a message from the work log, and returns them.
func (s *ConversationState) TakeCarried(id string) (carried []ConversationEntry) {
	kept := s.WorkLog[:0:0]
	for _, e := range s.WorkLog {
		if e.Carrier == id {
			carried = append(carried, e)
		} else {
			kept = append(kept, e)
		}
	}
	s.WorkLog, s.own.log = kept, true
	return carried
}
