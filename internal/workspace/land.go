package workspace

// This file brings the work of a run into the branch that the user has checked out.
//
// [Land] merges without a checkout first. Only if that works, no operation is under way and no uncommitted change is in
// the way, it writes what it is about to do into two references (refs/arbiter/RUN8/landing, …/landing-from), then
// replaces the files that differ, then the index, and moves the branch last, together with the end of those
// references. A call after a crash continues from there. Other uncommitted changes, staged or not, stay as they are.
//
// Hooks do not run. The worktrees of submodules are left as they are, as by git merge.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// ErrDetached reports that no branch is checked out.
var ErrDetached = errors.New("HEAD is detached: check out the branch that the work belongs on, then land it")

// BusyError reports an unfinished Git operation.
type BusyError struct{ Operation string }

func (e *BusyError) Error() string {
	return "a " + e.Operation + " is under way: finish or abort it, then land"
}

// ConflictError reports files that the run and the branch changed in different ways. Nothing was changed.
type ConflictError struct{ Files []string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("the branch and the run have changed the same lines in %s: nothing was changed", listLand(e.Files))
}

// DirtyError reports files with uncommitted changes, which landing would overwrite. They are unchanged; no
// other file was changed either, unless one of these changed during the landing.
type DirtyError struct{ Files []Blocked }

func (e *DirtyError) Error() string {
	names := make([]string, len(e.Files))
	for i, f := range e.Files {
		names[i] = f.Path
	}
	return fmt.Sprintf("uncommitted changes would be overwritten in %s: commit them or put them aside, then land",
		listLand(names))
}

// FilteredError reports files under filters that the repository's own configuration defines, which do not run. Nothing
// was changed.
type FilteredError struct{ Files, Filters []string }

func (e *FilteredError) Error() string {
	return fmt.Sprintf("%s need the filter %s, which does not run because the repository's own configuration defines it: "+
		"define it in your own (git config --global), or merge the run's branch yourself", listLand(e.Files),
		listLand(e.Filters))
}

func listLand(names []string) string {
	const most = 5
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, ", ") + more
}

// LandRequest says what to land.
type LandRequest struct {
	Commit  string // commit, or a reference: usually the run branch
	Squash  bool   // one new commit with all changes, which does not name the run's commits
	Message string // of the new commit; if empty, a default. With it there is always a new commit
}

// Landed is what landing did.
type Landed struct {
	Branch  string      // full name of the user's branch
	Before  string      // its commit before
	Head    string      // its commit now
	Status  MergeStatus // Merged (also by a squash), Forward or Nothing
	Resumed bool        // this call finished a landing that was interrupted
}

const (
	planned     = "landing"      // commit that the branch is about to get
	plannedFrom = "landing-from" // commit that it had when the landing began
)

// Land lands a commit. Errors before anything is changed: [ErrDetached], [*BusyError], [*ConflictError], [*DirtyError],
// [*FilteredError];
// [ErrMoved] if a human moved the branch meanwhile. After any other error a call finishes the work.
func Land(ctx context.Context, r *Repo, q LandRequest) (Landed, error) {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return Landed{}, err
	}
	defer unlock()
	l := &lander{Repo: r}
	if err := l.ready(ctx); err != nil {
		return Landed{}, err
	}
	resumed, err := l.resume(ctx)
	if err != nil {
		return Landed{}, err
	}
	result, err := l.prepare(ctx, q)
	if err != nil || result.Status == MergeNothing {
		if err == nil && resumed.Head != "" {
			result = resumed
		}
		return result, err
	}
	if err := l.finish(ctx, result); err != nil {
		return Landed{}, err
	}
	if resumed.Head != "" {
		result.Before, result.Resumed = resumed.Before, true
	}
	return result, nil
}

type lander struct {
	*Repo
	branch string
}

// ready refuses work trees in which a landing cannot begin.
func (l *lander) ready(ctx context.Context) error {
	if operation := l.Operation(); operation != "" {
		return &BusyError{operation}
	}
	branch, err := l.Git.Text(ctx, "symbolic-ref", "--quiet", "HEAD")
	if git.Exit(err) == 1 {
		return ErrDetached
	}
	if err != nil {
		return err
	}
	l.branch = branch
	unmerged, err := l.Git.Do(ctx, git.Call{Args: []string{"ls-files", "-z", "--unmerged"}})
	if err == nil && len(unmerged) > 0 {
		err = &BusyError{"resolution of conflicts"}
	}
	return err
}

// resume finishes an interrupted landing. If a human has moved the branch since, the plan is dropped: the
// next landing finds that the files which were already replaced are done.
func (l *lander) resume(ctx context.Context) (Landed, error) {
	commits, err := l.Commits(ctx, "HEAD", l.Ref(planned), l.Ref(plannedFrom))
	if err != nil {
		return Landed{}, err
	}
	head, to, from := commits[0].ID, commits[1].ID, commits[2].ID
	if to == "" && from == "" {
		return Landed{}, nil
	}
	result := Landed{Branch: l.branch, Before: from, Head: to, Status: MergeMade, Resumed: true}
	if head == from && to != "" {
		return result, l.finish(ctx, result)
	}
	return Landed{}, l.Move(ctx, "arbiter: end of landing",
		Update{Ref: l.Ref(planned), Old: to}, Update{Ref: l.Ref(plannedFrom), Old: from})
}

// prepare makes the commit that the branch is to get.
func (l *lander) prepare(ctx context.Context, q LandRequest) (Landed, error) {
	commits, err := l.Commits(ctx, "HEAD", q.Commit)
	if err != nil {
		return Landed{}, err
	}
	ours, theirs := commits[0], commits[1]
	if theirs.ID == "" {
		return Landed{}, fmt.Errorf("there is nothing to land: no commit %s", q.Commit)
	}
	result := Landed{Branch: l.branch, Before: ours.ID, Head: ours.ID, Status: MergeNothing}
	if has, err := Contains(ctx, l.Repo, ours.ID, theirs.ID); err != nil || has {
		return result, err
	}
	forward, err := Contains(ctx, l.Repo, theirs.ID, ours.ID)
	if err != nil {
		return Landed{}, err
	}
	if forward && !q.Squash && q.Message == "" {
		result.Head, result.Status = theirs.ID, MergeForward
		return result, nil
	}
	tree, conflicts, err := MergeTrees(ctx, l.Repo, ours.ID, theirs.ID)
	if err != nil {
		return Landed{}, err
	}
	if len(conflicts) > 0 {
		return Landed{}, &ConflictError{conflicts}
	}
	parents, message := []string{ours.ID, theirs.ID}, q.Message
	if q.Squash {
		if tree == ours.Tree {
			return result, nil
		}
		parents = parents[:1]
	}
	if message == "" {
		message = "Land the work of Arbiter's run " + l.Repo.Run
	}
	result.Status = MergeMade
	result.Head, err = l.Record(ctx, Signer(ctx, l.Repo), tree, message, parents...)
	return result, err
}

// finish replaces files and index, and moves the branch. Each part may be repeated.
func (l *lander) finish(ctx context.Context, result Landed) error {
	from, to := result.Before, result.Head
	plan, err := PrepareApply(ctx, l.Repo, from, to, nil)
	if err != nil {
		return err
	}
	if err := l.unfiltered(ctx, plan); err != nil {
		return err
	}
	blocked, err := l.staged(ctx, from, plan)
	if err != nil {
		return err
	}
	if blocked = append(blocked, plan.Blocked...); len(blocked) > 0 {
		return &DirtyError{blocked}
	}
	commits, err := l.Commits(ctx, l.Ref(planned), l.Ref(plannedFrom))
	if err != nil {
		return err
	}
	err = l.Move(ctx, "arbiter: landing",
		Update{Ref: l.Ref(planned), Old: commits[0].ID, New: to},
		Update{Ref: l.Ref(plannedFrom), Old: commits[1].ID, New: from})
	if err != nil {
		return err
	}
	late, err := plan.Run(ctx)
	if err != nil {
		return fmt.Errorf("landing is not complete, land again: %w", err)
	}
	if len(late) > 0 {
		return fmt.Errorf("landing is not complete: %w", &DirtyError{late})
	}
	if _, err := l.Git.Write(ctx, "read-tree", "-i", "-m", from, to); err != nil {
		return fmt.Errorf("landing is not complete, land again: %w", err)
	}
	return l.Move(ctx, "arbiter: land run "+l.Repo.Run,
		Update{Ref: l.branch, Old: from, New: to},
		Update{Ref: l.Ref(planned), Old: to}, Update{Ref: l.Ref(plannedFrom), Old: from})
}

// unfiltered refuses a plan with files that a filter would have to make.
func (l *lander) unfiltered(ctx context.Context, plan *ApplyPlan) error {
	var paths []string
	for _, c := range plan.Changes {
		paths = append(paths, c.Path)
	}
	under, err := l.Unfiltered(ctx, paths)
	if err != nil || len(under) == 0 {
		return err
	}
	filters := slices.Sorted(maps.Values(under))
	return &FilteredError{slices.Sorted(maps.Keys(under)), slices.Compact(filters)}
}

// staged lists files of the plan whose staged content is neither the old nor the new one.
func (l *lander) staged(ctx context.Context, from string, plan *ApplyPlan) ([]Blocked, error) {
	changes, err := l.Staged(ctx, from)
	if err != nil {
		return nil, err
	}
	index := map[string]Entry{}
	for _, c := range changes {
		index[c.Path] = c.To
	}
	var blocked []Blocked
	for _, c := range plan.Changes {
		if to, ok := index[c.Path]; ok && to != c.To {
			blocked = append(blocked, Blocked{Path: c.Path, Reason: "other content of it is staged"})
		}
	}
	return blocked, nil
}
