package host

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

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

// DoctorStyle is how a report is printed for a person.
type DoctorStyle struct {
	ASCII  bool
	Colour bool
}

// maxLine bounds found and fixes; only an unusually long path exceeds it.
const maxLine = 1000

var (
	signs = map[DoctorState][2]string{
		DoctorOK:   {"✓", "+"},
		DoctorNote: {"·", "-"},
		DoctorWarn: {"!", "!"},
		DoctorFail: {"✗", "x"},
	}
	// colours are from the terminal's own palette, so that they fit its background.
	colours = map[DoctorState]string{DoctorOK: "32", DoctorNote: "36", DoctorWarn: "33", DoctorFail: "31"}
)

// Print writes the report as lines for a person.
func (r DoctorReport) Print(w io.Writer, s DoctorStyle) error {
	var b strings.Builder
	area, width := "", 0
	for _, f := range r.Findings {
		width = max(width, len([]rune(f.Name)))
	}
	for _, f := range r.Findings {
		if f.Area != area {
			if area != "" {
				b.WriteString("\n")
			}
			area = f.Area
			fmt.Fprintln(&b, s.painted("1", area))
		}
		f.print(&b, s, width+1)
	}
	over := r.State
	if over == DoctorNote {
		over = DoctorOK
	}
	fmt.Fprintf(&b, "\n%s %s\n", s.sign(over), r.verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

func (f Finding) print(w io.Writer, s DoctorStyle, width int) {
	fmt.Fprintf(w, "%s %-*s %s\n", s.sign(f.State), width, f.Name, sanitize.Line(sanitize.Redact(f.Found), maxLine))
	if f.Fix != "" {
		arrow := "→"
		if s.ASCII {
			arrow = "->"
		}
		fmt.Fprintf(w, "  %-*s %s %s\n", width, "", arrow, sanitize.Line(f.Fix, maxLine))
	}
}

// verdict returns the last line.
func (r DoctorReport) verdict() string {
	warnings := ""
	if n := r.Counts[DoctorWarn]; n > 0 {
		warnings = ", " + words.Count(n, "warning")
	}
	if n := r.Counts[DoctorFail]; n > 0 {
		text := "A run cannot start here, or would fail: " + words.Count(n, "failure") + warnings + "."
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.State == DoctorFail && f.Area != AreaClaude }) {
			text += " A rehearsal can: arbiter --rehearse"
		}
		return text
	}
	return "A run can start here" + warnings + "."
}

func (s DoctorStyle) sign(state DoctorState) string {
	if s.ASCII {
		return s.painted(colours[state], signs[state][1])
	}
	return s.painted(colours[state], signs[state][0])
}

func (s DoctorStyle) painted(colour, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func checkLeftovers(s Surroundings) []Finding {
	l := list{area: AreaLeftovers}
	o := s.Leftovers
	if o.Problem != "" {
		l.add("runs", DoctorNote, "were not looked for: "+o.Problem, "")
	} else {
		l.add("runs", DoctorOK, fmt.Sprintf("%s, %s; %d live", words.Count(o.Runs, "run"), words.Size(o.Bytes),
			len(o.Live)), "")
	}
	for _, run := range o.Damaged {
		l.add("damaged", DoctorWarn, "run "+run.ID+": "+run.Problem, "arbiter sessions show "+run.ID+o.Named)
	}
	for _, run := range shown(o.Resumable) {
		l.add("interrupted", DoctorNote, "run "+run.ID+" in "+run.Dir, "arbiter --resume --session "+run.ID+o.NamedToResume)
	}
	if n := len(o.Resumable) - len(shown(o.Resumable)); n > 0 {
		l.add("interrupted", DoctorNote, "and "+words.Count(n, "more run"), "arbiter sessions"+o.Named)
	}
	for _, run := range shown(o.Worktrees) {
		l.add("worktrees", DoctorNote, "of agents of run "+run.ID+" in "+run.Dir+"; removing the run saves their work first",
			"arbiter sessions rm "+run.ID+o.Named)
	}
	if len(o.Processes) > 0 {
		var names, pids []string
		for _, p := range o.Processes {
			names, pids = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID)), append(pids, strconv.Itoa(p.PID))
		}
		l.add("processes", DoctorWarn, "still run after the end of their run; the next run ends them: "+
			strings.Join(names, ", "),
			"kill -KILL "+strings.Join(pids, " "))
	}
	l.scratch(o.Scratch)
	return l.all
}

// shown returns the runs that are reported one by one.
func shown(runs []DoctorRun) []DoctorRun { return runs[:min(len(runs), 3)] }

// maxPaths bounds the number of paths in one command, so that the command is printed completely.
const maxPaths = 10

// scratch reports scratch directories, grouped by kind.
func (l *list) scratch(all []DoctorScratch) {
	var kinds []string
	paths := map[string][]string{}
	for _, s := range all {
		if paths[s.What] == nil {
			kinds = append(kinds, s.What)
		}
		paths[s.What] = append(paths[s.What], s.Path)
	}
	for _, kind := range kinds {
		found, some := fmt.Sprintf("%d %s", len(paths[kind]), kind), paths[kind]
		if len(some) > maxPaths {
			some = some[:maxPaths]
			found += fmt.Sprintf("; this removes %d of them", maxPaths)
		}
		l.add("scratch directories", DoctorNote, found, "rm -rf "+quoted(some))
	}
}
