package supervisor

import "testing"

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
