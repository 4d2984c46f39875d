package input

// This part of the package computes which files a run has changed, and which agents changed them.
//
// The files are recorded as snapshots: one when the run starts, one after each turn of an agent, one at the
// end. The difference between two of them was made by the agents whose tools ran in between. An agent is known
// to have changed a file if its editing tools named it, or if no other agent's tools ran; otherwise it may
// have. If two active agents are known to have changed the same file, that is an overlap.
//
// The package does no I/O. Its effect [ChangeRecord] requests a snapshot, one at a time; its result comes back as
// [ChangeRecorded].

import (
	"cmp"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Bounds of what is kept and reported.
const (
	changeMaxFiles = 4000 // whose authors are recorded; overlaps in further files are not noticed
	MaxPaths       = 2000 // of one Recorded
	MaxLeft        = 20   // of one Recorded
	maxLeft        = 200  // that are reported
	maxShown       = 200  // of one event
	maxQueued      = 64   // turns that wait for a snapshot; further ones share the last
)

// ChangeState is what a run knows about its files.
type ChangeState struct {
	Last    string          // commit of the last snapshot; empty: the base
	Serial  int             // of the last Record; 0: none
	Queue   []ChangeTurn    // turns whose changes are not recorded yet, oldest first; the first one is being recorded
	Active  []string        // agents that used tools since the last snapshot was requested
	Files   []ChangeFile    // that agents changed, by path
	Marks   []ChangeMark    // of agents
	Foreign []ChangeForeign // by merges into the shared directory, not seen in a snapshot yet
	Changed int             // counts the recorded changes of files
	Failed  bool            // the last snapshot could not be taken, which was reported
	Left    []string        // files that could not be recorded, which was reported
	Total   *contract.ResultChanges
	Undoing
}

// Undoing is what a human wants reverted.
type Undoing struct {
	Reverts      []Revert `json:",omitempty"` // that are requested, oldest first
	RevertSerial int      `json:",omitempty"` // of the last Revert; 0: none
	RevertsDone  int      `json:",omitempty"`
}

// ChangeTurn is a turn that ended. Without an Agent it requests a snapshot that is not compared with another: to
// judge the run's work, or the run's last one.
type ChangeTurn struct {
	Agent   string
	Top     string   // of the agent's own directory; empty: it shares the run's
	Judge   bool     // the tree is wanted
	Named   []string // files that its editing tools wrote, relative to the work tree
	Alive   []string // agents that could write at that time
	Others  []string // other agents that used tools meanwhile
	Keep    string   // an additional name for the snapshot; may be empty
	Request int      // the serial of its Record; 0: not requested yet
}

// last reports whether the run's last snapshot is requested.
func (t ChangeTurn) last() bool { return t.Agent == "" && !t.Judge }

// ChangeFile is a changed file and who changed it.
type ChangeFile struct {
	Path     string
	Known    []string // agents that changed it
	Maybe    []string // agents whose tools ran when it changed
	Reported []string // agents whose overlap was reported

	LastBy  string // the agent known to have changed it last; empty: not known
	Changed int    // when: State.Changed then; 0: it never was, where the run delivers it

	At time.Time `json:",omitzero"` // of the last snapshot that showed a change of it
}

// ChangeMark is where the changes of an agent's present turn begin.
type ChangeMark struct {
	Agent   string
	Commit  string
	Touched []string // files that it may have changed since
}

// ChangeRecord requests a snapshot → Recorded.
type ChangeRecord struct {
	Serial int
	Own    string // agent whose own directory is recorded; empty: the run's
	Branch bool   // the files of the run branch are wanted, not those of a directory
	Base   string // commit of the first snapshot
	Last   string // commit of the last snapshot; of an own directory, empty before the first
	Since  string // commit at which the changes of this turn begin; likewise
	Keep   string // an additional name of the snapshot; may be empty
	Tree   bool   // nothing else is wanted
	Final  bool   // the last one: Recorded.Total is wanted
}

// Effect implements [effect.Effect].
func (ChangeRecord) Effect() {}

// ChangeRecorded is the result of a [ChangeRecord].
type ChangeRecorded struct {
	Serial int
	Commit string                  `json:",omitempty"`
	Tree   string                  `json:",omitempty"`
	Paths  []string                `json:",omitempty"` // that differ from Last; MaxPaths at most
	Files  []contract.FileChange   `json:",omitempty"` // that differ from Since, without agents; MaxPaths at most
	Total  *contract.ResultChanges `json:",omitempty"` // since Base
	Left   []string                `json:",omitempty"` // files that it lacks, as git reports them; MaxLeft at most
	Failed string                  `json:",omitempty"` // why there is no snapshot
}

// Acts records that an agent uses a tool that may write files.
func (s *ChangeState) Acts(agent string) {
	if !slices.Contains(s.Active, agent) {
		s.Active = append(slices.Clip(s.Active), agent)
	}
}

// TurnEnded requests a snapshot after a turn, whose Named are absolute paths. working are the agents whose
// tools run.
func (s *ChangeState) TurnEnded(out *effect.Collector, w runconfig.Workspace, t ChangeTurn, working []string) {
	if !w.Enabled() {
		return
	}
	named := t.Named
	t.Named = nil
	for _, file := range named {
		if rel := runconfig.Relative(cmp.Or(t.Top, w.Root), file); rel != "" && !slices.Contains(t.Named, rel) {
			t.Named = append(t.Named, rel)
		}
	}
	if t.Top != "" { // no other agent works there
		s.queue(out, w, t)
		return
	}
	for _, other := range s.Active {
		if other != t.Agent {
			t.Others = append(t.Others, other)
		}
	}
	s.Active = slices.Clone(working)
	s.queue(out, w, t)
}

// Judge requests the tree to judge, after the snapshots that are requested already, and reports whether there
// will be one.
func (s *ChangeState) Judge(out *effect.Collector, w runconfig.Workspace) bool {
	if w.Enabled() {
		s.queue(out, w, ChangeTurn{Judge: true})
	}
	return w.Enabled()
}

// Finish requests the run's last snapshot, after those that are requested already, and reports whether there
// will be one.
func (s *ChangeState) Finish(out *effect.Collector, w runconfig.Workspace) bool {
	if !w.Enabled() {
		return false
	}
	s.Total = nil
	s.queue(out, w, ChangeTurn{})
	return true
}

// Pending reports whether changes of a turn are not attributed yet.
func (s *ChangeState) Pending() bool {
	return slices.ContainsFunc(s.Queue, func(t ChangeTurn) bool { return t.Agent != "" })
}

// Again repeats the requests of a process that has ended.
func (s *ChangeState) Again(out *effect.Collector, w runconfig.Workspace) {
	if len(s.Queue) == 0 || !w.Enabled() {
		s.Queue = nil
		return
	}
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(t ChangeTurn) bool { return t.last() })
	s.ask(out, w)
}

func (s *ChangeState) queue(out *effect.Collector, w runconfig.Workspace, t ChangeTurn) {
	if n := len(s.Queue); n >= maxQueued && t.Agent != "" && t.Top == s.Queue[n-1].Top {
		last := s.Queue[n-1]
		last.Others = union(last.Others, append([]string{t.Agent}, t.Others...))
		s.Queue = append(slices.Clone(s.Queue[:n-1]), last)
		return
	}
	s.Queue = append(slices.Clip(s.Queue), t)
	if len(s.Queue) == 1 {
		s.ask(out, w)
	}
}

// ask requests the snapshot of the first turn in the queue.
func (s *ChangeState) ask(out *effect.Collector, w runconfig.Workspace) {
	if len(s.Queue) == 0 {
		return
	}
	s.Serial++
	s.Queue = slices.Clone(s.Queue)
	s.Queue[0].Request = s.Serial
	t := s.Queue[0]
	r := ChangeRecord{Serial: s.Serial, Base: w.Base, Keep: t.Keep, Tree: t.Judge, Final: t.last()}
	r.Last, r.Since = cmp.Or(s.Last, w.Base), cmp.Or(s.mark(t.Agent).Commit, w.Base)
	if t.Top != "" {
		r.Own, r.Since = t.Agent, s.mark(t.Agent).Commit
		r.Last = r.Since
	}
	r.Branch = t.Agent == "" && w.Isolated()
	out.Do(r)
}

// mark is the mark of an agent, by value.
func (s *ChangeState) mark(agent string) ChangeMark {
	for _, m := range s.Marks {
		if m.Agent == agent {
			return m
		}
	}
	return ChangeMark{Agent: agent}
}

func (s *ChangeState) setMark(m ChangeMark) {
	marks := slices.DeleteFunc(slices.Clone(s.Marks), func(old ChangeMark) bool { return old.Agent == m.Agent })
	s.Marks = append(marks, m)
}

// Forget drops what is known about an agent that has ended.
func (s *ChangeState) Forget(agent string) {
	s.Marks = slices.DeleteFunc(slices.Clone(s.Marks), func(m ChangeMark) bool { return m.Agent == agent })
	s.Active = slices.DeleteFunc(slices.Clone(s.Active), func(id string) bool { return id == agent })
}

// union is a sorted set of both.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}
