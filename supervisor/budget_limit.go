package supervisor

import (
	"fmt"
	"math"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
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

// BudgetLimit is a cost limit that all agents share, and how far it is spent.
type BudgetLimit struct {
	Scope              string // contract.ScopeWholeRun or contract.ScopeDay
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
func (s *BudgetState) Shared(l BudgetLimits, spent float64) [2]BudgetLimit {
	return [2]BudgetLimit{
		{contract.ScopeWholeRun, spent, l.RunUSD, l.Simulated},
		{contract.ScopeDay, s.Day.Spent(spent), l.DayUSD, l.Simulated},
	}
}

// Reached returns the first shared limit that is spent.
func (s *BudgetState) Reached(l BudgetLimits, spent float64) (BudgetLimit, bool) {
	for _, limit := range s.Shared(l, spent) {
		if limit.Level() == LevelLimit {
			return limit, true
		}
	}
	return BudgetLimit{}, false
}

// dearest is what one report is assumed to cost, in dollars, before the first report: about what a model costs
// for one call with an uncached context of 300,000 tokens.
const dearest = 5

// Observe records what the turn of an Orchestrator has cost since its last report, or since it began.
func (s *BudgetState) Observe(usd float64) { s.StepUSD = max(s.StepUSD, usd) }

// Remaining returns how many turns may run at once. What is left must be enough for what all of them but one may
// cost before they report again. So the less is left, the fewer turns may run, and the last turn may continue
// to its end whatever it costs: together the turns exceed a limit by at most that one turn. Once a limit is
// spent, none may run.
func (s *BudgetState) Remaining(l BudgetLimits, spent float64) int {
	room, step := math.MaxInt, s.StepUSD
	if step <= 0 {
		step = dearest
	}
	for _, limit := range s.Shared(l, spent) {
		left := limit.LimitUSD - limit.SpentUSD
		switch {
		case limit.LimitUSD <= 0:
		case left <= 0:
			return 0
		case left/step < maxTurns:
			room = min(room, int(math.Ceil(left/step)))
		}
	}
	return room
}

// maxTurns is more turns than ever run at once.
const maxTurns = 10_000

// Raised returns a limit that leaves half of the old limit to be spent, in whole cents.
func (l BudgetLimit) Raised() float64 {
	return math.Ceil((max(l.SpentUSD, l.LimitUSD)+l.LimitUSD/2)*100) / 100
}

// ReportLevels emits a budget event for each shared limit whose level has changed since it was last reported. It
// returns the limits that became nearly spent.
func (s *BudgetState) ReportLevels(c *effect.Collector, l BudgetLimits, spent float64) (nearly []BudgetLimit) {
	reported := [2]*string{&s.Level, &s.Day.Level}
	for i, limit := range s.Shared(l, spent) {
		level := limit.Level()
		if level == *reported[i] {
			continue
		}
		*reported[i] = level
		if level != "" {
			c.Emit(contract.Supervisor, contract.Budget{Scope: limit.Scope, SpentUSD: limit.SpentUSD,
				LimitUSD: limit.LimitUSD, Level: level, Rehearsal: limit.Simulated})
		}
		if level == BudgetLevelWarn {
			nearly = append(nearly, limit)
		}
	}
	return nearly
}

// NoNewAgent says why no further agent may start; empty: it may.
func (s *BudgetState) NoNewAgent(c *effect.Collector, l BudgetLimits, spent float64) string {
	for _, limit := range s.Shared(l, spent) {
		if limit.Level() != "" {
			return limit.Text() + " No further Orchestrator starts: let those that there are finish, or end the task."
		}
	}
	w, past := s.Past(l.ReservePct, c.Now)
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
