package machine

import (
	"slices"
	"strings"
	"testing"
)

// mutant is the table with one fault.
type mutant struct {
	what  string
	on    Trigger // of the rows with the fault
	table []Row
}

// Rows that hide the effect of a fault.
const (
	idleFirst  = "the row of idle comes before it"
	finalFirst = "the row of final states comes before it"
)

// equivalents are the faults that do not change the machine, each with its reason.
var equivalents = map[string]string{
	"exchanged ARBITER_DECISION [isComplete] / endComplete → complete and ARBITER_DECISION [goesOn, agentAlive, " +
		"maxIterationsReached, nobodyWorks] / endAtLimit → complete": "no decision is COMPLETE and goes on",
	"exchanged ARBITER_DECISION [goesOn, agentAlive] → executing and " +
		"ARBITER_DECISION [someoneWorks] → executing": "both do the same; two rows say why",
	"more state idle of ARBITER_DECISION [rulingAwaited] → evaluating": idleFirst,
	"more state idle of ARBITER_DECISION → selecting":                  idleFirst,
	"more state idle of AGENT_STOPPED [rulingAwaited] → evaluating":    idleFirst,
	"more state idle of AGENT_STOPPED → selecting":                     idleFirst,
	"more state complete of RESUME → same":                             finalFirst,
	"more state failed of RESUME → same":                               finalFirst,
	"more state cancelled of RESUME → same":                            finalFirst,
}

// named is a row without its number, which changes when the table grows.
func named(r Row) string {
	_, text, _ := strings.Cut(label(0, r), " ")
	to := string(r.To)
	if r.To == Same {
		to = sameName
	}
	return text + " → " + to
}

// mutants leaves out each row, exchanges each two rows of a trigger, and leaves out or changes each part of
// each row.
func mutants() []mutant {
	var list []mutant
	for i, r := range Table {
		add := func(what string, change func([]Row) []Row) {
			list = append(list, mutant{what, r.On, change(slices.Clone(Table))})
		}
		add("without "+named(r), func(rows []Row) []Row { return slices.Delete(rows, i, i+1) })
		for j := i + 1; j < len(Table); j++ {
			if overlap(r, Table[j]) {
				add("exchanged "+named(r)+" and "+named(Table[j]), func(rows []Row) []Row {
					rows[i], rows[j] = rows[j], rows[i]
					return rows
				})
			}
		}
		for _, part := range parts(r) {
			add(part.what+" of "+named(r), func(rows []Row) []Row {
				rows[i] = part.row
				return rows
			})
		}
	}
	return list
}

func overlap(a, b Row) bool {
	return a.On == b.On && slices.ContainsFunc(a.From, func(s State) bool { return slices.Contains(b.From, s) })
}

type part struct {
	what string
	row  Row
}

// parts are the faults of a single row.
func parts(r Row) []part {
	var list []part
	add := func(what string, change func(*Row)) {
		c := r
		change(&c)
		list = append(list, part{what, c})
	}
	for i, s := range r.From {
		add("state "+string(s), func(r *Row) { r.From = slices.Delete(slices.Clone(r.From), i, i+1) })
	}
	for i, g := range r.If {
		add("guard "+string(g), func(r *Row) { r.If = slices.Delete(slices.Clone(r.If), i, i+1) })
	}
	for i, a := range r.Do {
		add("action "+string(a), func(r *Row) { r.Do = slices.Delete(slices.Clone(r.Do), i, i+1) })
	}
	add("action more", func(r *Row) { r.Do = append(slices.Clone(r.Do), "more") })
	add("target", func(r *Row) {
		if r.To == Failed {
			r.To = Complete
			return
		}
		r.To = Failed
	})
	for _, s := range all {
		if !slices.Contains(r.From, s) {
			add("more state "+string(s), func(r *Row) { r.From = append(slices.Clone(r.From), s) })
		}
	}
	return list
}

// A part of the table in which the model test does not notice a fault is not tested.
func TestEveryFaultOfTheTableIsNoticed(t *testing.T) {
	m, _ := theModel(t)
	walked := map[Trigger][]sample{}
	for _, s := range corpus(t, m) {
		walked[s.on] = append(walked[s.on], s)
	}
	sound := Table
	t.Cleanup(func() { Table = sound })
	known := map[string]bool{}
	for _, mut := range mutants() {
		Table = mut.table
		noticed := slices.ContainsFunc(walked[mut.on], func(s sample) bool { return !s.agrees() })
		Table = sound
		why, equivalent := equivalents[mut.what]
		known[mut.what] = equivalent
		switch {
		case noticed && equivalent:
			t.Errorf("%s: is noticed, though %s", mut.what, why)
		case !noticed && !equivalent:
			t.Errorf("%s: no test notices", mut.what)
		}
	}
	for what := range equivalents {
		if !known[what] {
			t.Errorf("there is no such fault: %s", what)
		}
	}
}

// An inverted guard must be noticed, too.
func TestEveryFaultOfAGuardIsNoticed(t *testing.T) {
	m, _ := theModel(t)
	walked := corpus(t, m)
	for name, sound := range Guards {
		for what, fault := range map[string]func(Situation) bool{
			"denied": func(s Situation) bool { return !sound(s) },
			"always": func(Situation) bool { return true },
			"never":  func(Situation) bool { return false },
		} {
			Guards[name] = fault
			if !slices.ContainsFunc(walked, func(s sample) bool { return !s.agrees() }) {
				t.Errorf("%s %s: no test notices", name, what)
			}
			Guards[name] = sound
		}
	}
}
