package supervisor

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// IsDue reports whether a document is being processed that the Arbiter or a successor will read, or a COMPLETE
// is being judged.
func (s *HandoffState) IsDue() bool {
	return s.Completing != nil || slices.ContainsFunc(s.Documents, func(h Handover) bool {
		return h.Kind != KindReleased
	})
}

// ReportIsDue reports whether a document for the Arbiter is being processed.
func (s *HandoffState) ReportIsDue() bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Kind != KindReleased && !h.Completes() })
}

// ChecksPending reports whether checks or criteria run that decide whether a COMPLETE takes effect.
func (s *HandoffState) ChecksPending() bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Completes() })
}

// IsCheck reports whether a permission request is for a running check.
func (s *HandoffState) IsCheck(request string) bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Request != "" && h.Request == request })
}

// IsHandingOver reports whether a document about an agent's work is being processed.
func (s *HandoffState) IsHandingOver(id string) bool {
	for i := range s.Documents {
		if s.Documents[i].Agent.ID == id {
			return true
		}
	}
	return false
}

// Edit returns a document that is being processed for writing, or nil.
func (s *HandoffState) Edit(serial int) *Handover {
	i := slices.IndexFunc(s.Documents, func(h Handover) bool { return h.Serial == serial })
	if i < 0 {
		return nil
	}
	s.Documents = slices.Clone(s.Documents)
	return &s.Documents[i]
}

// Add queues a document and returns its serial.
func (s *HandoffState) Add(h Handover) int {
	s.DocumentSerial++
	h.Serial = s.DocumentSerial
	s.Documents = append(slices.Clone(s.Documents), h)
	return h.Serial
}

// Remove removes a document from the queue.
func (s *HandoffState) Remove(serial int) {
	s.Documents = slices.DeleteFunc(slices.Clone(s.Documents), func(x Handover) bool { return x.Serial == serial })
}

// Ready returns the serial of an author's oldest document whose checks have all run, given the time limit of a
// check; 0: there is none.
func (s *HandoffState) Ready(author string, timeout time.Duration) int {
	for i := range s.Documents {
		if h := &s.Documents[i]; h.Agent.ID == author && h.Document != nil && len(h.Receipts) >= h.ChecksOf(timeout) {
			return h.Serial
		}
	}
	return 0
}

// RemoveWhere removes documents from the queue, and returns them.
func (s *HandoffState) RemoveWhere(unwanted func(*Handover) bool) (removed []Handover) {
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

// ChecksOf is how many checks of a document run, given the time limit of a check.
func (h *Handover) ChecksOf(timeout time.Duration) int {
	switch {
	case h.Why != "" || timeout <= 0 && h.Kind != KindAccept:
		return 0
	case h.Completes():
		return len(h.Document.Checks)
	}
	return min(len(h.Document.Checks), MaxChecks)
}

// Completes reports whether the checks decide whether a COMPLETE takes effect.
func (h *Handover) Completes() bool { return h.Kind == KindRepeated || h.Kind == KindAccept }

// MaxDuration bounds the processing of a document, because the work waits for it. A repetition gets this time for
// every ten checks.
func (h *Handover) MaxDuration() time.Duration {
	switch h.Kind {
	case KindAccept: // each command has its own time limit
		return AcceptTimeout * time.Duration(1+len(h.Document.Checks))
	case KindRepeated:
	default:
		return HandoverPatience
	}
	return HandoverPatience * time.Duration(1+len(h.Document.Checks)/MaxChecks)
}

// HandoffTimerPrefix begins the key of the timer for a document; its serial follows.
const HandoffTimerPrefix = "handover/"

// HandoffTimerKey is the key of the timer for a document.
func HandoffTimerKey(serial int) string { return fmt.Sprint(HandoffTimerPrefix, serial) }

const (
	// MaxChecks is how many checks of one document run; a hand-off must not become a test plan.
	MaxChecks = 10
	// AcceptTimeout bounds the command of one acceptance criterion, which may be a test suite.
	AcceptTimeout = 30 * time.Minute
	// HandoverPatience bounds the processing of a document, because the work waits for it.
	HandoverPatience = 10 * time.Minute
)

// Dir is where the checks of a document run: where the work was done, and again where it was merged.
func (h *Handover) Dir(d AgentDirs) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return d.Result()
	}
	return d.Of(h.Agent.ID)
}

// Host is the host on which the checks of a document run: its author's, and this one where the work was merged.
func (h *Handover) Host(r *Roster) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return ""
	}
	return r.HostOf(h.Agent.ID)
}

// NextHost is the host of the next step for a document.
func (h *Handover) NextHost(r *Roster) string {
	if h.Document == nil {
		return r.HostOf(h.Agent.ID)
	}
	return h.Host(r)
}

// MustMerge reports whether a document waits for its author's work to be merged.
func (h *Handover) MustMerge(r *Roster) bool {
	a, ok := r.Agent(h.Agent.ID)
	return ok && h.Kind == KindDone && h.Merged == nil && a.Isolation != ""
}

// Timeout bounds one check of a document; timeout is the run's limit for a check.
func (h *Handover) Timeout(timeout time.Duration) time.Duration {
	if h.Kind == KindAccept {
		return AcceptTimeout
	}
	return timeout
}

// Author is the author of the nth check of a document, counted from 0.
func (h *Handover) Author(r *Roster, n int) bridge.AgentRef {
	if n >= len(h.Authors) {
		return h.Agent
	}
	if a, ok := r.Agent(h.Authors[n].ID); ok {
		return a.AgentRef
	}
	return h.Authors[n]
}
