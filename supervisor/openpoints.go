package supervisor

// This file lists what speaks against the end of a task: what the supervisor itself knows to be open, missing or
// unproven.
//
// A COMPLETE goes back to the Arbiter once with these points, however it was decided. What the Arbiter insists on
// takes effect; the points that are open then are in the result, and in its summary.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// pointsNamed is how many things one point names.
	pointsNamed = 8
	// pointText bounds one thing that a point names, in bytes.
	pointText = 200
)

// openPoint is one thing that speaks against the end of a task. The Arbiter reads of each kind once.
type openPoint struct{ kind, text string }

// openPoints lists what speaks against the end of the task. repeated: the checks of all documents have run once more;
// else only those of the last document are known to fail.
func (s *State) openPoints(repeated bool) []openPoint {
	var list []openPoint
	add := func(kind, text string) { list = append(list, openPoint{kind, text}) }
	named := func(kind, what string, things []string) {
		parts := slices.Clone(words.Few(things, pointsNamed))
		for i, t := range parts {
			parts[i] = words.Head(words.FirstLine(t), pointText)
		}
		if len(parts) > 0 {
			add(kind, what+": "+strings.Join(parts, "; "))
		}
	}
	delivered := func(f input.ChangeFile) bool { return f.Changed > 0 }
	filesKnown := s.Options.Workspace.Enabled() && !s.Changes.Failed && !s.Changes.Truncated()
	undelivered := s.Changes.Undelivered()
	switch {
	case !s.worked():
		add("nobody", "no Orchestrator has worked on the task")
	case filesKnown && undelivered == nil && !slices.ContainsFunc(s.Changes.Files, delivered):
		add("unchanged", "no file has changed since the run began")
	}
	named("undelivered", "files were changed in agents' own directories and are not merged", undelivered)
	named("already", "all that passes was already true before the work, so it does not prove the work", s.provesNothing())
	switch run := s.Handoff.ChecksRun(); {
	case s.Task.Acceptance.proves():
	case run == nil:
		add("unproven", "no check and no acceptance criterion with a command proves the work")
	case run.Passed == 0 && run.Failed == 0:
		add("unproven", "none of the checks was run")
	}
	named(s.Handoff.failedKind(), "checks fail", s.Handoff.proofsThat(func(p *Proved) bool {
		return p.Receipt.Result == verdict.CheckFailed && (repeated || p.Author.ID == s.Handoff.LastDocument.Agent)
	}))
	last := &s.Handoff.LastDocument
	if last.Unmerged != "" {
		add("unmerged", "the work of "+last.Agent+" is not merged: "+words.Head(last.Unmerged, pointText))
	}
	var steps []string
	for i, step := range s.Task.Plan {
		if !isOver(step.Status) || step.Status == contract.StepFailed {
			steps = append(steps, fmt.Sprintf("%d. %s (%s)", i+1, words.FirstLine(step.Text), step.Status))
		}
	}
	named("plan", "steps of the plan are not done", steps)
	named("left", "the last document, of "+last.Agent+", leaves open", last.Left)
	if filesKnown {
		named("absent", "a document lists files that no snapshot shows as changed (unchanged, ignored by Git, or missing)",
			slices.DeleteFunc(slices.Clone(s.Handoff.FilesListed), func(name string) bool {
				return slices.ContainsFunc(s.Changes.Files, func(f input.ChangeFile) bool { return covers(name, f.Path) })
			}))
		var unlisted []string
		for _, f := range s.Changes.Files {
			lists := func(name string) bool { return covers(name, f.Path) }
			if delivered(f) && !slices.ContainsFunc(s.Handoff.FilesListed, lists) {
				unlisted = append(unlisted, f.Path)
			}
		}
		named("unlisted", "files have changed that no document lists", unlisted)
	}
	return list
}

// worked reports whether an Orchestrator has worked on the task.
func (s *State) worked() bool {
	return s.Task.History.Len() > 0 ||
		slices.ContainsFunc(s.Agents, func(a *Agent) bool { return a.Role == RoleOrchestrator && a.Work != nil })
}

// openTexts are the texts of the open points at the end.
func (s *State) openTexts() []string {
	var list []string
	for _, p := range s.openPoints(true) {
		list = append(list, p.text)
	}
	return list
}
