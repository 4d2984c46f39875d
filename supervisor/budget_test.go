package supervisor

import (
	"testing"
	"time"
)

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
