package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// ResetTimer is the key of the timer that wakes a run which waits for the reset of a usage window.
const ResetTimer = "reset"

// ResetGrace is how long after the reset of a usage window the run continues: clocks differ.
const ResetGrace = 2 * time.Second

// Holds reports whether messages are held back until a window resets.
func (s *BudgetState) Holds() bool { return !s.HeldUntil.IsZero() }

// Quota records how much of a usage window is used, and reports what is new. All agents use the same account.
func (s *BudgetState) Quota(c *effect.Collector, q bridge.Quota) {
	resets := time.Time{}
	if q.ResetsAt > 0 {
		resets = time.Unix(q.ResetsAt, 0).UTC()
	}
	w, news := s.Read(q.Window, q.UsedPct, resets, c.Now)
	if !news {
		return
	}
	e := contract.Quota{Window: w.Name, UsedPct: w.UsedPct}
	if !w.ResetsAt.IsZero() {
		e.ResetsAt = w.resetText()
	}
	if left, ok := w.Forecast(); ok {
		e.LeftSeconds = max(int(left.Seconds()), 1)
	}
	c.Emit(contract.Supervisor, e)
	if s.Warn(w.Name) {
		c.Emit(contract.Supervisor, contract.Notice{Text: "the " + w.Text(c.Now)})
	}
}

// Hold begins to hold messages back when the reserve of a usage window is reached, and stops when it is no
// longer reached.
func (s *BudgetState) Hold(c *effect.Collector, reserve float64) {
	w, past := s.Past(reserve, c.Now.Add(-ResetGrace))
	switch {
	case !past && s.Holds():
		s.HeldUntil = time.Time{}
		c.StopTimer(ResetTimer)
		c.Emit(contract.Supervisor, contract.Notice{Text: "the run continues: its reserve is no longer reached"})
	case past && !s.HeldUntil.Equal(w.ResetsAt):
		if !s.Holds() {
			c.Emit(contract.Supervisor, contract.Notice{Text: fmt.Sprintf("the %s. Its last %g %% are left for you: "+
				"running turns end, and nothing is sent before the reset. `continue` continues anyway",
				w.Text(c.Now), reserve)})
		}
		s.HeldUntil = w.ResetsAt
		s.AwaitReset(c)
	}
}

// AwaitReset sets the timer for the reset of the window that the run waits for.
func (s *BudgetState) AwaitReset(c *effect.Collector) {
	if s.Holds() {
		after := s.HeldUntil.Sub(c.Now) + ResetGrace
		c.Do(effect.SetTimer{Key: ResetTimer, After: max(after, time.Millisecond)})
	}
}

// HoldAgain reports in another process that the run waits for a reset.
func (s *BudgetState) HoldAgain(c *effect.Collector, reserve float64) {
	if _, past := s.Past(reserve, c.Now); past && s.Holds() {
		c.Emit(contract.Supervisor, contract.Notice{Text: s.ReserveText(reserve) + ": nothing is sent before"})
	}
	s.AwaitReset(c)
}

// ResetIsTooFar reports whether the run waits for a reset that is later than it may wait.
func (s *BudgetState) ResetIsTooFar(at time.Time, patience time.Duration) bool {
	return s.Holds() && s.HeldUntil.Sub(at) > max(patience, 0)+ResetGrace
}

// ReserveText says which reserve is reached, and until when.
func (s *BudgetState) ReserveText(reserve float64) string {
	return fmt.Sprintf("the reserve of --quota-reserve %g is reached until %s", reserve,
		s.HeldUntil.Format(time.RFC3339))
}

// LiftReserve lets the run use its reserve, at the human's request.
func (s *BudgetState) LiftReserve(c *effect.Collector, reserve float64) {
	if s.Lift(reserve, c.Now) {
		c.Emit(contract.Supervisor, contract.Notice{Text: "the reserve of your plan is used, too, until the next reset"})
	}
}

func (w BudgetWindow) resetText() string { return w.ResetsAt.Format(time.RFC3339) }

// Text says how much of a window is used, when it resets, and how long it lasts.
func (w BudgetWindow) Text(at time.Time) string {
	text := fmt.Sprintf("%s of your plan is used to %.0f %%", w.Words(), w.UsedPct)
	if !w.ResetsAt.IsZero() {
		text += fmt.Sprintf(", and resets in %s (%s)", span(w.ResetsAt.Sub(at)), w.resetText())
	}
	if left, ok := w.Forecast(); ok {
		text += "; at this rate it is used up in " + span(left)
	}
	return text
}

// span is a duration for people, to the minute.
func span(d time.Duration) string { return max(d.Round(time.Minute), time.Minute).String() }
