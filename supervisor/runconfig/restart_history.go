package runconfig

import (
	"slices"
	"time"
)

// RestartAttempt is an exit with the decision about it.
type RestartAttempt struct {
	Agent   string       `json:"agent"`
	Class   RestartClass `json:"class"`
	At      time.Time    `json:"at"`                // when the process ended
	StartAt time.Time    `json:"start_at,omitzero"` // when the next one was due; zero if none was
}

// maxHistory bounds a history, whatever the exits are: 20 agents fill a quarter of it during a retention period
// full of failures.
const maxHistory = 4096

// RestartHistory are the attempts of all agents of a run, oldest first.
type RestartHistory []RestartAttempt

// Add returns the history with one more attempt, trimmed. The receiver's array may be reused: use only the
// result.
func (h RestartHistory) Add(p RestartPolicy, a RestartAttempt, now time.Time) RestartHistory {
	a.At, a.StartAt = a.At.Round(0), a.StartAt.Round(0)
	return append(h, a).Trim(p, now)
}

// Trim returns the history without attempts that no longer matter. Attempts after now, because the clock was
// set back, are moved to now, so that they age from there.
func (h RestartHistory) Trim(p RestartPolicy, now time.Time) RestartHistory {
	now = now.Round(0)
	keep := h[:0:len(h)]
	if drop := len(h) - maxHistory; drop > 0 {
		h = h[drop:]
	}
	oldest := now.Add(-p.retention())
	for _, a := range h {
		a = a.settle(p, now)
		if a.At.After(oldest) || a.StartAt.After(oldest) {
			keep = append(keep, a)
		}
	}
	return keep
}

// settle moves an attempt in the future to now, and bounds how far its start may be ahead.
func (a RestartAttempt) settle(p RestartPolicy, now time.Time) RestartAttempt {
	started := !a.StartAt.IsZero()
	if a.At.After(now) {
		if started {
			a.StartAt = now.Add(a.StartAt.Sub(a.At))
		}
		a.At = now
	}
	if latest := now.Add(p.retention()); started && a.StartAt.After(latest) {
		a.StartAt = latest
	}
	return a
}

// settled is a copy of the history as it is seen from now.
func (h RestartHistory) settled(p RestartPolicy, now time.Time) RestartHistory {
	return slices.Clone(h).Trim(p, now)
}

// row returns the exits in a row that end with e, newest first and without e: those of the same agent that fit,
// back to the last healthy process run. Exits that do not fit are skipped.
func (h RestartHistory) row(p RestartPolicy, e RestartExit, fits func(RestartClass) bool) RestartHistory {
	var row RestartHistory
	end := e.At
	for _, a := range slices.Backward(h) {
		if a.Agent != e.Agent {
			continue
		}
		if !a.StartAt.IsZero() && end.Sub(a.StartAt) >= p.Healthy {
			break
		}
		if fits(a.Class) {
			row = append(row, a)
		}
		end = a.At
	}
	return row
}

// failures counts the failures of an agent since a time.
func (h RestartHistory) failures(agent string, since time.Time) int {
	n := 0
	for _, a := range h {
		if a.Agent == agent && a.Class.failure() && a.At.After(since) {
			n++
		}
	}
	return n
}

// room is the earliest time from due on at which a start keeps the agent within the policy's Intensity.
func (h RestartHistory) room(p RestartPolicy, agent string, due time.Time) time.Time {
	var starts []time.Time
	for _, a := range h {
		if a.Agent == agent && !a.StartAt.IsZero() {
			starts = append(starts, a.StartAt)
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	if p.Intensity < 1 || len(starts) < p.Intensity {
		return due
	}
	if free := starts[len(starts)-p.Intensity].Add(p.Window); free.After(due) {
		return free
	}
	return due
}

// slot is the earliest time from due on that keeps the distance to all starts of
// the history.
func (h RestartHistory) slot(p RestartPolicy, c RestartClass, due time.Time) time.Time {
	var others RestartHistory
	for _, a := range h {
		if !a.StartAt.IsZero() {
			others = append(others, a)
		}
	}
	slices.SortFunc(others, func(a, b RestartAttempt) int { return a.StartAt.Compare(b.StartAt) })
	// Starts before due are checked, too: each may move it past the next.
	for moved := true; moved; {
		moved = false
		for _, a := range others {
			gap := p.gap(a.Class, c)
			if d := due.Sub(a.StartAt); d < gap && d > -gap {
				due, moved = a.StartAt.Add(gap), true
			}
		}
	}
	return due
}
