package machine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
		if again, okAgain := Next(from, on, s); ok != okAgain || !cmp.Equal(m, again) {
			t.Fatalf("%s by %s is %+v and %+v", from, on, m, again)
		}
		if ok && !slices.Contains(all, m.To) {
			t.Fatalf("%s by %s leads to %q, which is not a state", from, on, m.To)
		}
		if !ok && !cmp.Equal(m, Move{}) {
			t.Fatalf("%s by %s is ignored and leads to %+v", from, on, m)
		}
	})
}

func TestFinalStatesAreLeftByResetAndResume(t *testing.T) {
	everywhere(t, func(from State, on Trigger, _ Situation, m Move, ok bool) {
		if ok && !from.Live() && on != Reset && on != Resume {
			t.Fatalf("%s leaves %s", on, from)
		}
		if ok && !from.Live() && !m.To.Live() {
			t.Fatalf("%s by %s leads to another end", from, on)
		}
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
				if ends = append(ends, a); to != m.To {
					t.Fatalf("%s by %s leads to %s and tells %s", from, on, m.To, a)
				}
			}
		}
		if entered := ok && from.Live() && !m.To.Live(); entered != (len(ends) == 1) || len(ends) > 1 {
			t.Fatalf("%s by %s leads to %s and tells %v", from, on, m.To, ends)
		}
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
			if m, ok := Next(end, Resume, Situation{Before: was}); !ok || m.To != was || len(m.Do) > 0 {
				t.Errorf("left in %s, ended in %s, taken up: %+v", was, end, m)
			}
		}
	}
}

func TestEveryStateOfTheTableIsReached(t *testing.T) {
	reached := map[State]bool{initial(): true}
	for range all {
		everywhere(t, func(from State, _ Trigger, _ Situation, m Move, ok bool) {
			if ok && reached[from] {
				reached[m.To] = true
			}
		})
	}
	for _, s := range all {
		if !reached[s] {
			t.Errorf("%s is never reached", s)
		}
	}
}
