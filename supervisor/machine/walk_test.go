package machine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
	at := initial()
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
			at = initial()
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
		if !rows[i] {
			t.Errorf("row %d is never taken: %s", i, label(i, r))
		}
		for _, g := range r.If {
			for _, held := range []bool{true, false} {
				if !guards[guardSeen(i, g, held)] {
					t.Errorf("row %d: %s is never %v where the other guards hold", i, g, held)
				}
			}
		}
	}
	for at, steps := range m {
		for i := range steps {
			if !taken[at][i] {
				t.Errorf("transition %d of %s by %s is never taken", i, at.state, at.event)
			}
		}
	}
	for g := range Guards {
		if !slices.ContainsFunc(Table, func(r Row) bool { return slices.Contains(r.If, g) }) {
			t.Errorf("no row asks for the guard %s", g)
		}
	}
}

func guardSeen(row int, g Guard, held bool) string { return fmt.Sprint(row, g, held) }

// note records which guard decided about a row: it alone fails, or all hold.
func note(seen map[string]bool, i int, r Row, s Situation) {
	var failing []Guard
	for _, g := range r.If {
		if !Guards[g](s) {
			failing = append(failing, g)
		}
	}
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
