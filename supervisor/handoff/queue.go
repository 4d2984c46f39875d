package handoff

import (
	"slices"
	"time"
)

// IsDue reports whether a document is under way that the Arbiter or a successor will read,
// or a COMPLETE is being judged.
func (s *State) IsDue() bool {
	return s.Completing != nil || slices.ContainsFunc(s.Documents, func(h Handover) bool {
		return h.Kind != KindReleased
	})
}

// ReportIsDue reports whether a document is under way to the Arbiter.
func (s *State) ReportIsDue() bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Kind != KindReleased && !h.Completes() })
}

// ChecksPending reports whether checks or criteria run that decide whether a COMPLETE takes effect.
func (s *State) ChecksPending() bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Completes() })
}

// IsCheck reports whether a permission is asked for a check under way.
func (s *State) IsCheck(request string) bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Request != "" && h.Request == request })
}

// IsHandingOver reports whether a document about an agent's work is on its way.
func (s *State) IsHandingOver(id string) bool {
	for i := range s.Documents {
		if s.Documents[i].Agent.ID == id {
			return true
		}
	}
	return false
}

// Edit returns a document under way to be written to; nil: there is none.
func (s *State) Edit(serial int) *Handover {
	i := slices.IndexFunc(s.Documents, func(h Handover) bool { return h.Serial == serial })
	if i < 0 {
		return nil
	}
	s.Documents = slices.Clone(s.Documents)
	return &s.Documents[i]
}

// Add queues a document and returns its serial.
func (s *State) Add(h Handover) int {
	s.DocumentSerial++
	h.Serial = s.DocumentSerial
	s.Documents = append(slices.Clone(s.Documents), h)
	return h.Serial
}

// Remove takes a document off the queue.
func (s *State) Remove(serial int) {
	s.Documents = slices.DeleteFunc(slices.Clone(s.Documents), func(x Handover) bool { return x.Serial == serial })
}

// Ready returns the serial of an author's oldest document whose checks have all been run; 0: there is none. Checks says
// how many are run of a document.
func (s *State) Ready(author string, checks func(*Handover) int) int {
	for i := range s.Documents {
		if h := &s.Documents[i]; h.Agent.ID == author && h.Document != nil && len(h.Receipts) >= checks(h) {
			return h.Serial
		}
	}
	return 0
}

// RemoveWhere takes documents off the queue, and returns them.
func (s *State) RemoveWhere(unwanted func(*Handover) bool) (removed []Handover) {
	var kept []Handover
	for i := range s.Documents {
		if h := &s.Documents[i]; unwanted(h) {
			removed = append(removed, *h)
		} else {
			kept = append(kept, *h)
		}
	}
	s.Documents = kept
	return removed
}

// ChecksOf is how many checks of a document are run.
func (h *Handover) ChecksOf() int {
	if h.Why != "" {
		return 0
	}
	if h.Completes() {
		return len(h.Document.Checks)
	}
	return min(len(h.Document.Checks), MaxChecks)
}

// Completes reports whether the checks decide whether a COMPLETE takes effect.
func (h *Handover) Completes() bool { return h.Kind == KindRepeated || h.Kind == KindAccept }

// Patience bounds the way of a document: the work waits for it. A repetition has as long for each ten checks.
func (h *Handover) Patience() time.Duration {
	switch h.Kind {
	case KindAccept: // each command has a time limit of its own
		return AcceptTimeout * time.Duration(1+len(h.Document.Checks))
	case KindRepeated:
	default:
		return HandoverPatience
	}
	return HandoverPatience * time.Duration(1+len(h.Document.Checks)/MaxChecks)
}

const (
	// MaxChecks of one document are run; a hand-off must not become a test plan.
	MaxChecks = 10
	// AcceptTimeout bounds the command of one acceptance criterion: test suites are among them.
	AcceptTimeout = 30 * time.Minute
	// HandoverPatience bounds a document's way: the work waits for it.
	HandoverPatience = 10 * time.Minute
)
