package machine

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A deviation without a reason, one of an unknown state or event, a place that is named twice, or a transition
// that equals SPEC-0003's is an error in the list.
func TestDeviationsDeviate(t *testing.T) {
	s, d := loaded[seed](t, "spec-0003.yaml"), loaded[deviations](t, "deviations.yaml")
	_, written := theModel(t)
	seen := map[place]string{}
	for _, dev := range d.Deviations {
		if dev.What == "" || dev.Why == "" || len(dev.States) == 0 {
			t.Errorf("a deviation lacks what, why or states: %+v", dev)
		}
		if _, added := d.Added[dev.Event]; !added && dev.Event != alwaysName && !slices.Contains(s.Events, dev.Event) {
			t.Errorf("%s: there is no event %s", dev.What, dev.Event)
		}
		for _, state := range dev.States {
			at := place{state, dev.Event}
			if _, ok := s.States[state]; !ok {
				t.Errorf("%s: there is no state %s", dev.What, state)
			}
			if before, ok := seen[at]; ok {
				t.Errorf("%s by %s is in %q and in %q", state, dev.Event, before, dev.What)
			}
			seen[at] = dev.What
			if cmp.Equal(written[at], dev.Becomes, cmpopts.EquateEmpty()) {
				t.Errorf("%s: SPEC-0003 says that of %s by %s, too", dev.What, state, dev.Event)
			}
		}
	}
}

// These are the parts that hold as written; the machine deviates from the rest of SPEC-0003's transitions.
func TestWhatHoldsAsWritten(t *testing.T) {
	m, written := theModel(t)
	var kept []string
	for at, steps := range written {
		if cmp.Equal(m[at], steps) {
			kept = append(kept, at.state+" by "+at.event)
		}
	}
	slices.Sort(kept)
	want := []string{"executing by AGENT_COMPLETE", "executing by AGENT_TOOL_CALL", "executing by CANCEL",
		"idle by START_TASK"}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(written) != 11 {
		t.Errorf("SPEC-0003 has transitions in 11 places, not %d", len(written))
	}
}

// Everything that SPEC-0003 names exists under the same name.
func TestEverythingNamedIsThere(t *testing.T) {
	s := loaded[seed](t, "spec-0003.yaml")
	m, _ := theModel(t)
	for _, e := range s.Events {
		taken := false
		for at := range m {
			taken = taken || at.event == e
		}
		if !taken {
			t.Errorf("no state takes %s", e)
		}
	}
	for g := range s.Guards {
		if Guards[Guard(g)] == nil {
			t.Errorf("there is no guard %s", g)
		}
	}
	if State(s.Initial) != initial() {
		t.Errorf("a run begins in %s, not in %s", initial(), s.Initial)
	}
	for name, state := range s.States {
		if !slices.Contains(all, State(name)) || State(name).Live() == state.Final {
			t.Errorf("the state %s is missing, or final where it should not be", name)
		}
	}
	if len(s.States) != len(all) {
		t.Errorf("%d states, not %d", len(all), len(s.States))
	}
}
