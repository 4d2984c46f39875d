package supervisor

import (
	"slices"
	"strings"
	"time"
)

// WarnPct is the use of a window, in percent, from which it is reported.
const WarnPct = 80

// BudgetWindow is a usage window of the account's plan, such as five_hour, as the API last reported it.
type BudgetWindow struct {
	Name     string
	UsedPct  float64
	ResetsAt time.Time
	At       time.Time // of the reading

	FirstPct float64 // of the first reading since the window began: the pace is measured from it
	FirstAt  time.Time
	Warned   bool `json:",omitempty"` // it was reported that it is nearly used up
	Lifted   bool `json:",omitempty"` // a human lets the run use the reserve
}

// drift is how far two readings may differ about the reset of one window.
const drift = 10 * time.Minute

// Read records a reading of a window. It returns the window afterwards, and whether there is anything new to
// report.
func (s *BudgetState) Read(name string, usedPct float64, resetsAt, at time.Time) (w BudgetWindow, news bool) {
	i := slices.IndexFunc(s.Windows, func(w BudgetWindow) bool { return w.Name == name })
	w = BudgetWindow{Name: name, UsedPct: usedPct, ResetsAt: resetsAt, At: at, FirstPct: usedPct, FirstAt: at}
	if i < 0 {
		s.Windows = append(slices.Clip(s.Windows), w)
		slices.SortFunc(s.Windows, func(a, b BudgetWindow) int { return strings.Compare(a.Name, b.Name) })
		return w, true
	}
	old := s.Windows[i]
	if !old.over(at) && resetsAt.Sub(old.ResetsAt).Abs() < drift && usedPct >= old.FirstPct {
		w.FirstPct, w.FirstAt, w.Warned, w.Lifted = old.FirstPct, old.FirstAt, old.Warned, old.Lifted
		news = int(usedPct) != int(old.UsedPct)
	} else {
		news = true
	}
	s.put(i, w)
	return w, news
}

func (s *BudgetState) put(i int, w BudgetWindow) {
	s.Windows = slices.Clone(s.Windows)
	s.Windows[i] = w
}

// Warn reports whether a window that is nearly used up has to be reported, which happens once until it resets.
func (s *BudgetState) Warn(name string) bool {
	i := slices.IndexFunc(s.Windows, func(w BudgetWindow) bool { return w.Name == name })
	if i < 0 || s.Windows[i].Warned || s.Windows[i].UsedPct < WarnPct {
		return false
	}
	w := s.Windows[i]
	w.Warned = true
	s.put(i, w)
	return true
}

// over reports whether a window has been reset since its reading.
func (w BudgetWindow) over(at time.Time) bool { return !w.ResetsAt.After(at) }

// Past returns the window whose reserve, in percent, is reached; if there are several, the one that resets
// last.
func (s *BudgetState) Past(reserve float64, at time.Time) (last BudgetWindow, past bool) {
	if reserve <= 0 {
		return last, false
	}
	for _, w := range s.Windows {
		if w.UsedPct >= 100-reserve && !w.over(at) && !w.Lifted && (!past || w.ResetsAt.After(last.ResetsAt)) {
			last, past = w, true
		}
	}
	return last, past
}

// Lift lets the run use the reserve of each window that is reached, until it resets. It reports whether there
// was one.
func (s *BudgetState) Lift(reserve float64, at time.Time) (lifted bool) {
	for {
		w, past := s.Past(reserve, at)
		if !past {
			return lifted
		}
		i := slices.IndexFunc(s.Windows, func(o BudgetWindow) bool { return o.Name == w.Name })
		w.Lifted, lifted = true, true
		s.put(i, w)
	}
}

// Fullest returns the window with the highest use that has not been reset since.
func (s *BudgetState) Fullest(at time.Time) (most BudgetWindow, ok bool) {
	for _, w := range s.Windows {
		if !w.over(at) && (!ok || w.UsedPct > most.UsedPct) {
			most, ok = w, true
		}
	}
	return most, ok
}

// A shorter or smaller measurement says nothing about the pace.
const (
	leastSpan = 2 * time.Minute
	leastUse  = 1
)

// Forecast returns how long after the reading the window is used up at the present pace. It reports false if
// the reset comes first, or if this cannot be determined yet.
func (w BudgetWindow) Forecast() (left time.Duration, ok bool) {
	span, used := w.At.Sub(w.FirstAt), w.UsedPct-w.FirstPct
	if span < leastSpan || used < leastUse {
		return 0, false
	}
	left = time.Duration(float64(span) * max(100-w.UsedPct, 0) / used)
	return left, w.At.Add(left).Before(w.ResetsAt)
}

// Words is the window's name as people read it.
func (w BudgetWindow) Words() string {
	switch w.Name {
	case "five_hour":
		return "five-hour window"
	case "seven_day":
		return "weekly window"
	}
	return strings.ReplaceAll(w.Name, "_", " ") + " window"
}
