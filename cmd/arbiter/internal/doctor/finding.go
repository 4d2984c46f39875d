package doctor

// State is the severity of a finding.
type State string

// The states of a finding.
const (
	OK   State = "ok"
	Note State = "note" // good to know, nothing is wrong
	Warn State = "warn" // a run can start, but something will not work fully
	Fail State = "fail" // no run can start or finish its work
)

// Finding is the result of one check.
type Finding struct {
	Area  string `json:"area"`
	Name  string `json:"name"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // a command to type, or other advice
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

// areas are in the order of the report, each with the function that checks it. (A trial checks the abilities.)
var areas = []struct {
	name  string
	check func(Surroundings) []Finding
}{
	{AreaClaude, checkClaude}, {AreaAbilities, nil}, {AreaEnvironment, checkEnvironment}, {AreaSettings, checkSettings},
	{AreaPlaces, checkPlaces},
	{AreaTerminal, checkTerminal}, {AreaMachine, checkMachine}, {AreaLeftovers, checkLeftovers},
}

// Report has all findings, in the form of `arbiter doctor --json`.
type Report struct {
	Arbiter  string        `json:"arbiter"` // version
	State    State         `json:"state"`   // the worst of all
	Counts   map[State]int `json:"counts"`
	Findings []Finding     `json:"findings"`
}

// NewReport summarizes findings and groups them by area.
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
