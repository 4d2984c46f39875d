package supervisor

// This part of the package keeps what a run has used and what it may use: its costs and their limits, the
// usage windows of the account's plan, and its running time.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Levels of a cost limit.
const (
	BudgetLevelWarn = "warn"  // 80 % of it is spent
	LevelLimit      = "limit" // all of it is spent
)

const budgetWarnShare = WarnPct / 100.0

// BudgetLevel returns how far a limit, in dollars, is spent: one of the levels, or empty below the first. A limit of
// 0 is no limit.
func BudgetLevel(spent, limit float64) string {
	switch {
	case limit <= 0 || spent < budgetWarnShare*limit:
		return ""
	case spent < limit:
		return BudgetLevelWarn
	}
	return LevelLimit
}

// BudgetLimit is a cost limit, and how far it is spent.
type BudgetLimit struct {
	Scope              string // one of the scopes of contract.Budget
	SpentUSD, LimitUSD float64
	Simulated          bool // a scripted model is used: costs are simulated
}

// Level returns how far the limit is spent.
func (l BudgetLimit) Level() string { return BudgetLevel(l.SpentUSD, l.LimitUSD) }

// Flag names the setting of the limit.
func (l BudgetLimit) Flag() string {
	if l.Scope == contract.ScopeDay {
		return "--max-cost-per-day"
	}
	return "--max-cost"
}

// Text says how far the limit is spent.
func (l BudgetLimit) Text() string {
	who := "The run has cost"
	if l.Scope == contract.ScopeDay {
		who = "The runs of this day have cost"
	}
	return fmt.Sprintf("%s %s of the $%.4f that may be spent (%s).", who, l.SpentText(), l.LimitUSD, l.Flag())
}

// SpentText is the spent amount.
func (l BudgetLimit) SpentText() string {
	if l.Simulated {
		return fmt.Sprintf("$%.4f simulated", l.SpentUSD)
	}
	return fmt.Sprintf("$%.4f", l.SpentUSD)
}

// Shared returns the limits that all agents share. spent is what the run has cost, including running turns.
func (s *BudgetState) Shared(o *runconfig.Options, spent float64) [2]BudgetLimit {
	return [2]BudgetLimit{
		{contract.ScopeWholeRun, spent, o.MaxCostUSD, o.Rehearsal},
		{contract.ScopeDay, s.Day.Spent(spent), o.MaxCostPerDay, o.Rehearsal},
	}
}

// dearest is what one report is assumed to cost, in dollars, before the first report: about what a model costs
// for one call with an uncached context of 300,000 tokens.
const dearest = 5

// maxTurns is more turns than ever run at once.
const maxTurns = 10_000

// Raised returns a limit that leaves half of the old limit to be spent, in whole cents.
func (l BudgetLimit) Raised() float64 {
	return math.Ceil((max(l.SpentUSD, l.LimitUSD)+l.LimitUSD/2)*100) / 100
}

// ReportLevels emits a budget event for each shared limit whose level has changed since it was last reported. It
// returns the limits that became nearly spent.
func (s *BudgetState) ReportLevels(c *input.Collector, o *runconfig.Options, spent float64) (nearly []BudgetLimit) {
	reported := [2]*string{&s.Level, &s.Day.Level}
	for i, limit := range s.Shared(o, spent) {
		if limit.report(c, contract.Supervisor, reported[i]) {
			nearly = append(nearly, limit)
		}
	}
	return nearly
}

// report emits a budget event if the level is not the one that was reported last, and reports whether the limit became
// nearly spent.
func (l BudgetLimit) report(c *input.Collector, of string, last *string) (nearly bool) {
	level := l.Level()
	if level == *last {
		return false
	}
	if *last = level; level != "" {
		c.Emit(of, contract.Budget{Scope: l.Scope, SpentUSD: l.SpentUSD, LimitUSD: l.LimitUSD, Level: level,
			Rehearsal: l.Simulated})
	}
	return level == BudgetLevelWarn
}

// NoNewAgent says why no further agent may start; empty: it may.
func (s *BudgetState) NoNewAgent(c *input.Collector, o *runconfig.Options, spent float64) string {
	for _, limit := range s.Shared(o, spent) {
		if limit.Level() != "" {
			return limit.Text() + " No further Orchestrator starts: let the present ones finish, or end the task."
		}
	}
	w, past := s.Past(o.QuotaReserve, c.Now)
	if !past {
		return ""
	}
	return fmt.Sprintf("No further Orchestrator starts before %s: the %s.", w.resetText(), w.Text(c.Now))
}

// BudgetDay is what all runs of the user have cost on a day: the others according to their reports, this one by its
// cost since the day began.
type BudgetDay struct {
	Date      string  // of the user's time zone
	OthersUSD float64 // by the other runs
	BaseUSD   float64 // what this run had cost when the day began
	Level     string  `json:",omitempty"` // that was reported last
}

// Read records what the other runs have cost on a date, and on a new date how much this run had already cost on
// it; spent is what this run has cost in total.
func (d *BudgetDay) Read(date string, others, own, spent float64) {
	if d.Date != date {
		*d = BudgetDay{Date: date, BaseUSD: spent - own}
	}
	d.OthersUSD = others
}

// Spent returns what all runs have cost on the day, if this one has cost so much in total.
func (d *BudgetDay) Spent(spent float64) float64 { return d.OthersUSD + spent - d.BaseUSD }

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

// Read records a reading of a window. It returns the window afterwards, whether there is anything new to report, and
// whether it is news that the window is nearly used up.
func (s *BudgetState) Read(name string, usedPct float64, resetsAt, at time.Time) (w BudgetWindow, news, nearly bool) {
	i, known := slices.BinarySearchFunc(s.Windows, name,
		func(w BudgetWindow, name string) int { return strings.Compare(w.Name, name) })
	w = BudgetWindow{Name: name, UsedPct: usedPct, ResetsAt: resetsAt, At: at, FirstPct: usedPct, FirstAt: at}
	s.Windows, news = slices.Clone(s.Windows), true
	if !known {
		s.Windows = slices.Insert(s.Windows, i, w)
	} else if old := s.Windows[i]; !old.over(at) && resetsAt.Sub(old.ResetsAt).Abs() < drift && usedPct >= old.FirstPct {
		w.FirstPct, w.FirstAt, w.Warned, w.Lifted = old.FirstPct, old.FirstAt, old.Warned, old.Lifted
		news = int(usedPct) != int(old.UsedPct)
	}
	nearly = !w.Warned && usedPct >= WarnPct
	w.Warned = w.Warned || nearly
	s.Windows[i] = w
	return w, news, nearly
}

// over reports whether a window has been reset since its reading.
func (w BudgetWindow) over(at time.Time) bool { return !w.ResetsAt.After(at) }

// Past returns the window whose reserve, in percent, is reached; if there are several, the one that resets
// last.
func (s *BudgetState) Past(reserve float64, at time.Time) (last BudgetWindow, past bool) {
	for _, w := range s.Windows {
		if w.past(reserve, at) && (!past || w.ResetsAt.After(last.ResetsAt)) {
			last, past = w, true
		}
	}
	return last, past
}

// past reports whether the reserve of a window is reached.
func (w BudgetWindow) past(reserve float64, at time.Time) bool {
	return reserve > 0 && w.UsedPct >= 100-reserve && !w.over(at) && !w.Lifted
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

// ResetTimer is the key of the timer that wakes a run which waits for the reset of a usage window.
const ResetTimer = "reset"

// ResetGrace is how long after the reset of a usage window the run continues: clocks differ.
const ResetGrace = 2 * time.Second

// Holds reports whether messages are held back until a window resets.
func (s *BudgetState) Holds() bool { return !s.HeldUntil.IsZero() }

// Quota records how much of a usage window is used, and reports what is new. All agents use the same account.
func (s *BudgetState) Quota(c *input.Collector, q bridge.Quota) {
	resets := time.Time{}
	if q.ResetsAt > 0 {
		resets = time.Unix(q.ResetsAt, 0).UTC()
	}
	w, news, nearly := s.Read(q.Window, q.UsedPct, resets, c.Now)
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
	if nearly {
		c.Notice("the " + w.Text(c.Now))
	}
}

// Hold begins to hold messages back when the reserve of a usage window is reached, and stops when it is no
// longer reached.
func (s *BudgetState) Hold(c *input.Collector, reserve float64) {
	w, past := s.Past(reserve, c.Now.Add(-ResetGrace))
	switch {
	case !past && s.Holds():
		s.HeldUntil = time.Time{}
		c.StopTimer(ResetTimer)
		c.Notice("the run continues: its reserve is no longer reached")
	case past && !s.HeldUntil.Equal(w.ResetsAt):
		if !s.Holds() {
			c.Notice(fmt.Sprintf("the %s. Its last %g %% are left for you: running turns end, and nothing is sent "+
				"before the reset. `continue` continues anyway", w.Text(c.Now), reserve))
		}
		s.HeldUntil = w.ResetsAt
		s.AwaitReset(c)
	}
}

// AwaitReset sets the timer for the reset of the window that the run waits for.
func (s *BudgetState) AwaitReset(c *input.Collector) {
	if s.Holds() {
		after := s.HeldUntil.Sub(c.Now) + ResetGrace
		c.Do(input.SetTimer{Key: ResetTimer, After: max(after, time.Millisecond)})
	}
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

// LiftReserve lets the run use the reserve of each window that is reached, until it resets, at the human's request.
func (s *BudgetState) LiftReserve(c *input.Collector, reserve float64) {
	lifted := false
	s.Windows = slices.Clone(s.Windows)
	for i := range s.Windows {
		if w := &s.Windows[i]; w.past(reserve, c.Now) {
			w.Lifted, lifted = true, true
		}
	}
	if lifted {
		c.Notice("the reserve of your plan is used, too, until the next reset")
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

// BudgetRuntime records since when a run has been running, and for how long. The time between two of its processes
// does not count.
type BudgetRuntime struct {
	Began        time.Time
	ProcessBegan time.Time     // of the process that runs it
	LastAt       time.Time     // of the last input that counts
	Earlier      time.Duration // of earlier processes
	Processes    int           // so far
}

// Begin begins a run.
func (r *BudgetRuntime) Begin(at time.Time) { r.Began, r.ProcessBegan, r.Processes = at, at, 1 }

// Resume begins with another process.
func (r *BudgetRuntime) Resume(at time.Time) {
	r.Close(at)
	r.Processes++
}

// Close ends the time of a process at its last input. The time of the next one, if any, begins now.
func (r *BudgetRuntime) Close(at time.Time) {
	r.Earlier += max(r.LastAt.Sub(r.ProcessBegan), 0)
	r.ProcessBegan = at
}

// Elapsed returns for how long the run has been running, in all its processes.
func (r *BudgetRuntime) Elapsed(at time.Time) time.Duration {
	return r.Earlier + max(at.Sub(r.ProcessBegan), 0)
}

// BudgetState is the budget part of a run.
type BudgetState struct {
	CostUSD   float64        // of the turns that have ended
	Usage     bridge.Usage   // of the turns that have ended
	Level     string         `json:",omitempty"` // of the run's cost limit that was reported last
	Day       BudgetDay      `json:",omitzero"`
	Windows   []BudgetWindow `json:",omitempty"` // by name
	HeldUntil time.Time      `json:",omitzero"`  // nothing is sent before: the reserve of a window is reached
	StepUSD   float64        `json:",omitempty"` // the most that an Orchestrator's turn has cost between two reports
	AskedAt   time.Time      `json:",omitzero"`  // when a human was asked what to do about a limit that is reached
	// SubagentStarts are the times at which subagents have started within the last hour, oldest first.
	SubagentStarts []time.Time `json:",omitempty"`
	Subagents      int         `json:",omitempty"` // that have started in the run
	Runtime        BudgetRuntime
}

// Charge adds what was used.
func (s *BudgetState) Charge(u bridge.Usage, usd float64) {
	s.CostUSD += usd
	s.Usage = s.Usage.Plus(u)
}

// StartSubagent records the start of a subagent, so that a resumed run knows how many have started, and within the
// last hour. At most `most` starts are kept, the latest ones: a limit of so many an hour needs no more.
func (s *BudgetState) StartSubagent(at time.Time, most int) {
	starts, _ := parted(s.SubagentStarts, func(t time.Time) bool { return t.After(at.Add(-time.Hour)) })
	starts = append(starts, at)
	s.Subagents++
	s.SubagentStarts = starts[max(len(starts)-max(most, 0), 0):]
}
