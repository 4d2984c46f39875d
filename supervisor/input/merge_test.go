package input

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// done is the result of a call: the merges that it requested, and the events.
type done struct {
	Asked []IsolationMerge
	Told  []contract.Body
}

func act(f func(*Collector)) done {
	var out Collector
	f(&out)
	var d done
	for _, e := range out.Effects() {
		switch e := e.(type) {
		case IsolationMerge:
			d.Asked = append(d.Asked, e)
		case Emit:
			d.Told = append(d.Told, e.Event.Body)
		}
	}
	return d
}

func (s *IsolationState) take(t *testing.T, m IsolationMerged) (o IsolationOutcome, d done) {
	t.Helper()
	d = act(func(out *Collector) {
		var ok bool
		if o, ok = s.Merged(out, m); !ok {
			t.Fatalf("nobody waits for %+v", m)
		}
	})
	return o, d
}

// TestOneMergeAtATime: in the order in which they were requested, each once.
func TestOneMergeAtATime(t *testing.T) {
	var s IsolationState
	got := act(func(out *Collector) {
		s.Ask(out, 7, "orch-1")
		s.Ask(out, 8, "orch-2")
		s.Ask(out, 7, "orch-1")
		s.Ask(out, 9, "orch-3")
	})
	testkit.Same(t, "", []IsolationMerge{{Serial: 1, Agent: "orch-1"}}, got.Asked)
	o, got := s.take(t, IsolationMerged{Serial: 1, Status: StatusMerged, Head: "h", Files: []string{"a"}})
	want := done{
		Asked: []IsolationMerge{{Serial: 2, Agent: "orch-2"}},
		Told:  []contract.Body{contract.Merge{Status: "merged", Head: "h", Files: []string{"a"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" || o != (IsolationOutcome{Document: 7, Agent: "orch-1", Merged: true}) {
		t.Errorf("outcome %+v; -want +got:\n%s", o, diff)
	}
	// The first is no longer wanted: the next one is requested, and the old result comes too late.
	got = act(func(out *Collector) { s.Drop(out, 8) })
	testkit.Same(t, "", []IsolationMerge{{Serial: 3, Agent: "orch-3"}}, got.Asked)
	if _, ok := s.Merged(&Collector{}, IsolationMerged{Serial: 2, Status: StatusMerged}); ok {
		t.Error("a result that nobody waits for was taken")
	}
	// Another process repeats the request.
	got = act(func(out *Collector) { s.ask(out) })
	testkit.Same(t, "", []IsolationMerge{{Serial: 4, Agent: "orch-3"}}, got.Asked)
	if o, _ := s.take(t, IsolationMerged{Serial: 4, Failed: "the disk is full"}); o.Merged ||
		!strings.Contains(o.Why, "the disk is full") {
		t.Errorf("a merge that failed: %+v", o)
	}
}

// TestConflictsGoBack: conflicts go back to their author three times in a row, then to the Arbiter. A merge in
// between, or a message of the Arbiter, resets the count.
func TestConflictsGoBack(t *testing.T) {
	var s IsolationState
	conflict := func() IsolationOutcome {
		act(func(out *Collector) { s.Ask(out, 1, "orch-1") })
		o, _ := s.take(
			t,
			IsolationMerged{Serial: s.Serial, Status: StatusConflict, Head: "c0ffee", Files: []string{"go.mod"}},
		)
		return o
	}
	for attempt := range 2 * (MaxConflicts + 1) {
		o := conflict()
		if last := attempt%(MaxConflicts+1) == MaxConflicts; last {
			if o.Back != "" || !strings.Contains(o.Why, "go.mod") {
				t.Errorf("attempt %d: %+v", attempt, o)
			}
			continue
		}
		if o.Why != "" || !strings.Contains(o.Back, "git merge c0ffee") || !strings.Contains(o.Back, "- go.mod") {
			t.Errorf("attempt %d: %+v", attempt, o)
		}
	}
	conflict()
	conflict()
	act(func(out *Collector) { s.Ask(out, 1, "orch-1") })
	s.take(t, IsolationMerged{Serial: s.Serial, Status: StatusMerged, Head: "h"})
	if len(s.Conflicts) != 0 {
		t.Errorf("after a merge: %+v", s.Conflicts)
	}
	act(func(out *Collector) { s.Ask(out, 1, "orch-1") })
	o, got := s.take(t, IsolationMerged{Serial: s.Serial, Status: StatusUnfinished, Detail: "rebase"})
	if !strings.Contains(o.Back, "a rebase is under way") || len(got.Told) != 0 {
		t.Errorf("in the middle of a rebase: %+v, told %v", o, got.Told)
	}
}
