package supervisor

import (
	"slices"
	"time"
)

// StartSubagent records the start of a subagent, so that a resumed run knows how many have started within the
// last hour. At most `most` starts are kept, the latest ones: a limit of so many an hour needs no more.
func (s *BudgetState) StartSubagent(at time.Time, most int) {
	starts := append(SubagentsSince(s.SubagentStarts, at.Add(-time.Hour)), at)
	s.SubagentStarts = starts[max(len(starts)-max(most, 0), 0):]
}

// SubagentsSince returns a copy of the starts that are later than a time.
func SubagentsSince(starts []time.Time, since time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(starts), func(t time.Time) bool { return !t.After(since) })
}
