package host

// DoctorState is the severity of a finding.
type DoctorState string

// The states of a finding.
const (
	DoctorOK   DoctorState = "ok"
	DoctorNote DoctorState = "note" // good to know, nothing is wrong
	DoctorWarn DoctorState = "warn" // a run can start, but something will not work fully
	DoctorFail DoctorState = "fail" // no run can start or finish its work
)

// Finding is the result of one check.
type Finding struct {
	Area  string      `json:"area"`
	Name  string      `json:"name"`
	State DoctorState `json:"state"`
	Found string      `json:"found"`
	Fix   string      `json:"fix,omitempty"` // a command to type, or other advice
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

// DoctorReport has all findings, in the form of `arbiter doctor --json`.
type DoctorReport struct {
	Arbiter  string              `json:"arbiter"` // version
	State    DoctorState         `json:"state"`   // the worst of all
	Counts   map[DoctorState]int `json:"counts"`
	Findings []Finding           `json:"findings"`
}

// NewReport summarizes findings and groups them by area.
func NewReport(version string, findings []Finding) DoctorReport {
	r := DoctorReport{
		Arbiter:  version,
		State:    DoctorOK,
		Counts:   map[DoctorState]int{DoctorOK: 0, DoctorNote: 0, DoctorWarn: 0, DoctorFail: 0},
		Findings: []Finding{},
	}
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

var weight = map[DoctorState]int{DoctorOK: 0, DoctorNote: 1, DoctorWarn: 2, DoctorFail: 3}

// list collects the findings of one area.
type list struct {
	area string
	all  []Finding
}

func (l *list) add(name string, state DoctorState, found, fix string) {
	l.all = append(l.all, Finding{Area: l.area, Name: name, State: state, Found: found, Fix: fix})
}
