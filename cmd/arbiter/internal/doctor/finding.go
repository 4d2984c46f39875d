package doctor

// State says how bad it is.
type State string

// The states of a finding.
const (
	OK   State = "ok"
	Note State = "note" // good to know, nothing is wrong
	Warn State = "warn" // runs begin, and something will not be as it could
	Fail State = "fail" // no run can begin, or none can come to anything
)

// Finding is one thing that was looked at.
type Finding struct {
	Area  string `json:"area"`
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // a line to type, or what else to do
}

// Areas of findings.
const (
	AreaClaude      = "claude"
	AreaAbilities   = "abilities"
	AreaEnvironment = "environment"
	AreaSettings    = "settings"
	AreaPlaces      = "directories"
	AreaTerminal    = "terminal"
	AreaMachine     = "machine"
	AreaLeftovers   = "leftovers"
)

// areas are reported in this order; what looks at each, given what was gathered. (Abilities
// are found out by a trial.)
var areas = []struct {
	name  string
	check func(Surroundings) []Finding
}{
	{AreaClaude, checkClaude}, {AreaAbilities, nil}, {AreaEnvironment, checkEnvironment}, {AreaSettings, checkSettings},
	{AreaPlaces, checkPlaces},
	{AreaTerminal, checkTerminal}, {AreaMachine, checkMachine}, {AreaLeftovers, checkLeftovers},
}

// Report is all that was found, as `arbiter doctor --json` prints it.
type Report struct {
	Arbiter  string        `json:"arbiter"` // version
	State    State         `json:"state"`   // the worst of all
	Counts   map[State]int `json:"counts"`
	Findings []Finding     `json:"findings"`
}

// NewReport adds findings up. Those of one area are together in it.
func NewReport(version string, findings []Finding) Report {
	r := Report{Arbiter: version, State: OK, Counts: map[State]int{OK: 0, Note: 0, Warn: 0, Fail: 0},
		Findings: []Finding{}}
	for _, area := range areas {
		for _, f := range findings {
			if f.Area != area.name {
				continue
			}
			r.Findings = append(r.Findings, f)
			if r.Counts[f.State]++; weight[f.State] > weight[r.State] {
				r.State = f.State
			}
		}
	}
	return r
}

var weight = map[State]int{OK: 0, Note: 1, Warn: 2, Fail: 3}

// list collects the findings of one area.
type list struct {
	area string
	all  []Finding
}

func (l *list) add(name string, state State, found, fix string) {
	l.all = append(l.all, Finding{Area: l.area, Name: name, State: state, Found: found, Fix: fix})
}
