package budget

// Levels of a limit of costs.
const (
	LevelWarn  = "warn"  // 80 % of it are spent
	LevelLimit = "limit" // all of it is spent
)

const warnShare = WarnPct / 100.0

// Level returns how far a limit, in dollars, is spent: one of the levels, or empty below the first. A limit of 0 is
// none.
func Level(spent, limit float64) string {
	switch {
	case limit <= 0 || spent < warnShare*limit:
		return ""
	case spent < limit:
		return LevelWarn
	}
	return LevelLimit
}

// Day is what all runs of the user have cost on a day: the others as they told, this one by what it has cost since.
type Day struct {
	Date      string  // of the user's time zone
	OthersUSD float64 // by the other runs
	BaseUSD   float64 // what this run had cost when the day began
	Level     string  `json:",omitempty"` // that was told last
}

// Read takes in what the other runs have cost on a date, and on a new date what this run had cost of it by then; spent
// is what it has cost in all.
func (d *Day) Read(date string, others, own, spent float64) {
	if d.Date != date {
		*d = Day{Date: date, BaseUSD: spent - own}
	}
	d.OthersUSD = others
}

// Spent returns what all runs have cost on the day, if this one has cost so much in all.
func (d *Day) Spent(spent float64) float64 { return d.OthersUSD + spent - d.BaseUSD }
