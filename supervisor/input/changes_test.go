package input

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

var repository = runconfig.Workspace{Root: "/w", Base: "base"}

// run plays the supervisor and the recorder for a State.
type run struct {
	t     *testing.T
	s     ChangeState
	alive []string
	out   Collector
}

func begin(t *testing.T, alive ...string) *run { return &run{t: t, alive: alive} }

// asked returns the Record that was requested since the last call, or nil.
func (r *run) asked() *ChangeRecord {
	r.t.Helper()
	var found *ChangeRecord
	for _, e := range r.out.Effects() {
		if record, ok := e.(ChangeRecord); ok {
			testkit.Need(r.t, found == nil, "two snapshots were asked for at once")
			found = &record
		}
	}
	return found
}

// turn ends a turn, in which tools named files, and lets its snapshot show paths.
func (r *run) turn(agent string, named, working, paths []string) []contract.Event {
	r.t.Helper()
	r.out = Collector{}
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: agent, Named: named, Alive: r.alive}, working,
		!r.s.acting(agent))
	return r.record(paths)
}

// edits plays an edit of a file.
func (r *run) edits(agent, path string, fails bool) {
	r.s.Acts(ChangeCall{Agent: agent, Call: path, Path: path})
	r.s.Acted(agent, path, fails)
}

// ends ends a turn.
func (r *run) ends(agent string, named ...string) {
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: agent, Named: named, Alive: r.alive}, r.alive, false)
}

// record answers the requested Record, and returns the events that follow.
func (r *run) record(paths []string) []contract.Event {
	r.t.Helper()
	asked := r.asked()
	testkit.Need(r.t, asked != nil, "no snapshot was asked for")
	taken := SnapshotTaken{Serial: asked.Serial, Commit: "after " + asked.Last, Paths: paths}
	for _, p := range paths {
		taken.Files = append(taken.Files, contract.FileChange{Path: p, Status: "modified", Added: 1})
	}
	r.out = Collector{}
	before := r.s
	kept := slices.Clone(before.Files)
	r.s.Recorded(&r.out, repository, taken)
	if !slices.EqualFunc(kept, before.Files,
		func(a, b ChangeFile) bool { return a.Path == b.Path && slices.Equal(a.Authors, b.Authors) }) {
		r.t.Error("the state before was written to")
	}
	return r.events()
}

// events are those that were told last.
func (r *run) events() (list []contract.Event) {
	for _, e := range r.out.Effects() {
		if emit, ok := e.(Emit); ok {
			list = append(list, emit.Event)
		}
	}
	return list
}

func changesOf(t *testing.T, events []contract.Event, agent string) []contract.FileChange {
	t.Helper()
	for _, e := range events {
		if c, ok := e.Body.(contract.Changes); ok && e.ID == agent {
			return c.Files
		}
	}
	return nil
}

func overlapsOf(events []contract.Event) (found []contract.Overlap) {
	for _, e := range events {
		if o, ok := e.Body.(contract.Overlap); ok {
			found = append(found, o)
		}
	}
	return found
}

// TestAloneItIsTheAuthor: what a command wrote is attributed to its agent if no other agent worked.
func TestAloneItIsTheAuthor(t *testing.T) {
	r := begin(t, "orch-1")
	r.s.Acts(ChangeCall{Agent: "orch-1", Call: "bash"})
	files := changesOf(t, r.turn("orch-1", []string{"/w/a.go"}, nil, []string{"a.go", "made/by/bash"}), "orch-1")
	testkit.Check(t, len(files) == 2 && slices.Equal(files[1].Agents, []string{"orch-1"}), "changes are %+v", files)
}

// TestTwoAtWork: a change that neither agent's tools named may be from both, and is not an overlap. A named file is
// attributed to the agent that named it, even if a snapshot of the other's turn showed it first.
func TestTwoAtWork(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.s.Acts(ChangeCall{Agent: "orch-1", Call: "bash"})
	r.s.Acts(ChangeCall{Agent: "orch-2", Call: "bash"})
	both := []string{"orch-1", "orch-2"}
	events := r.turn("orch-1", []string{"/w/a.go"}, []string{"orch-2"}, []string{"a.go", "b.go", "c.go"})
	files := changesOf(t, events, "orch-1")
	testkit.Check(t, len(files) == 3 && slices.Equal(files[0].Agents, []string{"orch-1"}) &&
		slices.Equal(files[1].Agents, both), "changes are %+v", files)
	found := overlapsOf(events)
	testkit.Check(t, found == nil, "overlaps are %v", found)
	r.out = Collector{}
	r.s.TurnEnded(&r.out, repository,
		ChangeTurn{Agent: "orch-2", Named: []string{"/w/b.go", "/elsewhere/x"}, Alive: r.alive}, nil, false)
	record := r.asked()
	taken := SnapshotTaken{Serial: record.Serial, Commit: "c2",
		Files: []contract.FileChange{{Path: "a.go"}, {Path: "b.go"}, {Path: "c.go"}}}
	r.out = Collector{}
	r.s.Recorded(&r.out, repository, taken)
	files = r.out.Effects()[0].(Emit).Event.Body.(contract.Changes).Files
	testkit.Check(t, len(files) == 2 && files[0].Path == "b.go" && slices.Equal(files[0].Agents, []string{"orch-2"}) &&
		files[1].Path == "c.go", "changes of the second are %+v", files)
}

// TestOverlap: two living agents that changed a file are reported once; the successor of an ended agent is not.
func TestOverlap(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.turn("orch-1", []string{"/w/a.go"}, nil, []string{"a.go"})
	found := overlapsOf(r.turn("orch-2", []string{"/w/a.go"}, nil, []string{"a.go"}))
	testkit.Need(t, len(found) == 1 && found[0].Path == "a.go" &&
		slices.Equal(found[0].Agents, []string{"orch-1", "orch-2"}), "overlaps are %v", found)
	again := overlapsOf(r.turn("orch-1", []string{"/w/a.go"}, nil, []string{"a.go"}))
	testkit.Check(t, again == nil, "reported again: %v", again)
	r.alive = []string{"orch-3"}
	found = overlapsOf(r.turn("orch-3", []string{"/w/a.go"}, nil, []string{"a.go"}))
	testkit.Check(t, found == nil, "with agents that are gone: %v", found)
}

// TestOneAtATime: turns that end while a snapshot is taken wait for it.
func TestOneAtATime(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-1", Keep: "handoff-1", Alive: r.alive}, nil, true)
	first := r.asked()
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-2", Alive: r.alive}, nil, true)
	if again := r.asked(); *again != *first || first.Keep != "handoff-1" || first.Since != "base" {
		t.Fatalf("asked for %+v, then %+v", first, again)
	}
	events := r.record([]string{"a"})
	testkit.Check(t, changesOf(t, events, "orch-1") != nil, "events are %v", events)
	second := r.asked()
	testkit.Need(t, second != nil && second.Serial != first.Serial && second.Last == "after base" &&
		second.Since == "base", "then asked for %+v", second)
	r.out = Collector{}
	o := r.s.Recorded(&r.out, repository, SnapshotTaken{Serial: first.Serial})
	testkit.Check(t, !o.Final && len(r.out.Effects()) == 0, "a result that nobody waits for counted")
}

// TestLast: the last snapshot follows those that are requested already.
func TestLast(t *testing.T) {
	r := begin(t, "orch-1")
	for range 2 {
		r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-1", Alive: r.alive}, nil, true)
	}
	testkit.Need(t, r.s.Finish(&r.out, repository), "there is no last snapshot")
	r.record(nil)
	r.record(nil)
	last := r.asked()
	testkit.Need(t, last != nil && last.Final && last.Base == "base", "asked for %+v", last)
	total := &contract.ResultChanges{Files: 2, Head: "end"}
	r.out = Collector{}
	o := r.s.Recorded(&r.out, repository, SnapshotTaken{Serial: last.Serial, Total: total})
	testkit.Check(t, o.Final && r.s.Total == total && r.asked() == nil, "%+v, %+v", o, r.s)
}

// TestTroubleIsReportedOnce: failures are reported once, until a snapshot succeeds.
func TestTroubleIsReportedOnce(t *testing.T) {
	r := begin(t)
	notices := 0
	for _, failed := range []string{"disk full", "disk full", "", "disk full"} {
		r.out = Collector{}
		r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-1", Alive: r.alive}, nil, true)
		serial := r.asked().Serial
		r.out = Collector{}
		r.s.Recorded(&r.out, repository, SnapshotTaken{Serial: serial, Failed: failed})
		notices += len(r.out.Effects())
	}
	testkit.Same(t, "notices", 2, notices)
}

// TestFilesThatAreLeftOut: files that a snapshot does not contain are reported, each once.
func TestFilesThatAreLeftOut(t *testing.T) {
	r := begin(t)
	var told []string
	for _, left := range [][]string{{"a"}, {"a"}, nil, {"b", "a"}} {
		r.out = Collector{}
		r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-1", Alive: r.alive}, nil, true)
		serial := r.asked().Serial
		r.out = Collector{}
		r.s.Recorded(&r.out, repository, SnapshotTaken{Serial: serial, Commit: "c", Left: left})
		for _, e := range r.events() {
			told = append(told, e.Body.(contract.Notice).Text)
		}
	}
	want := "not recorded, so that diff, undo and merges leave it alone: "
	testkit.Same(t, "told", []string{want + "a", want + "b"}, told)
}

// TestResumed: requests of a process that has ended are repeated, except for the last snapshot: the run
// continues.
func TestResumed(t *testing.T) {
	r := begin(t, "orch-1")
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-1", Alive: r.alive}, nil, true)
	r.s.Finish(&r.out, repository)
	first := r.asked().Serial
	r.out = Collector{}
	r.s.Again(&r.out, repository)
	a := r.asked()
	testkit.Need(t, a != nil && !a.Final && a.Serial != first, "asked for %+v", a)
	r.record([]string{"a"})
	a = r.asked()
	testkit.Check(t, a == nil, "then asked for %+v", a)
}

// TestWithoutGit: nothing is requested.
func TestWithoutGit(t *testing.T) {
	r := begin(t)
	r.s.TurnEnded(&r.out, runconfig.Workspace{}, ChangeTurn{Agent: "orch-1"}, nil, true)
	testkit.Check(t, !r.s.Finish(&r.out, runconfig.Workspace{}) && len(r.out.Effects()) == 0, "something was asked for")
}

// last returns who changed one of some files last, if known.
func (r *run) last(paths ...string) LastChange {
	return r.s.LastChange(func(f ChangeFile) bool { return slices.Contains(paths, f.Path) })
}

func (r *run) wants(want LastChange, paths ...string) {
	r.t.Helper()
	testkit.Same(r.t, fmt.Sprintf("last change of %q", paths), want, r.last(paths...))
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
	r.s.Acts(ChangeCall{Agent: "orch-1", Call: "bash"})
	r.turn("orch-2", []string{"/w/a"}, nil, []string{"a", "b"})
	r.wants(LastChange{"orch-2", []string{"a"}}, "a") // its tools named it
	r.wants(LastChange{}, "b")                        // either may have been the last
	r.wants(LastChange{"orch-1", []string{"c"}}, "c")
	// Both of them wrote it, and it is not known who did last.
	r.edits("orch-1", "a", false)
	r.edits("orch-2", "a", false)
	r.turn("orch-1", nil, nil, []string{"a"})
	r.wants(LastChange{}, "a")
	// A pending snapshot may show another change.
	r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: "orch-2", Alive: r.alive}, nil, true)
	r.wants(LastChange{}, "c")
}

// TestBothNamedIt: an overlap is noticed if one snapshot shows a file that both wrote.
func TestBothNamedIt(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.edits("orch-2", "a", false)
	want := []contract.Overlap{{Path: "a", Agents: []string{"orch-1", "orch-2"}}}
	found := overlapsOf(r.turn("orch-1", []string{"/w/a"}, []string{"orch-2"}, []string{"a"}))
	testkit.Same(t, "overlaps", want, found)
	testkit.Empty(t, "again", overlapsOf(r.turn("orch-2", []string{"/w/a"}, nil, nil)))
}

// TestMoreIsChangedWhileASnapshotIsTaken: a snapshot that was requested for one agent may show what others did until it
// was taken, also those whose turn is over when it comes. A change that only one agent's calls explain is that agent's;
// what they do not decide may be from each, and says so; what no call explains is nobody's.
func TestMoreIsChangedWhileASnapshotIsTaken(t *testing.T) {
	both := []string{"orch-1", "orch-2"}
	for name, c := range map[string]struct {
		during  func(r *run) // the snapshot of orch-1's turn, which used a command
		after   func(r *run) // that snapshot, before the next
		known   []string     // at the end
		maybe   []string
		first   []contract.FileChange // that the event of orch-1's turn says
		command bool                  // orch-1's turn ran one
	}{
		"the other edited it, and its turn is over": {
			during: func(r *run) {
				r.edits("orch-2", "p", false)
				r.ends("orch-2", "/w/p")
			},
			command: true, known: []string{"orch-2"},
		},
		"the other's edit still runs, and succeeds": {
			during:  func(r *run) { r.s.Acts(ChangeCall{Agent: "orch-2", Call: "e", Path: "p"}) },
			after:   func(r *run) { r.s.Acted("orch-2", "e", false) },
			command: true, known: []string{"orch-2"},
		},
		"the other's edit still runs, and fails": {
			during:  func(r *run) { r.s.Acts(ChangeCall{Agent: "orch-2", Call: "e", Path: "p"}) },
			after:   func(r *run) { r.s.Acted("orch-2", "e", true) },
			command: true, known: []string{"orch-1"},
		},
		"the other's edit never says how it ended": {
			during:  func(r *run) { r.s.Acts(ChangeCall{Agent: "orch-2", Call: "e", Path: "p"}) },
			after:   func(r *run) { r.ends("orch-2") },
			command: true, maybe: both,
		},
		"the other's command is over, and its turn": {
			during: func(r *run) {
				r.s.Acts(ChangeCall{Agent: "orch-2", Call: "c"})
				r.s.Acted("orch-2", "c", false)
				r.ends("orch-2")
			},
			command: true, maybe: both,
			first: []contract.FileChange{{Path: "p", Status: "modified", Added: 1, Agents: both, Unsure: true}},
		},
		"only the other ran a command": {
			during: func(r *run) { r.s.Acts(ChangeCall{Agent: "orch-2", Call: "c"}) },
			known:  []string{"orch-2"},
		},
		"the other edited another file": {
			during:  func(r *run) { r.edits("orch-2", "q", false) },
			command: true, known: []string{"orch-1"},
			first: []contract.FileChange{{Path: "p", Status: "modified", Added: 1, Agents: []string{"orch-1"}}},
		},
		"the other tried to edit it":      {during: func(r *run) { r.edits("orch-2", "p", true) }},
		"nobody's tools ran at that time": {during: func(*run) {}},
	} {
		t.Run(name, func(t *testing.T) {
			r := begin(t, "orch-1", "orch-2")
			if c.command {
				r.s.Acts(ChangeCall{Agent: "orch-1", Call: "c"})
				r.s.Acted("orch-1", "c", false)
			} else {
				r.edits("orch-1", "own", false)
			}
			r.ends("orch-1")
			first := r.asked()
			c.during(r)
			taken := SnapshotTaken{Serial: first.Serial, Commit: "one", Paths: []string{"p"},
				Files: []contract.FileChange{{Path: "p", Status: "modified", Added: 1}}}
			r.out = Collector{}
			r.s.Recorded(&r.out, repository, taken)
			testkit.Same(t, "the event of the turn", c.first, changesOf(t, r.events(), "orch-1"))
			if c.after != nil {
				c.after(r)
			}
			f, _ := r.s.File("p")
			testkit.Same(t, "known", c.known, f.Known())
			testkit.Same(t, "maybe", c.maybe, f.Maybe())
		})
	}
}

// TestAnEditIsShownOnce: an edit that one snapshot shows is not seen again in the change of another agent.
func TestAnEditIsShownOnce(t *testing.T) {
	r := begin(t, "orch-1", "orch-2", "orch-3")
	r.edits("orch-2", "q", false)
	r.ends("orch-2")
	first := r.asked()
	r.edits("orch-1", "p", false) // while the snapshot is taken
	r.out = Collector{}
	r.s.Recorded(&r.out, repository, SnapshotTaken{Serial: first.Serial, Commit: "one", Paths: []string{"p", "q"}})
	r.edits("orch-3", "p", false)
	files := changesOf(t, r.turn("orch-1", []string{"/w/p"}, r.alive, []string{"p"}), "orch-1")
	testkit.Check(t, len(files) == 1 && slices.Equal(files[0].Agents, []string{"orch-1", "orch-3"}),
		"changes of orch-1, which began before both: %+v", files)
	r.wants(LastChange{"orch-3", []string{"p"}}, "p")
}

// TestASnapshotFails: what it would have shown, the next one shows, of the same agents.
func TestASnapshotFails(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.edits("orch-1", "a", false)
	r.ends("orch-1")
	serial := r.asked().Serial
	r.out = Collector{}
	r.s.Recorded(&r.out, repository, SnapshotTaken{Serial: serial, Failed: "disk full"})
	r.s.Acts(ChangeCall{Agent: "orch-2", Call: "c"})
	files := changesOf(t, r.turn("orch-2", nil, nil, []string{"a"}), "orch-2")
	testkit.Check(t, files == nil, "changed by orch-2: %+v", files)
	r.wants(LastChange{"orch-1", []string{"a"}}, "a")
}

// TestATurnBeginsWhereItsAgentBegan: the event of a turn counts neither the lines nor the authors of earlier ones.
func TestATurnBeginsWhereItsAgentBegan(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.edits("orch-1", "a", false)
	r.turn("orch-1", nil, nil, []string{"a"})
	r.edits("orch-2", "a", false)
	r.out = Collector{}
	r.ends("orch-2")
	testkit.Same(t, "its changes are compared with", "after base", r.asked().Since)
	files := changesOf(t, r.record([]string{"a"}), "orch-2")
	testkit.Check(t, len(files) == 1 && slices.Equal(files[0].Agents, []string{"orch-2"}) && !files[0].Unsure,
		"changes are %+v", files)
}

// TestMergedWork: merged work is attributed to its author at the merge, and not to the agent whose snapshot
// shows it.
func TestMergedWork(t *testing.T) {
	r := begin(t, "orch-1", "orch-2")
	r.turn("orch-2", nil, nil, []string{"a"})
	for agent, files := range map[string][]string{"orch-0": {"draft"}, "orch-1": {"a", "b", "scratch"}} {
		r.out = Collector{}
		r.s.TurnEnded(&r.out, repository, ChangeTurn{Agent: agent, Top: "/own/" + agent, Alive: r.alive}, nil, true)
		r.record(files)
	}
	r.wants(LastChange{"orch-2", []string{"a"}}, "a", "b") // it is not merged yet
	testkit.Same(t, "not merged", []string{"a (orch-1)", "b (orch-1)", "draft (orch-0)", "scratch (orch-1)"},
		r.s.Undelivered())
	r.s.Merged("orch-1", []string{"orch-0"}, []string{"a", "b"}, true) // draft and scratch were removed again
	testkit.Same(t, "not merged", []string(nil), r.s.Undelivered())
	r.wants(LastChange{"orch-1", []string{"a", "b"}}, "a", "b")
	events := r.turn("orch-2", nil, nil, []string{"a", "b", "c"})
	files := changesOf(t, events, "orch-2")
	testkit.Check(t, len(files) == 1 && files[0].Path == "c", "changed by orch-2: %+v", files)
	f, _ := r.s.File("b")
	testkit.Check(t, slices.Equal(f.Known(), []string{"orch-1"}), "b: %+v", f)
	r.wants(LastChange{"orch-1", []string{"a", "b"}}, "a", "b")
	r.turn("orch-2", nil, nil, []string{"b"})
	r.wants(LastChange{"orch-2", []string{"b"}}, "a", "b")
	r.s.Merged("", nil, []string{"b"}, false)
	r.wants(LastChange{}, "b")
}

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

func (s *IsolationState) take(t *testing.T, m Merged) (o IsolationOutcome, d done) {
	t.Helper()
	d = act(func(out *Collector) {
		var ok bool
		o, ok = s.Merged(out, m)
		testkit.Need(t, ok, "nobody waits for %+v", m)
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
	o, got := s.take(t, Merged{Serial: 1, Status: StatusMerged, Head: "h", Files: []string{"a"}})
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
	_, ok := s.Merged(&Collector{}, Merged{Serial: 2, Status: StatusMerged})
	testkit.Check(t, !ok, "a result that nobody waits for was taken")
	// Another process repeats the request.
	got = act(func(out *Collector) { s.ask(out) })
	testkit.Same(t, "", []IsolationMerge{{Serial: 4, Agent: "orch-3"}}, got.Asked)
	o, _ = s.take(t, Merged{Serial: 4, Failed: "the disk is full"})
	testkit.Check(t, !o.Merged && strings.Contains(o.Why, "the disk is full"), "a merge that failed: %+v", o)
}

// TestConflictsGoBack: conflicts go back to their author three times in a row, then to the Arbiter. A merge in
// between, or a message of the Arbiter, resets the count.
func TestConflictsGoBack(t *testing.T) {
	var s IsolationState
	conflict := func() IsolationOutcome {
		act(func(out *Collector) { s.Ask(out, 1, "orch-1") })
		o, _ := s.take(t,
			Merged{Serial: s.Serial, Status: StatusConflict, Head: "c0ffee", Files: []string{"go.mod"}})
		return o
	}
	for attempt := range 2 * (MaxConflicts + 1) {
		o := conflict()
		if last := attempt%(MaxConflicts+1) == MaxConflicts; last {
			testkit.Check(t, o.Back == "" && strings.Contains(o.Why, "go.mod"), "attempt %d: %+v", attempt, o)
			continue
		}
		testkit.Check(t, o.Why == "" && strings.Contains(o.Back, "git merge c0ffee") &&
			strings.Contains(o.Back, "- go.mod"), "attempt %d: %+v", attempt, o)
	}
	conflict()
	conflict()
	act(func(out *Collector) { s.Ask(out, 1, "orch-1") })
	s.take(t, Merged{Serial: s.Serial, Status: StatusMerged, Head: "h"})
	testkit.Same(t, fmt.Sprintf("after a merge: %+v", s.Conflicts), 0, len(s.Conflicts))
	act(func(out *Collector) { s.Ask(out, 1, "orch-1") })
	o, got := s.take(t, Merged{Serial: s.Serial, Status: StatusUnfinished, Detail: "rebase"})
	testkit.Check(t, strings.Contains(o.Back, "a rebase is under way") && len(got.Told) == 0,
		"in the middle of a rebase: %+v, told %v", o, got.Told)
}
