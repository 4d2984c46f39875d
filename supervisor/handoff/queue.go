package handoff

import (
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
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

// Ready returns the serial of an author's oldest document whose checks have all been run, each within a time; 0: there
// is none.
func (s *State) Ready(author string, timeout time.Duration) int {
	for i := range s.Documents {
		if h := &s.Documents[i]; h.Agent.ID == author && h.Document != nil && len(h.Receipts) >= h.ChecksOf(timeout) {
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

// ChecksOf is how many checks of a document are run, each within a time; 0: none is.
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

// TimerPrefix begins the key of the timer for a document's way; its serial follows.
const TimerPrefix = "handover/"

// TimerKey is the key of the timer for a document's way.
func TimerKey(serial int) string { return fmt.Sprint(TimerPrefix, serial) }

const (
	// MaxChecks of one document are run; a hand-off must not become a test plan.
	MaxChecks = 10
	// AcceptTimeout bounds the command of one acceptance criterion: test suites are among them.
	AcceptTimeout = 30 * time.Minute
	// HandoverPatience bounds a document's way: the work waits for it.
	HandoverPatience = 10 * time.Minute
)

// Dir is where the checks of a document run: where the work was done, and again where it was merged.
func (h *Handover) Dir(d roster.Dirs) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return d.Result()
	}
	return d.Of(h.Agent.ID)
}

// Host is where the checks of a document run: on the host of its author, and here where the work was merged.
func (h *Handover) Host(r *roster.Roster) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return ""
	}
	return r.HostOf(h.Agent.ID)
}

// NextHost is the host that the next thing on a document's way happens on.
func (h *Handover) NextHost(r *roster.Roster) string {
	if h.Document == nil {
		return r.HostOf(h.Agent.ID)
	}
	return h.Host(r)
}

// MustMerge reports whether a document waits for its author's work to be merged.
func (h *Handover) MustMerge(r *roster.Roster) bool {
	a, ok := r.Agent(h.Agent.ID)
	return ok && h.Kind == KindDone && h.Merged == nil && a.Isolation != ""
}

// Timeout bounds one check of a document, where the run allows a check a time.
func (h *Handover) Timeout(timeout time.Duration) time.Duration {
	if h.Kind == KindAccept {
		return AcceptTimeout
	}
	return timeout
}

// Author is whose check the nth of a document is, counted from 0.
func (h *Handover) Author(r *roster.Roster, n int) bridge.AgentRef {
	if n >= len(h.Authors) {
		return h.Agent
	}
	if a, ok := r.Agent(h.Authors[n].ID); ok {
		return a.AgentRef
	}
	return h.Authors[n]
}
