package input

// This part of the package computes which files a run has changed, and which agents changed them.
//
// The files are recorded as snapshots: one when the run starts, one after each turn of an agent, one at the
// end. A snapshot is taken while agents work: what happens between its request and its result counts for it and for
// the next. A file that differs was changed by the agents whose editing tools wrote it in between. If there is none,
// a call that edits it and still runs decides when it is over, or else one of the agents whose commands ran changed
// it: if that is one, it is known, otherwise each of them may have. If no tool ran, nobody is named: a human, or a
// program that an agent has left behind. If two active agents are known to have changed the same file, that is an
// overlap.
//
// The package does no I/O. Its effect [ChangeRecord] requests a snapshot, one at a time; its result comes back as
// [SnapshotTaken].

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// maxNamed bounds the files that a LastChange names.
const maxNamed = 3

// LastChange is the last change of some files. It is zero if it is not known.
type LastChange struct {
	Agent string
	Files []string // that it changed last, the newest change first
}

// ChangeForeign is a file that a merge wrote into the directory that agents share: the next snapshot shows it, but
// none of these agents has changed it.
type ChangeForeign struct {
	Path   string
	Serial int // of the last Record before the merge was known
}

// LastChange returns the last change of the files for which fits returns true.
func (s *ChangeState) LastChange(fits func(ChangeFile) bool) LastChange {
	if s.Pending() || s.Truncated() { // there may be a later one
		return LastChange{}
	}
	files := slices.DeleteFunc(slices.Clone(s.Files), func(f ChangeFile) bool { return f.Changed == 0 || !fits(f) })
	slices.SortStableFunc(files, func(a, b ChangeFile) int { return cmp.Compare(b.Changed, a.Changed) })
	var last LastChange
	for _, f := range files {
		if f.LastBy != files[0].LastBy || f.LastBy == "" || len(last.Files) == maxNamed {
			break
		}
		last.Agent, last.Files = f.LastBy, append(last.Files, f.Path)
	}
	return last
}

// Merged records that the work of an agent with its own directory is now where the run delivers it. An empty
// agent is unknown. before are those whose files it began with. shared: the files were written into the shared
// directory.
func (s *ChangeState) Merged(agent string, before, files []string, shared bool) {
	s.Changed++
	s.undone(append(slices.Clip(before), agent), files)
	for _, p := range files {
		s.edit(p, func(f *ChangeFile) { f.LastBy, f.Changed = agent, s.Changed })
		if shared && len(s.Foreign) < changeMaxFiles {
			s.Foreign = append(slices.Clip(s.Foreign), ChangeForeign{p, s.Serial})
		}
	}
}

// undone takes back what agents are said to have changed in their own directories, but for what they deliver now: they
// have removed or undone it.
func (s *ChangeState) undone(agents, delivered []string) {
	s.Files = slices.Clone(s.Files)
	for i := range s.Files {
		f := &s.Files[i]
		if slices.Contains(delivered, f.Path) {
			continue
		}
		f.Authors = slices.Clone(f.Authors)
		for j := range f.Authors {
			if a := &f.Authors[j]; slices.Contains(agents, a.Agent) {
				a.Known, a.Maybe = min(a.Known, f.Changed), min(a.Maybe, f.Changed)
			}
		}
		f.Authors = slices.DeleteFunc(f.Authors, func(a ChangeAuthor) bool { return a.Known == 0 && a.Maybe == 0 })
	}
	s.Files = slices.DeleteFunc(s.Files, func(f ChangeFile) bool { return f.Changed == 0 && len(f.Authors) == 0 })
}

// takeForeign returns which files of a snapshot of the shared directory a merge wrote. It forgets files that no
// later snapshot can show.
func (s *ChangeState) takeForeign(serial int, paths []string) map[string]bool {
	seen := map[string]bool{}
	for _, f := range s.Foreign {
		if slices.Contains(paths, f.Path) {
			seen[f.Path] = true
		}
	}
	s.Foreign = slices.DeleteFunc(slices.Clone(s.Foreign), func(f ChangeForeign) bool {
		return seen[f.Path] || f.Serial < serial
	})
	return seen
}

// ChangeOutcome is what a snapshot showed.
type ChangeOutcome struct {
	Overlaps []contract.Overlap // found by it, for the agents and the Arbiter
	Final    bool               // it was the run's last
	Judge    bool               // it was requested to judge the work
	Tree     string             // of Judge; empty: it could not be taken
}

// Recorded handles a snapshot's result. It emits `changes` and `overlap`, and requests the next snapshot. A
// result that nothing waits for is dropped.
func (s *ChangeState) Recorded(out *Collector, w runconfig.Workspace, r SnapshotTaken) ChangeOutcome {
	if len(s.Queue) == 0 || s.Queue[0].Request != r.Serial {
		return ChangeOutcome{}
	}
	turn := s.Queue[0]
	s.Queue = slices.Clone(s.Queue[1:])
	o := ChangeOutcome{Final: turn.last(), Judge: turn.Judge, Tree: r.Tree}
	s.reportLeft(out, r.Left)
	if r.Planted != "" {
		out.Notice(r.Planted)
	}
	switch {
	case r.Failed != "":
		if !s.Failed {
			out.Notice("the files could not be recorded: " + r.Failed)
		}
		s.Failed = true
	case o.Final:
		s.Failed, s.Total = false, r.Total
	case o.Judge: // the changes are not attributed yet
		s.Failed = false
	default:
		s.Failed = false
		if turn.Top == "" {
			s.Last = r.Commit
		}
		s.attribute(turn, r.Serial, r.Paths)
		s.date(r.Paths, out.Now)
		o.Overlaps = s.overlaps(turn, r.Paths)
		s.report(out, turn, r)
		for _, overlap := range o.Overlaps {
			out.Emit(contract.Supervisor, overlap)
		}
	}
	s.ask(out, w)
	return o
}

// reportLeft reports files that a snapshot does not contain, each once.
func (s *ChangeState) reportLeft(out *Collector, left []string) {
	known := func(text string) bool { return slices.Contains(s.Left, text) }
	left = slices.DeleteFunc(slices.Clone(left), known)
	if len(left) == 0 || len(s.Left) >= maxLeft {
		return
	}
	s.Left = append(slices.Clip(s.Left), left...)
	out.Notice("not recorded, so that diff, undo and merges leave it alone: " + strings.Join(left, "; "))
}

// date records when a snapshot showed a change of files.
func (s *ChangeState) date(paths []string, at time.Time) {
	for _, p := range paths {
		if _, known := s.find(p); known {
			s.edit(p, func(f *ChangeFile) { f.At = at })
		}
	}
}

// attribute records who changed the files of a snapshot.
func (s *ChangeState) attribute(t ChangeTurn, serial int, paths []string) {
	s.Changed++
	if t.Top != "" {
		for _, p := range paths { // its work is not delivered yet
			s.edit(p, func(f *ChangeFile) { f.credit([]string{t.Agent}, true, s.Changed) })
			s.touch(t.Agent, p)
		}
		return
	}
	flight, foreign := s.Flight, s.takeForeign(serial, paths)
	s.Flight, s.Seen = nil, slices.Clone(s.Seen)
	for i, b := range s.Seen {
		s.Seen[i].Shown = b.Shown || b.Path != "" && slices.Contains(paths, b.Path) && slices.Contains(flight, b)
	}
	for _, p := range paths {
		editors, commands := by(flight, p), by(flight, "")
		i := slices.IndexFunc(s.Open, func(c ChangeCall) bool { return c.Path == p })
		switch {
		case len(editors) > 0:
			last := editors[0]
			if foreign[p] || len(editors) > 1 { // a merge wrote it, too: before or after
				last = ""
			}
			s.credit(p, editors, true, last)
		case foreign[p]:
		case i >= 0:
			s.Unsettled = append(slices.Clip(s.Unsettled), ChangeUnsettled{ChangeCall: s.Open[i], Others: commands})
			s.credit(p, nil, false, "")
		default:
			s.among(p, commands)
		}
	}
	for _, c := range flight { // an earlier snapshot may have shown it first
		if c.Path != "" && !slices.Contains(paths, c.Path) {
			s.confirm(c.Path, c.Agent)
		}
	}
}

// by returns the agents whose calls wrote a file; of "": those whose commands may have written any. An edit that the
// snapshot before may have shown counts only if there is no other.
func by(calls []ChangeBy, p string) []string {
	var agents, shown []string
	for _, c := range calls {
		switch {
		case c.Path != p:
		case c.Shown:
			shown = append(shown, c.Agent)
		default:
			agents = append(agents, c.Agent)
		}
	}
	if agents == nil {
		agents = shown
	}
	return union(agents, nil)
}

// among records that one of some agents changed a file.
func (s *ChangeState) among(p string, candidates []string) {
	last := ""
	if len(candidates) == 1 {
		last = candidates[0]
	}
	s.credit(p, candidates, len(candidates) == 1, last)
}

// credit records who changed a file now: all of the agents if that is known, otherwise one of them.
func (s *ChangeState) credit(p string, agents []string, known bool, last string) {
	s.edit(p, func(f *ChangeFile) {
		f.credit(agents, known, s.Changed)
		f.LastBy, f.Changed = last, s.Changed
	})
	for _, id := range agents {
		s.touch(id, p)
	}
}

// confirm records that an agent, which may have changed a file, has.
func (s *ChangeState) confirm(p, agent string) {
	f, _ := s.File(p)
	i := slices.IndexFunc(f.Authors, func(a ChangeAuthor) bool { return a.Agent == agent && a.Maybe > 0 })
	if i < 0 {
		return
	}
	when := f.Authors[i].Maybe
	s.edit(p, func(f *ChangeFile) {
		f.Authors = slices.Clone(f.Authors)
		for i := range f.Authors {
			if f.Authors[i].Maybe == when {
				f.Authors[i].Maybe = 0
			}
		}
		f.credit([]string{agent}, true, when)
	})
}

// touch adds a file to the changes of an agent's present turn.
func (s *ChangeState) touch(agent, p string) {
	m := s.Marks[agent]
	if m.Agent == "" {
		m = ChangeMark{Agent: agent, Commit: s.Last, At: s.Changed - 1}
	}
	if len(m.Touched) < changeMaxFiles {
		m.Touched = union(m.Touched, []string{p})
	}
	s.setMark(m)
}

// credit records that agents changed a file, or that one of them did.
func (f *ChangeFile) credit(agents []string, known bool, when int) {
	for _, id := range agents {
		i := slices.IndexFunc(f.Authors, func(a ChangeAuthor) bool { return a.Agent == id })
		if i < 0 {
			i, f.Authors = len(f.Authors), append(slices.Clip(f.Authors), ChangeAuthor{Agent: id})
		} else {
			f.Authors = slices.Clone(f.Authors)
		}
		if known {
			f.Authors[i].Known = when
		} else {
			f.Authors[i].Maybe = when
		}
	}
}

// Known returns the agents that are known to have changed a file.
func (f ChangeFile) Known() []string {
	known, _ := f.since(0)
	return known
}

// Maybe returns the agents that may have changed a file, and are not known to.
func (f ChangeFile) Maybe() []string {
	_, maybe := f.since(0)
	return maybe
}

// since returns who changed a file after a change.
func (f ChangeFile) since(when int) (known, maybe []string) {
	for _, a := range f.Authors {
		switch {
		case a.Known > when:
			known = append(known, a.Agent)
		case a.Maybe > when:
			maybe = append(maybe, a.Agent)
		}
	}
	return union(known, nil), union(maybe, nil)
}

// ChangedBy reports whether an agent may have changed a file at the last snapshot that was attributed, and whether
// that is known.
func (s *ChangeState) ChangedBy(p, agent string) (changed, known bool) {
	f, _ := s.File(p)
	for _, a := range f.Authors {
		if a.Agent == agent {
			return max(a.Known, a.Maybe) == s.Changed, a.Known == s.Changed
		}
	}
	return false, false
}

// Undelivered lists files that agents changed in directories of their own and that are not merged, each with the
// agents.
func (s *ChangeState) Undelivered() []string {
	var list []string
	for _, f := range s.Files {
		if known, maybe := f.since(f.Changed); len(known)+len(maybe) > 0 {
			list = append(list, f.Path+" ("+strings.Join(union(known, maybe), ", ")+")")
		}
	}
	return list
}

// File returns what is known about a file.
func (s *ChangeState) File(p string) (ChangeFile, bool) {
	i, ok := s.find(p)
	if !ok {
		return ChangeFile{}, false
	}
	return s.Files[i], true
}

func (s *ChangeState) find(p string) (int, bool) {
	return slices.BinarySearchFunc(s.Files, p, func(f ChangeFile, p string) int { return strings.Compare(f.Path, p) })
}

// edit changes the record of a file, in a copy.
func (s *ChangeState) edit(p string, change func(*ChangeFile)) {
	i, ok := s.find(p)
	if !ok && len(s.Files) >= changeMaxFiles {
		return
	}
	files := slices.Clone(s.Files)
	if !ok {
		files = slices.Insert(files, i, ChangeFile{Path: p})
	}
	change(&files[i])
	s.Files = files
}

// overlaps finds the files of a turn that another agent, alive at that time, is also known to have changed.
func (s *ChangeState) overlaps(t ChangeTurn, paths []string) []contract.Overlap {
	var found []contract.Overlap
	for _, p := range union(paths, t.Named) {
		f, ok := s.File(p)
		if !ok || !slices.Contains(f.Known(), t.Agent) {
			continue
		}
		gone := func(id string) bool { return !slices.Contains(t.Alive, id) }
		living := slices.DeleteFunc(f.Known(), gone)
		if len(living) < 2 || slices.Equal(living, f.Reported) {
			continue
		}
		s.edit(p, func(f *ChangeFile) { f.Reported = living })
		found = append(found, contract.Overlap{Path: p, Agents: living})
	}
	return found
}

// report emits what a turn changed; the changes of the agent's next turn begin here.
func (s *ChangeState) report(out *Collector, t ChangeTurn, r SnapshotTaken) {
	m := s.Marks[t.Agent]
	e := contract.Changes{Files: []contract.FileChange{}}
	for _, c := range r.Files {
		f, _ := s.File(c.Path)
		old := c.Old != "" && slices.Contains(m.Touched, c.Old)
		if !old && !slices.Contains(m.Touched, c.Path) && !slices.Contains(t.Named, c.Path) {
			continue
		}
		if len(e.Files) == maxShown {
			e.More++
			continue
		}
		known, maybe := f.since(m.At)
		switch {
		case t.Top != "":
			c.Agents = []string{t.Agent}
		case slices.Contains(known, t.Agent):
			c.Agents = known
		default:
			c.Agents = union(known, maybe)
			c.Unsure = len(c.Agents) > 1
		}
		e.Files = append(e.Files, c)
	}
	s.setMark(ChangeMark{Agent: t.Agent, Commit: r.Commit, At: s.Changed, Idle: !s.acting(t.Agent)})
	if len(e.Files) > 0 {
		out.Emit(t.Agent, e)
	}
}

// maxReverts bounds the reverts that are requested and not done yet.
const maxReverts = 16

// Revert requests to revert one change of the run → Reverted. It can be repeated after a crash.
type Revert struct {
	Serial int
	Ref    string `json:",omitempty"` // of the command that requested it
	Path   string // relative to the top of the work tree
	Seen   string `json:",omitempty"` // object of the contents that it applies to; empty: any
	Hunk   string `json:",omitempty"` // "-12,3 +12,5"; empty: all of the file
}

// Reverted is what happened to a [Revert].
type Reverted struct {
	Serial  int
	Refused string `json:",omitempty"` // why nothing was changed
}

// AskRevert requests to revert a change, and reports whether one more was possible.
func (s *ChangeState) AskRevert(out *Collector, r Revert) bool {
	if len(s.Reverts) >= maxReverts {
		return false
	}
	s.RevertSerial++
	r.Serial = s.RevertSerial
	s.Reverts = append(slices.Clip(s.Reverts), r)
	out.Do(r)
	return true
}

// Reverted handles the result of a revert. The file's last change then has no known agent. ok is false if
// nothing waits for the result.
func (s *ChangeState) Reverted(r Reverted) (asked Revert, ok bool) {
	asked, ok = takeFirst(&s.Reverts, func(a Revert) bool { return a.Serial == r.Serial })
	if ok && r.Refused == "" {
		s.RevertsDone++
		s.Merged("", nil, []string{asked.Path}, true)
	}
	return asked, ok
}

// Bounds of what is kept and reported.
const (
	changeMaxFiles = 4000 // whose authors are recorded; overlaps in further files are not noticed
	MaxPaths       = 2000 // of one SnapshotTaken
	MaxLeft        = 20   // of one SnapshotTaken
	maxLeft        = 200  // that are reported
	maxShown       = 200  // of one event
	maxQueued      = 64   // turns that wait for a snapshot; further ones share the last
)

// ChangeState is what a run knows about its files.
type ChangeState struct {
	Last    string                // commit of the last snapshot; empty: the base
	Serial  int                   // of the last Record; 0: none
	Queue   []ChangeTurn          // turns that are not recorded yet, oldest first; the first one is being recorded
	Files   []ChangeFile          // that agents changed, by path
	Marks   map[string]ChangeMark // by agent
	Foreign []ChangeForeign       // by merges into the shared directory, not seen in a snapshot yet
	Changed int                   // counts the recorded changes of files
	Failed  bool                  // the last snapshot could not be taken, which was reported
	Left    []string              // files that could not be recorded, which was reported
	Total   *contract.ResultChanges
	Acting
	Undoing
}

// Acting is what agents do to files of the shared directory.
type Acting struct {
	Open      []ChangeCall      // calls that run and may change files
	Seen      []ChangeBy        // since the last snapshot was requested
	Flight    []ChangeBy        // what the requested snapshot may show; what a failed one might have is kept
	Unsettled []ChangeUnsettled // changes that a running call explains if it succeeds
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
	Keep    string   // an additional name for the snapshot; may be empty
	Request int      // the serial of its Record; 0: not requested yet
}

// last reports whether the run's last snapshot is requested.
func (t ChangeTurn) last() bool { return t.Agent == "" && !t.Judge }

// ChangeFile is a changed file and who changed it.
type ChangeFile struct {
	Path     string
	Authors  []ChangeAuthor
	Reported []string // agents whose overlap was reported

	LastBy  string // the agent known to have changed it last; empty: not known
	Changed int    // when: State.Changed then; 0: it never was, where the run delivers it

	At time.Time `json:",omitzero"` // of the last snapshot that showed a change of it
}

// ChangeAuthor is an agent that changed a file, or may have: State.Changed of the last time; 0: never.
type ChangeAuthor struct {
	Agent string
	Known int `json:",omitempty"`
	Maybe int `json:",omitempty"` // it or others with the same number
}

// ChangeCall is a tool call that runs and may change files of the shared directory.
type ChangeCall struct {
	Agent      string
	Call       string
	Path       string `json:",omitempty"` // the file that it edits, relative to the work tree; empty: a command, any file
	Background bool   `json:",omitempty"` // a command that goes on when its call is over
}

// ChangeBy is an edit that succeeded, or a command.
type ChangeBy struct {
	Agent string
	Path  string `json:",omitempty"` // empty: a command
	Shown bool   `json:",omitempty"` // the snapshot that was taken then shows a change of the file
}

// ChangeUnsettled is a change that a snapshot showed while a call ran that edits the file.
type ChangeUnsettled struct {
	ChangeCall
	Others []string `json:",omitempty"` // whose commands ran, too
}

// ChangeMark is where the changes of an agent's present turn begin.
type ChangeMark struct {
	Agent   string
	Commit  string   // empty: the run's base, or the first snapshot of an own directory
	At      int      // State.Changed then
	Idle    bool     `json:",omitempty"` // its next turn has not begun
	Touched []string // files that it may have changed since
}

// ChangeRecord requests a snapshot → SnapshotTaken.
type ChangeRecord struct {
	Serial int
	Own    string // agent whose own directory is recorded; empty: the run's
	Branch bool   // the files of the run branch are wanted, not those of a directory
	Base   string // commit of the first snapshot
	Last   string // commit of the last snapshot; of an own directory, empty before the first
	Since  string // commit at which the changes of this turn begin; likewise
	Keep   string // an additional name of the snapshot; may be empty
	Tree   bool   // nothing else is wanted
	Final  bool   // the last one: SnapshotTaken.Total is wanted
}

// SnapshotTaken is the result of a [ChangeRecord].
type SnapshotTaken struct {
	Serial int
	Commit string                  `json:",omitempty"`
	Tree   string                  `json:",omitempty"`
	Paths  []string                `json:",omitempty"` // that differ from Last; MaxPaths at most
	Files  []contract.FileChange   `json:",omitempty"` // that differ from Since, without agents; MaxPaths at most
	Total  *contract.ResultChanges `json:",omitempty"` // since Base
	Left   []string                `json:",omitempty"` // files that it lacks, as git reports them; MaxLeft at most
	Failed string                  `json:",omitempty"` // why there is no snapshot

	// Planted warns, after the last snapshot, of what git would run or use and agents may have left.
	Planted string `json:",omitempty"`
}

// Acts records that a call begins that may change files.
func (s *ChangeState) Acts(c ChangeCall) {
	s.begins(c.Agent)
	s.Open = append(slices.Clip(s.Open), c)
	if c.Path == "" {
		s.saw(ChangeBy{Agent: c.Agent})
	}
}

// begins sets where the changes of an agent's turn begin.
func (s *ChangeState) begins(agent string) {
	if m := s.Marks[agent]; m.Agent == "" || m.Idle {
		s.setMark(ChangeMark{Agent: agent, Commit: s.Last, At: s.Changed})
	}
}

// acting reports whether an agent has begun calls since the last snapshot was requested, or ended another turn.
func (s *ChangeState) acting(agent string) bool {
	return slices.ContainsFunc(s.Queue, func(t ChangeTurn) bool { return t.Agent == agent }) ||
		slices.ContainsFunc(s.Open, func(c ChangeCall) bool { return c.Agent == agent }) ||
		slices.ContainsFunc(s.Seen, func(b ChangeBy) bool { return b.Agent == agent })
}

// saw records what the next snapshot may show, and one that is being taken.
func (s *ChangeState) saw(b ChangeBy) {
	s.Seen = with(s.Seen, b)
	if s.taking() {
		s.Flight = with(s.Flight, b)
	}
}

// taking reports whether a snapshot of the shared directory is being taken that will be attributed.
func (s *ChangeState) taking() bool {
	return len(s.Queue) > 0 && s.Queue[0].Agent != "" && s.Queue[0].Top == ""
}

func with(list []ChangeBy, add ...ChangeBy) []ChangeBy {
	list = slices.Clip(list)
	for _, b := range add {
		if len(list) >= changeMaxFiles {
			b.Path = ""
		}
		if !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list
}

// Acted records that a call is over. failed: it has changed nothing.
func (s *ChangeState) Acted(agent, call string, failed bool) {
	c, ok := takeFirst(&s.Open,
		func(c ChangeCall) bool { return c.Agent == agent && c.Call == call && !c.Background })
	if !ok {
		return
	}
	if c.Path != "" && !failed {
		s.saw(ChangeBy{Agent: agent, Path: c.Path})
	}
	s.settle(c, !failed, failed)
}

// settle attributes a change that a call explains if it succeeded. Without a result, it may have changed the file.
func (s *ChangeState) settle(c ChangeCall, succeeded, failed bool) {
	u, ok := takeFirst(&s.Unsettled, func(u ChangeUnsettled) bool { return u.ChangeCall == c })
	if !ok {
		return
	}
	s.Changed++
	switch {
	case succeeded:
		s.credit(c.Path, []string{c.Agent}, true, c.Agent)
	case failed:
		s.among(c.Path, u.Others)
	default:
		s.among(c.Path, union(u.Others, []string{c.Agent}))
	}
}

// TurnEnded requests a snapshot after a turn, whose Named are absolute paths. working are the agents whose processes
// run. unseen: the calls of the turn were not reported, so that any file may be from it.
func (s *ChangeState) TurnEnded(out *Collector, w runconfig.Workspace, t ChangeTurn, working []string,
	unseen bool) {
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
	if t.Top == "" { // otherwise, no other agent works there
		s.begins(t.Agent)
		for _, p := range t.Named {
			edit := ChangeBy{Agent: t.Agent, Path: p}
			f, _ := s.File(p)
			known, _ := f.since(s.Marks[t.Agent].At)
			if !slices.Contains(known, t.Agent) && !slices.Contains(slices.Concat(s.Flight, s.Seen), edit) {
				s.saw(edit)
			}
		}
		if unseen {
			s.saw(ChangeBy{Agent: t.Agent})
		}
		s.close(func(c ChangeCall) bool {
			return !slices.Contains(working, c.Agent) || c.Agent == t.Agent && !c.Background
		}, t)
	}
	s.queue(out, w, t)
}

// close ends calls whose results are not known.
func (s *ChangeState) close(over func(ChangeCall) bool, t ChangeTurn) {
	var open []ChangeCall
	for _, c := range s.Open {
		if !over(c) {
			open = append(open, c)
			continue
		}
		wrote := c.Agent == t.Agent && slices.Contains(t.Named, c.Path)
		if c.Path != "" && !wrote { // it may have
			s.saw(ChangeBy{Agent: c.Agent})
		}
		s.settle(c, wrote, false)
	}
	s.Open = open
}

// Judge requests the tree to judge, after the snapshots that are requested already, and reports whether there
// will be one.
func (s *ChangeState) Judge(out *Collector, w runconfig.Workspace) bool {
	if w.Enabled() {
		s.queue(out, w, ChangeTurn{Judge: true})
	}
	return w.Enabled()
}

// Finish requests the run's last snapshot, after those that are requested already, and reports whether there
// will be one.
func (s *ChangeState) Finish(out *Collector, w runconfig.Workspace) bool {
	if !w.Enabled() {
		return false
	}
	s.Total = nil
	s.queue(out, w, ChangeTurn{})
	return true
}

// Truncated reports whether the run has changed more files than are kept.
func (s *ChangeState) Truncated() bool { return len(s.Files) >= changeMaxFiles }

// Pending reports whether changes of a turn are not attributed yet.
func (s *ChangeState) Pending() bool {
	return slices.ContainsFunc(s.Queue, func(t ChangeTurn) bool { return t.Agent != "" })
}

// Again repeats the requests of a process that has ended.
func (s *ChangeState) Again(out *Collector, w runconfig.Workspace) {
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(t ChangeTurn) bool { return t.last() || !w.Enabled() })
	s.ask(out, w)
	for _, r := range s.Reverts {
		out.Do(r)
	}
}

func (s *ChangeState) queue(out *Collector, w runconfig.Workspace, t ChangeTurn) {
	if n := len(s.Queue); n >= maxQueued && t.Agent != "" && t.Top == s.Queue[n-1].Top {
		return
	}
	s.Queue = append(slices.Clip(s.Queue), t)
	if len(s.Queue) == 1 {
		s.ask(out, w)
	}
}

// ask requests the snapshot of the first turn in the queue.
func (s *ChangeState) ask(out *Collector, w runconfig.Workspace) {
	if len(s.Queue) == 0 {
		return
	}
	s.Serial++
	s.Queue = slices.Clone(s.Queue)
	s.Queue[0].Request = s.Serial
	t := s.Queue[0]
	if s.taking() {
		s.Flight = with(s.Flight, s.Seen...)
		s.Seen = nil
		for _, c := range s.Open {
			if c.Path == "" {
				s.Seen = with(s.Seen, ChangeBy{Agent: c.Agent})
			}
		}
	}
	r := ChangeRecord{Serial: s.Serial, Base: w.Base, Keep: t.Keep, Tree: t.Judge, Final: t.last()}
	r.Last, r.Since = cmp.Or(s.Last, w.Base), cmp.Or(s.Marks[t.Agent].Commit, w.Base)
	if t.Top != "" {
		r.Own, r.Since = t.Agent, s.Marks[t.Agent].Commit
		r.Last = r.Since
	}
	r.Branch = t.Agent == "" && w.Isolated()
	out.Do(r)
}

func (s *ChangeState) setMark(m ChangeMark) {
	if s.Forget(m.Agent); s.Marks == nil {
		s.Marks = map[string]ChangeMark{}
	}
	s.Marks[m.Agent] = m
}

// Forget drops what is known about the turns of an agent that has ended.
func (s *ChangeState) Forget(agent string) {
	s.Marks = maps.Clone(s.Marks)
	delete(s.Marks, agent)
}

// union is a sorted set of both.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	all = slices.Compact(all)
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}
