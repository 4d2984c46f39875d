package isolation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxConflicts is how often in a row the work of an Orchestrator is sent back to it because of a conflict.
const MaxConflicts = 3

// State is the work that a run has to merge.
type State struct {
	Serial    int       // of the last Merge; 0: none
	Queue     []Pending // oldest first; the first is being merged
	Conflicts []Count   // of Orchestrators whose last work did not merge
}

// Pending is work that waits to be merged.
type Pending struct {
	Document int    // serial of the hand-off document that waits for it
	Agent    string // the author
	Request  int    // the serial of its Merge; 0: not requested yet
}

// Count is how often in a row an Orchestrator's work was sent back to it.
type Count struct {
	Agent string
	Times int
}

// Merge requests to merge an Orchestrator's work → Merged.
type Merge struct {
	Serial int
	Agent  string
}

// Effect implements [effect.Effect].
func (Merge) Effect() {}

// Status of a merge.
type Status string

// Statuses of merges.
const (
	StatusMerged     Status = "merged"     // it is on the run branch, or in the shared files
	StatusConflict   Status = "conflict"   // nothing was changed
	StatusUnfinished Status = "unfinished" // a Git operation runs in the author's directory; nothing was changed
)

// Merged is the result of a [Merge].
type Merged struct {
	Serial int
	Status Status   `json:",omitempty"`
	Head   string   `json:",omitempty"` // commit that the work was merged into, with the work if it merged
	Files  []string `json:",omitempty"` // for a conflict: where it is; otherwise what the merge changed
	Detail string   `json:",omitempty"` // of StatusUnfinished: which operation
	Failed string   `json:",omitempty"` // why there is no result
}

// Outcome is what follows from a merge.
type Outcome struct {
	Document int
	Agent    string
	Merged   bool
	Back     string // what its author has to do; empty: nothing
	Why      string // why the work is not merged, for the Arbiter; empty: it is, or its author continues
}

// Ask queues the work of a document for a merge, unless it is queued already.
func (s *State) Ask(out *effect.Collector, document int, agent string) {
	if slices.ContainsFunc(s.Queue, func(p Pending) bool { return p.Document == document }) {
		return
	}
	s.Queue = append(slices.Clip(s.Queue), Pending{Document: document, Agent: agent})
	if len(s.Queue) == 1 {
		s.ask(out)
	}
}

// Again repeats the request of a process that has ended.
func (s *State) Again(out *effect.Collector) { s.ask(out) }

func (s *State) ask(out *effect.Collector) {
	if len(s.Queue) == 0 {
		return
	}
	s.Serial++
	s.Queue = slices.Clone(s.Queue)
	s.Queue[0].Request = s.Serial
	out.Do(Merge{Serial: s.Serial, Agent: s.Queue[0].Agent})
}

// Merged handles the result of a merge, emits `merge` and requests the next one. It reports false for a result
// that nothing waits for.
func (s *State) Merged(out *effect.Collector, m Merged) (o Outcome, ok bool) {
	if len(s.Queue) == 0 || s.Queue[0].Request != m.Serial {
		return o, false
	}
	p := s.Queue[0]
	s.Queue = slices.Clone(s.Queue[1:])
	o = Outcome{Document: p.Document, Agent: p.Agent}
	switch {
	case m.Failed != "":
		o.Why = "its work could not be merged: " + words.Head(m.Failed, 1000)
		text := "the work of " + p.Agent + " could not be merged: " + m.Failed
		out.Emit(contract.Supervisor, contract.Notice{Text: text})
	case m.Status == StatusMerged:
		o.Merged = true
		s.count(p.Agent, 0)
		out.Emit(p.Agent, contract.Merge{Status: string(m.Status), Head: m.Head, Files: shown(m.Files)})
	default:
		if m.Status == StatusConflict {
			out.Emit(p.Agent, contract.Merge{Status: string(m.Status), Head: m.Head, Files: shown(m.Files)})
		}
		times := s.times(p.Agent) + 1
		s.count(p.Agent, times)
		if times > MaxConflicts {
			s.count(p.Agent, 0) // the Arbiter may send it back
			o.Why = fmt.Sprintf("its work is not merged, after %d attempts of its author: %s", MaxConflicts,
				m.problem())
			break
		}
		o.Back = m.demand(times)
	}
	s.ask(out)
	return o, true
}

// Drop removes an unwanted document from the queue.
func (s *State) Drop(out *effect.Collector, document int) {
	i := slices.IndexFunc(s.Queue, func(p Pending) bool { return p.Document == document })
	if i < 0 {
		return
	}
	s.Queue = slices.Delete(slices.Clone(s.Queue), i, i+1)
	if i == 0 {
		s.ask(out)
	}
}

func (s *State) times(agent string) int {
	for _, c := range s.Conflicts {
		if c.Agent == agent {
			return c.Times
		}
	}
	return 0
}

func (s *State) count(agent string, times int) {
	s.Conflicts = slices.DeleteFunc(slices.Clone(s.Conflicts), func(c Count) bool { return c.Agent == agent })
	if times > 0 {
		s.Conflicts = append(s.Conflicts, Count{agent, times})
	}
}

// problem says why the work does not merge.
func (m Merged) problem() string {
	if m.Status == StatusUnfinished {
		return "a " + m.Detail + " is under way in its directory"
	}
	return "it conflicts with the run branch in " + words.Head(strings.Join(shown(m.Files), ", "), 1000)
}

// demand asks the author to make its work merge.
func (m Merged) demand(times int) string {
	if m.Status == StatusUnfinished {
		return fmt.Sprintf("Your work is not merged: a %s is under way in your directory. Finish or abort it, commit, "+
			"and report done again. This was attempt %d of %d.", m.Detail, times, MaxConflicts)
	}
	var files strings.Builder
	for _, f := range shown(m.Files) {
		files.WriteString("\n- " + f)
	}
	return fmt.Sprintf("Your work is not merged: others changed the same lines of these files:%s\n\n"+
		"Run `git merge %s` in your directory, keep what both sides meant, run your checks, commit, and report done "+
		"again with the whole document. This was attempt %d of %d; then the Arbiter decides.",
		files.String(), m.Head, times, MaxConflicts)
}

// maxFiles bounds the files that one event or message names.
const maxFiles = 200

func shown(files []string) []string {
	if len(files) <= maxFiles {
		return files
	}
	return append(slices.Clone(files[:maxFiles]), fmt.Sprintf("and %d more", len(files)-maxFiles))
}
