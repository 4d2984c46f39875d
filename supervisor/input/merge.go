package input

// This file tracks the work of Orchestrators with directories of their own until it is on the run branch.
//
// When such an Orchestrator reports `done`, its work is merged, in the order of the reports and one at a time.
// The supervisor requests it with the effect [IsolationMerge]; the result is [Merged]. A conflict changes
// nothing: the author merges in its own directory and reports again, at most [MaxConflicts] times. Then the Arbiter
// decides.
//
// The package is pure. The loop carries out the effects with Git.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// MaxConflicts is how often in a row the work of an Orchestrator is sent back to it because of a conflict.
const MaxConflicts = 3

// IsolationState is the work that a run has to merge.
type IsolationState struct {
	Serial int                // of the last Merge; 0: none
	Queue  []IsolationPending // oldest first; the first is being merged
	// Conflicts are how often in a row the work of an Orchestrator was sent back to it.
	Conflicts map[string]int
}

// IsolationPending is work that waits to be merged.
type IsolationPending struct {
	Document int    // serial of the hand-off document that waits for it
	Agent    string // the author
	Request  int    // the serial of its Merge; 0: not requested yet
}

// IsolationMerge requests to merge an Orchestrator's work → Merged.
type IsolationMerge struct {
	Serial int
	Agent  string
}

// IsolationStatus of a merge.
type IsolationStatus string

// Statuses of merges.
const (
	StatusMerged     IsolationStatus = "merged"     // it is on the run branch, or in the shared files
	StatusConflict   IsolationStatus = "conflict"   // nothing was changed
	StatusUnfinished IsolationStatus = "unfinished" // a Git operation runs in the author's directory; nothing was changed
)

// Merged is the result of an [IsolationMerge].
type Merged struct {
	Serial int
	Status IsolationStatus `json:",omitempty"`
	Head   string          `json:",omitempty"` // commit that the work was merged into, with the work if it merged
	Files  []string        `json:",omitempty"` // for a conflict: where it is; otherwise what the merge changed
	Detail string          `json:",omitempty"` // of StatusUnfinished: which operation
	Failed string          `json:",omitempty"` // why there is no result
}

// IsolationOutcome is what follows from a merge.
type IsolationOutcome struct {
	Document int
	Agent    string
	Merged   bool
	Back     string // what its author has to do; empty: nothing
	Why      string // why the work is not merged, for the Arbiter; empty: it is, or its author continues
}

// Ask queues the work of a document for a merge, unless it is queued already.
func (s *IsolationState) Ask(out *Collector, document int, agent string) {
	if slices.ContainsFunc(s.Queue, func(p IsolationPending) bool { return p.Document == document }) {
		return
	}
	s.Queue = append(slices.Clip(s.Queue), IsolationPending{Document: document, Agent: agent})
	if len(s.Queue) == 1 {
		s.ask(out)
	}
}

// Again repeats the request of a process that has ended.
func (s *IsolationState) Again(out *Collector) { s.ask(out) }

func (s *IsolationState) ask(out *Collector) {
	if len(s.Queue) == 0 {
		return
	}
	s.Serial++
	s.Queue = slices.Clone(s.Queue)
	s.Queue[0].Request = s.Serial
	out.Do(IsolationMerge{Serial: s.Serial, Agent: s.Queue[0].Agent})
}

// Merged handles the result of a merge, emits `merge` and requests the next one. It reports false for a result
// that nothing waits for.
func (s *IsolationState) Merged(out *Collector, m Merged) (o IsolationOutcome, ok bool) {
	if len(s.Queue) == 0 || s.Queue[0].Request != m.Serial {
		return o, false
	}
	p := s.Queue[0]
	s.Queue = slices.Clone(s.Queue[1:])
	o = IsolationOutcome{Document: p.Document, Agent: p.Agent}
	switch {
	case m.Failed != "":
		o.Why = "its work could not be merged: " + words.Head(m.Failed, 1000)
		text := "the work of " + p.Agent + " could not be merged: " + m.Failed
		out.Notice(text)
	case m.Status == StatusMerged:
		o.Merged = true
		s.count(p.Agent, 0)
		out.Emit(p.Agent, contract.Merge{Status: string(m.Status), Head: m.Head, Files: shown(m.Files)})
	default:
		if m.Status == StatusConflict {
			out.Emit(p.Agent, contract.Merge{Status: string(m.Status), Head: m.Head, Files: shown(m.Files)})
		}
		times := s.Conflicts[p.Agent] + 1
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
func (s *IsolationState) Drop(out *Collector, document int) {
	first := len(s.Queue) > 0 && s.Queue[0].Document == document
	s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(p IsolationPending) bool { return p.Document == document })
	if first {
		s.ask(out)
	}
}

func (s *IsolationState) count(agent string, times int) {
	conflicts := map[string]int{agent: times}
	maps.Copy(conflicts, s.Conflicts)
	if conflicts[agent] = times; times == 0 {
		delete(conflicts, agent)
	}
	s.Conflicts = conflicts
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

// isolationMaxFiles bounds the files that one event or message names.
const isolationMaxFiles = 200

func shown(files []string) []string { return words.Few(files, isolationMaxFiles) }
