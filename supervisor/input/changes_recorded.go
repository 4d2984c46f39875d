package input

import (
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ChangeOutcome is what a snapshot showed.
type ChangeOutcome struct {
	Overlaps []contract.Overlap // found by it, for the agents and the Arbiter
	Final    bool               // it was the run's last
	Judge    bool               // it was requested to judge the work
	Tree     string             // of Judge; empty: it could not be taken
}

// Recorded handles a snapshot's result. It emits `changes` and `overlap`, and requests the next snapshot. A
// result that nothing waits for is dropped.
func (s *ChangeState) Recorded(out *effect.Collector, w runconfig.Workspace, r ChangeRecorded) ChangeOutcome {
	if len(s.Queue) == 0 || s.Queue[0].Request != r.Serial {
		return ChangeOutcome{}
	}
	turn := s.Queue[0]
	s.Queue = slices.Clone(s.Queue[1:])
	for _, id := range s.Active { // agents that began meanwhile may have changed files before the snapshot was taken
		if id != turn.Agent && turn.Top == "" {
			turn.Others = union(turn.Others, []string{id})
		}
	}
	o := ChangeOutcome{Final: turn.last(), Judge: turn.Judge, Tree: r.Tree}
	s.reportLeft(out, r.Left)
	switch {
	case r.Failed != "":
		if !s.Failed {
			out.Emit(contract.Supervisor, contract.Notice{Text: "the files could not be recorded: " + r.Failed})
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
func (s *ChangeState) reportLeft(out *effect.Collector, left []string) {
	known := func(text string) bool { return slices.Contains(s.Left, text) }
	left = slices.DeleteFunc(slices.Clone(left), known)
	if len(left) == 0 || len(s.Left) >= maxLeft {
		return
	}
	s.Left = append(slices.Clip(s.Left), left...)
	out.Emit(contract.Supervisor, contract.Notice{Text: "not recorded, so that diff, undo and merges leave it alone: " +
		strings.Join(left, "; ")})
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
	touched, foreign := map[string][]string{}, map[string]bool{}
	if t.Top == "" {
		foreign = s.takeForeign(serial, paths)
	}
	s.Changed++
	for _, p := range paths {
		by := t.Agent
		switch named := slices.Contains(t.Named, p); {
		case foreign[p] && !named:
		case named || len(t.Others) == 0:
			if foreign[p] { // a merge wrote it, too: before or after
				by = ""
			}
			s.edit(p, func(f *ChangeFile) {
				f.Known, f.Maybe = union(f.Known, []string{t.Agent}), union(f.Maybe, t.Others)
				f.changed(t, by, s.Changed)
			})
			touched[t.Agent] = append(touched[t.Agent], p)
		default:
			candidates := union(t.Others, []string{t.Agent})
			s.edit(p, func(f *ChangeFile) {
				f.Maybe = union(f.Maybe, candidates)
				f.changed(t, "", s.Changed)
			})
			for _, id := range candidates {
				touched[id] = append(touched[id], p)
			}
		}
	}
	for _, p := range t.Named { // a snapshot of another agent's turn may have shown it first
		if f, ok := s.File(p); ok && slices.Contains(f.Maybe, t.Agent) && !slices.Contains(paths, p) {
			s.edit(p, func(f *ChangeFile) {
				f.Known = union(f.Known, []string{t.Agent})
				if f.LastBy != t.Agent {
					f.changed(t, "", s.Changed)
				}
			})
		}
	}
	for id, files := range touched {
		m := s.mark(id)
		m.Touched = union(m.Touched, files)
		if len(m.Touched) > changeMaxFiles {
			m.Touched = m.Touched[:changeMaxFiles]
		}
		s.setMark(m)
	}
	slices.SortFunc(s.Marks, func(a, b ChangeMark) int { return strings.Compare(a.Agent, b.Agent) })
}

// changed records the last change of a file. Work in an agent's own directory is not delivered yet.
func (f *ChangeFile) changed(t ChangeTurn, by string, when int) {
	if t.Top == "" {
		f.LastBy, f.Changed = by, when
	}
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
		if !ok || !slices.Contains(f.Known, t.Agent) {
			continue
		}
		gone := func(id string) bool { return !slices.Contains(t.Alive, id) }
		living := slices.DeleteFunc(slices.Clone(f.Known), gone)
		if len(living) < 2 || slices.Equal(living, f.Reported) {
			continue
		}
		s.edit(p, func(f *ChangeFile) { f.Reported = living })
		found = append(found, contract.Overlap{Path: p, Agents: living})
	}
	return found
}

// report emits what a turn changed; the changes of the agent's next turn begin here.
func (s *ChangeState) report(out *effect.Collector, t ChangeTurn, r ChangeRecorded) {
	m := s.mark(t.Agent)
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
		c.Agents = union(f.Known, nil)
		switch {
		case t.Top != "":
			c.Agents = []string{t.Agent}
		case len(c.Agents) == 0:
			c.Agents = union(f.Maybe, nil)
		}
		e.Files = append(e.Files, c)
	}
	s.setMark(ChangeMark{Agent: t.Agent, Commit: r.Commit})
	slices.SortFunc(s.Marks, func(a, b ChangeMark) int { return strings.Compare(a.Agent, b.Agent) })
	if len(e.Files) > 0 {
		out.Emit(t.Agent, e)
	}
}
