package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// chooser is the source of a walk's choices: chance, or a fuzzer's bytes.
type chooser interface{ IntN(n int) int }

// bytesChosen chooses by the bytes of an input; it chooses 0 when they are used up.
type bytesChosen struct{ left []byte }

func (b *bytesChosen) IntN(n int) int {
	if len(b.left) == 0 {
		return 0
	}
	x := int(b.left[0]) % n
	b.left = b.left[1:]
	return x
}

// Triggers with most rows come most often.
var (
	decisions = []string{"", "SELECT_MODE", "CONTINUE", "COMPLETE", "RETRY", "RETRY", "RETRY", "ADDRESS_HUMAN",
		"ADDRESS_ORCHESTRATOR", "nonsense"}
	often = []Trigger{Decision, Decision, Decision, Decision, Decision, Decision, Decision, AgentError, AgentComplete,
		ForceAgent, ForceAgent}
)

// situation is any situation: guards have to be distinguished, whether or not a run can reach it.
func situation(c chooser) Situation {
	yes := func() bool { return c.IntN(2) == 1 }
	return Situation{
		Decision:   decisions[c.IntN(len(decisions))],
		AgentKnown: yes(), AgentAlive: yes(), Engaged: yes(), Awaited: yes(),
		HasTask: yes(), HasStep: yes(), HasLast: yes(),
		Iterations: c.IntN(4), MaxIterations: 1 + c.IntN(3),
		Failures: c.IntN(4), MaxFailures: 1 + c.IntN(3),
		TotalFailures: c.IntN(6), MaxTotalFailures: c.IntN(5),
		Recoverable: yes(), RulesLeft: yes(), WasComplete: yes(),
		Before: append(slices.Clone(all), "", "nowhere")[c.IntN(len(all)+2)],
	}
}

// sample is one step of a walk, and the model's result for it.
type sample struct {
	from State
	on   Trigger
	in   Situation

	index   int // of the model's transition
	to      State
	do      []string
	ignored bool
}

// told is the result of a step, to be compared.
type told struct {
	To      State
	Do      []string
	Ignored bool
}

func (s sample) told() told { return told{s.to, s.do, s.ignored} }

// tables returns the result of Next for the same sample.
func (s sample) tables() told {
	m, ok := Next(s.from, s.on, s.in)
	if !ok {
		return told{Ignored: true}
	}
	do := make([]string, len(m.Do))
	for i, a := range m.Do {
		do[i] = string(a)
	}
	return told{To: m.To, Do: do}
}

// agrees reports whether the table and the model have the same result for a step.
func (s sample) agrees() bool {
	m, ok := Next(s.from, s.on, s.in)
	return ok != s.ignored && (!ok || m.To == s.to && slices.EqualFunc(m.Do, s.do, func(a Action, b string) bool {
		return string(a) == b
	}))
}

func (s sample) String() string {
	return fmt.Sprintf("%s by %s in %+v", s.from, triggerName(s.on), s.in)
}

// walk plays events against the model, from the initial state, and begins again at every other final state. In
// each state entered it also tries Always.
func walk(m model, list []Trigger, c chooser, steps int) []sample {
	var walked []sample
	at := initial
	step := func(on Trigger, s Situation) bool {
		index, to, do, ok := m.next(at, on, s)
		walked = append(walked, sample{from: at, on: on, in: s, index: index, to: to, do: do, ignored: !ok})
		if ok {
			at = to
		}
		return ok
	}
	for range steps {
		if !at.Live() && c.IntN(2) == 0 {
			at = initial
		}
		s := situation(c)
		for ok := step(list[c.IntN(len(list))], s); ok; {
			ok = step(Always, s)
		}
	}
	return walked
}

// corpus is the walk that the tests share.
func corpus(t testing.TB, m model) []sample {
	t.Helper()
	return walk(m, append(triggers(t), often...), rand.New(rand.NewPCG(3, 6)), 50_000)
}

func compare(t testing.TB, walked []sample) {
	t.Helper()
	for _, s := range walked {
		if !s.agrees() {
			t.Fatalf("%s (-specified +table):\n%s", s, cmp.Diff(s.told(), s.tables(), cmpopts.EquateEmpty()))
		}
	}
}

func TestTableMatchesTheSpecification(t *testing.T) {
	m, _ := theModel(t)
	compare(t, corpus(t, m))
}

// A walk that never reaches a transition, or in which a guard never decides, proves nothing about it.
func TestTheWalkCoversEverything(t *testing.T) {
	m, _ := theModel(t)
	rows, guards := map[int]bool{}, map[string]bool{}
	taken := map[place]map[int]bool{}
	for _, s := range corpus(t, m) {
		if at := (place{string(s.from), triggerName(s.on)}); !s.ignored {
			if taken[at] == nil {
				taken[at] = map[int]bool{}
			}
			taken[at][s.index] = true
		}
		for i, r := range Table {
			if r.On != s.on || !slices.Contains(r.From, s.from) {
				continue
			}
			note(guards, i, r, s.in)
			if r.holds(s.in) {
				rows[i] = true
				break
			}
		}
	}
	for i, r := range Table {
		testkit.Check(t, rows[i], "row %d is never taken: %s", i, label(i, r))
		for _, g := range r.If {
			for _, held := range []bool{true, false} {
				testkit.Check(t, guards[guardSeen(i, g, held)], "row %d: %s is never %v where the other guards hold", i,
					g, held)
			}
		}
	}
	for at, steps := range m {
		for i := range steps {
			testkit.Check(t, taken[at][i], "transition %d of %s by %s is never taken", i, at.state, at.event)
		}
	}
	for g := range Guards {
		testkit.Check(t, slices.ContainsFunc(Table, func(r Row) bool { return slices.Contains(r.If, g) }),
			"no row asks for the guard %s", g)
	}
}

func guardSeen(row int, g Guard, held bool) string { return fmt.Sprint(row, g, held) }

// note records which guard decided about a row: it alone fails, or all hold.
func note(seen map[string]bool, i int, r Row, s Situation) {
	failing := testkit.Only(r.If, func(g Guard) bool { return !Guards[g](s) })
	switch len(failing) {
	case 0:
		for _, g := range r.If {
			seen[guardSeen(i, g, true)] = true
		}
	case 1:
		seen[guardSeen(i, failing[0], false)] = true
	}
}

func FuzzModel(f *testing.F) {
	m, _ := theModel(f)
	list := triggers(f)
	f.Add([]byte("a task, an agent, a document, a ruling"))
	f.Add([]byte{0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 2, 0, 2, 0, 0, 1, 1, 1, 9, 3})
	f.Fuzz(func(t *testing.T, choices []byte) {
		compare(t, walk(m, list, &bytesChosen{choices}, 1+len(choices)/20))
	})
}

// everywhere tries every trigger in every state in many situations.
func everywhere(t *testing.T, look func(from State, on Trigger, s Situation, m Move, ok bool)) {
	t.Helper()
	c := rand.New(rand.NewPCG(1, 1))
	list := append(triggers(t), Always)
	for range 300 {
		s := situation(c)
		for _, from := range all {
			for _, on := range list {
				m, ok := Next(from, on, s)
				look(from, on, s, m, ok)
			}
		}
	}
}

func TestMovesLeadToStates(t *testing.T) {
	everywhere(t, func(from State, on Trigger, s Situation, m Move, ok bool) {
		again, okAgain := Next(from, on, s)
		testkit.Need(t, ok == okAgain && cmp.Equal(m, again), "%s by %s is %+v and %+v", from, on, m, again)
		testkit.Need(t, !ok || slices.Contains(all, m.To), "%s by %s leads to %q, which is not a state", from, on, m.To)
		testkit.Need(t, ok || cmp.Equal(m, Move{}), "%s by %s is ignored and leads to %+v", from, on, m)
	})
}

func TestFinalStatesAreLeftByResetAndResume(t *testing.T) {
	everywhere(t, func(from State, on Trigger, _ Situation, m Move, ok bool) {
		testkit.Need(t, !ok || from.Live() || on == Reset || on == Resume, "%s leaves %s", on, from)
		testkit.Need(t, !ok || from.Live() || m.To.Live(), "%s by %s leads to another end", from, on)
	})
}

// No situation prevents a human from stopping a run, or a limit from ending it.
func TestNothingKeepsARunFromItsEnd(t *testing.T) {
	ends := map[Trigger]State{Cancel: Cancelled, LimitReached: Complete, GiveUp: Failed}
	everywhere(t, func(from State, on Trigger, s Situation, m Move, ok bool) {
		to, end := ends[on]
		switch {
		case end && from.Live() && (!ok || m.To != to):
			t.Fatalf("%s by %s leads to %q in %+v", from, on, m.To, s)
		case on == Reset && (!ok || m.To != Idle):
			t.Fatalf("%s by RESET leads to %q in %+v", from, m.To, s)
		case on == Decision && s.Decision == "COMPLETE" && from.Live() && m.To != Complete:
			t.Fatalf("%s by COMPLETE leads to %q in %+v", from, m.To, s)
		}
	})
}

// Every end that is reached is reported, and nothing else ends a run.
func TestEndsAreReported(t *testing.T) {
	told := map[Action]State{EndComplete: Complete, EndAtLimit: Complete, EndFailed: Failed, EndCancelled: Cancelled}
	everywhere(t, func(from State, on Trigger, _ Situation, m Move, ok bool) {
		var ends []Action
		for _, a := range m.Do {
			if to, ok := told[a]; ok {
				ends = append(ends, a)
				testkit.Need(t, to == m.To, "%s by %s leads to %s and tells %s", from, on, m.To, a)
			}
		}
		testkit.Need(t, (ok && from.Live() && !m.To.Live()) == (len(ends) == 1) && len(ends) <= 1,
			"%s by %s leads to %s and tells %v", from, on, m.To, ends)
	})
}

func TestEveryTaskTerminates(t *testing.T) {
	everywhere(t, func(from State, on Trigger, s Situation, m Move, ok bool) {
		if !ok {
			return
		}
		at := m.To
		for range len(all) {
			next, ok := Next(at, Always, s)
			if !ok {
				return
			}
			at = next.To
		}
		t.Fatalf("%s by %s never comes to rest in %+v", from, on, s)
	})
}

// A run is resumed in the state in which it ended, whichever that was.
func TestResumeRestoresEveryState(t *testing.T) {
	for _, was := range live {
		for _, end := range append([]State{was}, ends...) {
			m, ok := Next(end, Resume, Situation{Before: was})
			testkit.Check(t, ok && m.To == was && len(m.Do) == 0, "left in %s, ended in %s, taken up: %+v", was, end, m)
		}
	}
}

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
			shared := func(s State) bool { return slices.Contains(Table[j].From, s) }
			if r.On == Table[j].On && slices.ContainsFunc(r.From, shared) {
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
		testkit.Check(t, known[what], "there is no such fault: %s", what)
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
			testkit.Check(t, slices.ContainsFunc(walked, func(s sample) bool { return !s.agrees() }),
				"%s %s: no test notices", name, what)
			Guards[name] = sound
		}
	}
}
