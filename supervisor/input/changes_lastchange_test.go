package input

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// last returns who changed one of some files last, if known.
func (r *run) last(paths ...string) LastChange {
	return r.s.LastChange(func(f ChangeFile) bool { return slices.Contains(paths, f.Path) })
}

func (r *run) wants(want LastChange, paths ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.last(paths...)); diff != "" {
		r.t.Errorf("last change of %q, -want +got:\n%s", paths, diff)
	}
}

// TestLastChange: the newest change counts, and an agent is named only if it is known to have made it.
func TestLastChange(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.wants(LastChange{}, "a")
	r.turn("orch-1", nil, nil, []string{"a", "b", "c", "d", "e"})
	r.wants(LastChange{"orch-1", []string{"a", "b"}}, "a", "b")
	r.wants(LastChange{"orch-1", []string{"a", "b", "c"}}, "a", "b", "c", "d", "e")
	r.turn("orch-2", nil, nil, []string{"b"})
	r.wants(LastChange{"orch-2", []string{"b"}}, "a", "b")
	r.wants(LastChange{"orch-1", []string{"a"}}, "a")
	r.s.Acts("orch-1")
	r.turn("orch-2", []string{"/w/a"}, nil, []string{"a", "b"})
	r.wants(LastChange{"orch-2", []string{"a"}}, "a") // its tools named it
	r.wants(LastChange{}, "b")                        // either may have been the last
	r.wants(LastChange{"orch-1", []string{"c"}}, "c")
	// Both of them wrote it, and it is not known who did last.
	r.turn("orch-1", []string{"/w/a"}, nil, nil)
	r.wants(LastChange{}, "a")
	// A pending snapshot may show another change.
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-2", Alive: r.alive}, nil)
	r.wants(LastChange{}, "c")
}

// TestBothNamedIt: an overlap is noticed if one snapshot shows a file that both wrote.
func TestBothNamedIt(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.s.Acts("orch-2")
	if found := overlapsOf(r.turn("orch-1", []string{"/w/a"}, []string{"orch-2"}, []string{"a"})); len(found) > 0 {
		t.Errorf("too early: %+v", found)
	}
	want := []contract.Overlap{{Path: "a", Agents: []string{"orch-1", "orch-2"}}}
	if diff := cmp.Diff(want, overlapsOf(r.turn("orch-2", []string{"/w/a"}, nil, nil))); diff != "" {
		t.Errorf("overlaps, -want +got:\n%s", diff)
	}
}

// TestMergedWork: merged work is attributed to its author at the merge, and not to the agent whose snapshot
// shows it.
func TestMergedWork(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.turn("orch-2", nil, nil, []string{"a"})
	r.out = effect.Collector{}
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-1", Top: "/own/orch-1", Alive: r.alive}, nil)
	r.record([]string{"a", "b"})
	r.wants(LastChange{"orch-2", []string{"a"}}, "a", "b") // it is not merged yet
	r.s.Merged("orch-1", []string{"a", "b"}, true)
	r.wants(LastChange{"orch-1", []string{"a", "b"}}, "a", "b")
	events := r.turn("orch-2", nil, nil, []string{"a", "b", "c"})
	if files := changesOf(t, events, "orch-2"); len(files) != 1 || files[0].Path != "c" {
		t.Errorf("changed by orch-2: %+v", files)
	}
	if f, _ := r.s.File("b"); !slices.Equal(f.Known, []string{"orch-1"}) {
		t.Errorf("b: %+v", f)
	}
	r.wants(LastChange{"orch-1", []string{"a", "b"}}, "a", "b")
	r.turn("orch-2", nil, nil, []string{"b"})
	r.wants(LastChange{"orch-2", []string{"b"}}, "a", "b")
	r.s.Merged("", []string{"b"}, false)
	r.wants(LastChange{}, "b")
}
