package main

import (
	"math/rand/v2"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func TestPermissionIsGranted(t *testing.T) {
	begin := of("supervisor", contract.Session{})
	ask, again := of("a", contract.PermissionRequest{Request: "p", Tool: "Write"}),
		of("a", contract.Permission{Request: "p", Behavior: "allow"})
	spawn, released, crash := of("a", contract.Spawn{}), of("a", contract.Done{Reason: "All is woven."}),
		of("a", contract.Done{Reason: "crash"})
	result := of("supervisor", contract.Result{Status: contract.StatusComplete})
	for name, tt := range map[string]struct {
		all []contract.Line
		bad bool
	}{
		"answered":                        {linesOf(begin, ask, again, result), false},
		"asked for again":                 {linesOf(begin, ask, begin, ask, again, result), false},
		"answered by the next process":    {linesOf(begin, ask, begin, again, result), false},
		"never answered":                  {linesOf(begin, ask), true},
		"forgotten by the next process":   {linesOf(begin, ask, begin, result), true},
		"asked for by the one after it":   {linesOf(begin, ask, begin, begin, ask, again, result), false},
		"ended with the run":              {linesOf(begin, ask, result, begin, result), true},
		"denied at the end of the run":    {linesOf(begin, ask, begin, again, result, begin, result), false},
		"started again after a crash":     {linesOf(begin, spawn, crash, spawn, result), false},
		"let go, and started again":       {linesOf(begin, spawn, released, spawn, result), true},
		"called back by the next process": {linesOf(begin, spawn, released, begin, spawn, result), false},
		"an event after the result":       {linesOf(begin, result, spawn), true},
		"two results":                     {linesOf(begin, result, result), true},
	} {
		r := &round{f: newFigures()}
		r.checkPermissions(tt.all)
		if bad := len(r.problems) > 0; bad != tt.bad {
			t.Errorf("%s: %q", name, r.problems)
		}
	}
}

// TestFollowUpsAreRun: each follow-up runs once, within its ticks, including those that a follow-up adds.
func TestFollowUpsAreRun(t *testing.T) {
	l := &processRun{r: &round{rnd: rand.New(rand.NewPCG(1, 2))}}
	n := 0
	for range 20 {
		l.later(func() { n++ })
	}
	l.later(func() { l.later(func() { n += 100 }) })
	for range 40 {
		l.tick()
	}
	if n != 120 || len(l.followUps) > 0 {
		t.Errorf("%d, and %d are left", n, len(l.followUps))
	}
}

// TestTheHumanActs: the human acts in one of that many rounds, in none of those that have a crash point to
// reach, and in the same rounds for the same seed.
func TestTheHumanActs(t *testing.T) {
	count := func(every uint64, must string) (n int) {
		for seed := range uint64(20) {
			r := &round{o: options{actions: every}, seed: seed, must: must, rnd: rand.New(rand.NewPCG(seed, 17))}
			same := &round{o: options{actions: every}, seed: seed, must: must, rnd: rand.New(rand.NewPCG(seed, 17))}
			a, b := r.actionsOf(), same.actionsOf()
			if len(a) != len(b) || len(a) > 0 && a[0] != b[0] || (len(a) > 0) != r.acts() {
				t.Errorf("seed %d: %v, and then %v", seed, a, b)
			}
			if r.acts() {
				n++
			}
		}
		return n
	}
	if one, some, none, must := count(1, ""), count(5, ""), count(0, ""), count(1, "loop.kill"); one != 20 ||
		some != 4 || none != 0 || must != 0 {
		t.Errorf("%d, %d, %d, %d rounds of 20", one, some, none, must)
	}
}

func TestUnfinishedActionsAtTheEnd(t *testing.T) {
	given := func(id string) contract.Event { return of(contract.Arbiter, contract.Delivered{MessageID: id}) }
	turn, failed := of(contract.Arbiter, contract.Turn{Outcome: "done"}),
		of(contract.Arbiter, contract.Turn{Outcome: "failed"})
	got := stillUnderWay(linesOf(given("one"), turn, given("two"), failed, of("orch-1", contract.Turn{Outcome: "done"}),
		of("orch-1", contract.Delivered{MessageID: "three"})))
	if len(got) != 1 || !got["two"] {
		t.Errorf("under way: %v", got)
	}
	if got := stillUnderWay(linesOf(given("one"), given("two"), turn)); len(got) != 0 {
		t.Errorf("under way: %v", got)
	}
}
