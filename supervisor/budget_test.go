package supervisor

import (
	"slices"
	"testing"
	"time"
)

func TestLevel(t *testing.T) {
	for _, c := range []struct {
		spent, limit float64
		want         string
	}{
		{5, 0, ""}, {0, 5, ""}, {3.99, 5, ""}, {4, 5, BudgetLevelWarn}, {4.99, 5, BudgetLevelWarn}, {5, 5, LevelLimit},
		{9, 5, LevelLimit},
	} {
		if got := BudgetLevel(c.spent, c.limit); got != c.want {
			t.Errorf("$%v of $%v: %q, want %q", c.spent, c.limit, got, c.want)
		}
	}
}

// TestRoom: fewer turns may run the less is left, and the more a report may cost.
func TestRoom(t *testing.T) {
	for _, c := range []struct {
		s     BudgetState
		spent float64
		want  int
	}{
		{BudgetState{StepUSD: 0.5}, 0, 20}, {BudgetState{StepUSD: 0.5}, 8, 4}, {BudgetState{StepUSD: 0.5}, 9, 2},
		{BudgetState{StepUSD: 0.5}, 9.5, 1}, {BudgetState{StepUSD: 0.5}, 9.99, 1}, {BudgetState{StepUSD: 0.5}, 10, 0}, {BudgetState{}, 0, 2},
		{BudgetState{StepUSD: 0.5, Day: BudgetDay{OthersUSD: 99.5}}, 0, 1},
	} {
		if got := c.s.Remaining(BudgetLimits{RunUSD: 10, DayUSD: 100}, c.spent); got != c.want {
			t.Errorf("%+v, $%v spent: room for %d turns, want %d", c.s, c.spent, got, c.want)
		}
	}
	if got := (&BudgetState{}).Remaining(BudgetLimits{}, 1e9); got < 1e6 {
		t.Errorf("without limits there is room for %d turns", got)
	}
	for _, c := range []struct {
		l    BudgetLimit
		want float64
	}{{BudgetLimit{SpentUSD: 10, LimitUSD: 10}, 15}, {BudgetLimit{SpentUSD: 12.345, LimitUSD: 10}, 17.35}} {
		if got := c.l.Raised(); got != c.want {
			t.Errorf("%+v is raised to %v, want %v", c.l, got, c.want)
		}
	}
}

var budgetNoon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestWindows(t *testing.T) {
	var s BudgetState
	resets := budgetNoon.Add(3 * time.Hour)
	if _, news := s.Read("seven_day", 30, budgetNoon.Add(90*time.Hour), budgetNoon); !news {
		t.Error("the first reading is not news")
	}
	w, news := s.Read("five_hour", 50, resets, budgetNoon)
	if _, ok := w.Forecast(); !news || ok {
		t.Error("a forecast by one reading")
	}
	before := s
	w, news = s.Read("five_hour", 81, resets.Add(time.Second), budgetNoon.Add(31*time.Minute))
	if left, ok := w.Forecast(); !news || !ok || left != 19*time.Minute {
		t.Errorf("used up in %s, %v", left, ok)
	}
	if before.Windows[0].UsedPct != 50 {
		t.Error("a reading changed an earlier state")
	}
	if _, news = s.Read("five_hour", 81.4, resets, budgetNoon.Add(32*time.Minute)); news {
		t.Error("less than a percent is reported")
	}
	if !s.Warn("five_hour") || s.Warn("five_hour") || s.Warn("seven_day") || s.Warn("none") {
		t.Error("it is not told once that a window is nearly used up")
	}
	if most, ok := s.Fullest(budgetNoon); !ok || most.Name != "five_hour" {
		t.Errorf("fullest %+v", most)
	}
	after := resets.Add(time.Minute)
	if w, news = s.Read("five_hour", 2, after.Add(5*time.Hour), after); !news || w.Warned || w.FirstPct != 2 {
		t.Errorf("after the reset %+v", w)
	}
}

// TestReserve: the window whose reserve is reached holds the run, until it resets or a human lifts it.
func TestReserve(t *testing.T) {
	var s BudgetState
	resets := budgetNoon.Add(time.Hour)
	s.Read("five_hour", 81, resets, budgetNoon)
	for reserve, want := range map[float64]bool{0: false, 18: false, 19: true, 20: true} {
		if w, past := s.Past(reserve, budgetNoon); past != want || past && w.ResetsAt != resets {
			t.Errorf("reserve %v: past %v, %+v", reserve, past, w)
		}
	}
	if _, past := s.Past(20, resets); past {
		t.Error("past the reserve of a window that has been reset")
	}
	s.Read("seven_day", 90, budgetNoon.Add(48*time.Hour), budgetNoon)
	if w, _ := s.Past(20, budgetNoon); w.Name != "seven_day" {
		t.Errorf("waits for %+v, not for the window that resets last", w)
	}
	if !s.Lift(20, budgetNoon) || s.Lift(20, budgetNoon) {
		t.Error("not lifted once")
	}
	s.Read("five_hour", 85, resets, budgetNoon.Add(time.Minute))
	if w, past := s.Past(20, budgetNoon.Add(time.Minute)); past {
		t.Errorf("past the reserve that was lifted: %+v", w)
	}
}

// A window that resets before it is used up at the present pace has no forecast.
func TestForecastAfterTheReset(t *testing.T) {
	var s BudgetState
	s.Read("five_hour", 10, budgetNoon.Add(time.Hour), budgetNoon)
	w, _ := s.Read("five_hour", 12, budgetNoon.Add(time.Hour), budgetNoon.Add(10*time.Minute))
	if left, ok := w.Forecast(); ok {
		t.Errorf("used up in %s", left)
	}
}

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
