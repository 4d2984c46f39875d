package supervisor

import (
	"slices"
	"testing"
	"time"
)

// TestStartSubagent keeps the starts of the last hour, at most as many as the limit needs, and changes no earlier
// state.
func TestStartSubagent(t *testing.T) {
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	var s BudgetState
	for _, minutes := range []int{0, 10, 20} {
		s.StartSubagent(at(minutes), 3)
	}
	before := s
	s.StartSubagent(at(30), 3)
	if want := []time.Time{at(10), at(20), at(30)}; !slices.Equal(s.SubagentStarts, want) {
		t.Errorf("kept %v, want %v", s.SubagentStarts, want)
	}
	if want := []time.Time{at(0), at(10), at(20)}; !slices.Equal(before.SubagentStarts, want) {
		t.Errorf("the earlier state became %v", before.SubagentStarts)
	}
	s.StartSubagent(at(80), 3)
	if want := []time.Time{at(30), at(80)}; !slices.Equal(s.SubagentStarts, want) {
		t.Errorf("kept %v, want %v", s.SubagentStarts, want)
	}
	s.StartSubagent(at(81), 0)
	if len(s.SubagentStarts) != 0 {
		t.Errorf("without a limit %v are kept", s.SubagentStarts)
	}
}
