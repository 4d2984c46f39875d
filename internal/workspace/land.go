package workspace

// This file brings the work of a run into the branch that the user has checked out.
//
// [Land] merges without a checkout first. Only if that works, no operation is under way and no uncommitted change is in
// the way, it writes what it is about to do into two references (refs/arbiter/RUN8/landing, …/landing-from), then
// replaces the files that differ, then the index, and moves the branch last, together with the end of those
// references. A call after a crash continues from there. Other uncommitted changes, staged or not, stay as they are.
//
// If the run worked in the user's files ([LandRequest.Here]), they have the work: only the index and the branch change.
//
// A note about the commit ([NotesRef]) is attached before anything else, so that no landed commit lacks its note.
//
// Hooks do not run. The worktrees of submodules are left as they are, as by git merge.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// LandError says why the work cannot be landed as things are. Nothing was changed, unless a file changed during the
// landing.
type LandError struct{ Reason string }

func (e *LandError) Error() string { return e.Reason }

func notLanded(format string, args ...any) error { return &LandError{fmt.Sprintf(format, args...)} }

// ErrDetached reports that no branch is checked out.
var ErrDetached = notLanded("HEAD is detached: check out the branch that the work belongs on, then land it")

func busy(operation string) error {
	return notLanded("a %s is under way: finish or abort it, then land", operation)
}

// dirty reports files with uncommitted changes, which landing would overwrite.
func dirty(files []Blocked) error {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Path
	}
	return notLanded("uncommitted changes would be overwritten in %s: commit them or put them aside, then land",
		listed(names, shown))
}

// listed quotes the first of some names, and says how many more there are.
func listed(names []string, most int) string {
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
	Message string // of the new commit; if empty, a default
	// Since is the commit with which the work is compared; empty: the commit at which its history and the branch part.
	Since string
	// Here: the files of the work tree have the work already, and are left alone.
	Here bool
	// Without are files that the run added and that are left out.
	Without []string
	// Tree is what the new commit must contain, from [PlanLand]; empty: any.
	Tree string
	Note []byte // attached to the new commit; may be nil
}

// Landed is what landing did.
type Landed struct {
	Branch string      // full name of the user's branch
	Before string      // its commit before; of a landing that was interrupted: before that
	Head   string      // its commit now
	Status MergeStatus // MergeMade (also by a squash) or MergeNothing
	Tree   string      // of Head; [PlanLand]: of the commit that there would be
	Work   string      // the run's commit that was landed, without what is left out
}

// NotesRef is the reference with the notes about landed commits.
const NotesRef = "refs/notes/arbiter"

const (
	planned     = "landing"      // commit that the branch is about to get
	plannedFrom = "landing-from" // commit that it had when the landing began
)

// PlanLand returns what [Land] would do: Head is still the commit before. It finishes a landing that was interrupted.
// Errors: those of Land.
func PlanLand(ctx context.Context, r *Repo, q LandRequest) (Landed, error) {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return Landed{}, err
	}
	defer unlock()
	l, result, err := begin(ctx, r, q)
	if err == nil && result.Work != "" {
		_, err = l.plan(ctx, result.Head, result.Tree)
	}
	return result, err
}

// begin finishes an interrupted landing, and plans the next one.
func begin(ctx context.Context, r *Repo, q LandRequest) (*lander, Landed, error) {
	l := &lander{Repo: r, here: q.Here}
	if err := l.ready(ctx); err != nil {
		return l, Landed{}, err
	}
	resumed, err := l.resume(ctx)
	if err != nil {
		return l, Landed{}, err
	}
	result, err := l.prepare(ctx, q)
	if err == nil && resumed.Head != "" {
		if result.Status == MergeNothing {
			return l, resumed, nil
		}
		result.Before = resumed.Before
	}
	return l, result, err
}

// Land lands a commit. Errors before anything is changed: [*LandError]; [ErrMoved] if a human moved the branch
// meanwhile, or if the commit would not have the expected tree. After any other error a call finishes the work.
func Land(ctx context.Context, r *Repo, q LandRequest) (Landed, error) {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return Landed{}, err
	}
	defer unlock()
	l, result, err := begin(ctx, r, q)
	if err != nil || result.Work == "" {
		return result, err
	}
	if q.Tree != "" && q.Tree != result.Tree {
		return Landed{}, fmt.Errorf("%s: %w: land again", result.Branch, ErrMoved)
	}
	from := result.Head
	parents := []string{from, result.Work}
	if q.Squash {
		parents = parents[:1]
	}
	message := cmp.Or(q.Message, "Land the work of Arbiter's run "+l.Run)
	signer := Signer(ctx, l.Repo)
	if result.Head, err = l.Record(ctx, signer, result.Tree, message, parents...); err != nil {
		return Landed{}, err
	}
	plan, err := l.plan(ctx, from, result.Head)
	if err != nil {
		return Landed{}, err
	}
	if q.Note != nil {
		if err := l.annotate(ctx, signer, result.Head, q.Note); err != nil {
			return Landed{}, err
		}
	}
	return result, l.finish(ctx, plan, from, result.Head)
}

// annotate attaches a note to a commit, byte by byte.
func (r *Repo) annotate(ctx context.Context, signer []string, commit string, note []byte) error {
	if signer == nil {
		signer = signature
	}
	blob, err := r.Git.Do(ctx, git.Call{Args: []string{"hash-object", "-w", "--no-filters", "--stdin"}, Stdin: note,
		Writes: true})
	if err == nil {
		_, err = r.Git.Do(ctx, git.Call{Args: []string{"notes", "--ref=" + NotesRef, "add", "-f", "-C",
			strings.TrimSpace(string(blob)), commit}, Env: signer, Writes: true})
	}
	return err
}

// Note returns the note about a commit; nil if there is none. Error: [git.ErrTooMuch].
func (r *Repo) Note(ctx context.Context, commit string, most int) ([]byte, error) {
	blob, err := r.Git.Text(ctx, "notes", "--ref="+NotesRef, "list", commit)
	if git.Exit(err) == 1 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return r.Git.Do(ctx, git.Call{Args: []string{"cat-file", "blob", blob}, Max: most})
}

type lander struct {
	*Repo
	branch string
	here   bool
}

// ready refuses work trees in which a landing cannot begin.
func (l *lander) ready(ctx context.Context) error {
	if operation := l.Operation(); operation != "" {
		return busy(operation)
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
		err = busy("resolution of conflicts")
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
	result := Landed{Branch: l.branch, Before: from, Head: to, Status: MergeMade}
	if head == from && to != "" {
		plan, err := l.plan(ctx, from, to)
		if err != nil {
			return Landed{}, err
		}
		return result, l.finish(ctx, plan, from, to)
	}
	return Landed{}, l.Move(ctx, "arbiter: end of landing",
		Update{Ref: l.Ref(planned), Old: to}, Update{Ref: l.Ref(plannedFrom), Old: from})
}

// prepare finds the tree that the branch is to get.
func (l *lander) prepare(ctx context.Context, q LandRequest) (Landed, error) {
	commits, err := l.Commits(ctx, "HEAD", q.Commit)
	if err != nil {
		return Landed{}, err
	}
	ours, theirs := commits[0], commits[1]
	if theirs.ID == "" {
		return Landed{}, fmt.Errorf("there is nothing to land: no commit %s", q.Commit)
	}
	result := Landed{Branch: l.branch, Before: ours.ID, Head: ours.ID, Status: MergeNothing, Tree: ours.Tree}
	if has, err := Contains(ctx, l.Repo, ours.ID, theirs.ID); err != nil || has {
		return result, err
	}
	work := theirs.ID
	if len(q.Without) > 0 {
		without, err := l.edited(ctx, theirs.ID, list(q.Without), "update-index", "-z", "--force-remove", "--stdin")
		if err == nil {
			work, err = l.Record(ctx, nil, without, "Leave out what only a command created", theirs.ID)
		}
		if err != nil {
			return Landed{}, err
		}
	}
	var tree string
	var conflicts []string
	if q.Since != "" {
		tree, conflicts, err = TreesOver(ctx, l.Repo, q.Since, ours.ID, work)
	} else {
		tree, conflicts, err = MergeTrees(ctx, l.Repo, ours.ID, work)
	}
	if err != nil {
		return Landed{}, err
	}
	if len(conflicts) > 0 {
		return Landed{}, notLanded("the branch and the run have changed the same lines in %s: nothing was changed",
			listed(conflicts, shown))
	}
	if q.Squash && tree == ours.Tree {
		return result, nil
	}
	result.Status, result.Tree, result.Work = MergeMade, tree, work
	return result, nil
}

// plan refuses a landing that would overwrite uncommitted changes, or that a filter would have to make.
func (l *lander) plan(ctx context.Context, from, to string) (*ApplyPlan, error) {
	plan, err := PrepareApply(ctx, l.Repo, from, to, nil)
	if err != nil {
		return nil, err
	}
	if err := l.unfiltered(ctx, plan); err != nil {
		return nil, err
	}
	if l.here {
		plan.Write, plan.Delete, plan.Blocked = nil, nil, nil
	}
	blocked, err := l.staged(ctx, from, plan)
	if err != nil {
		return nil, err
	}
	if blocked = append(blocked, plan.Blocked...); len(blocked) > 0 {
		return nil, dirty(blocked)
	}
	return plan, nil
}

// finish replaces files and index, and moves the branch. Each part may be repeated.
func (l *lander) finish(ctx context.Context, plan *ApplyPlan, from, to string) error {
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
		return fmt.Errorf("landing is not complete: %w", dirty(late))
	}
	if _, err := l.Git.Write(ctx, "read-tree", "-i", "-m", from, to); err != nil {
		return fmt.Errorf("landing is not complete, land again: %w", err)
	}
	return l.Move(ctx, "arbiter: land run "+l.Repo.Run,
		Update{Ref: l.branch, Old: from, New: to},
		Update{Ref: l.Ref(planned), Old: to}, Update{Ref: l.Ref(plannedFrom), Old: from})
}

// unfiltered refuses a plan with files that a filter would have to make, or to put into a commit.
func (l *lander) unfiltered(ctx context.Context, plan *ApplyPlan) error {
	var paths []string
	for _, c := range plan.Changes {
		paths = append(paths, c.Path)
	}
	under, err := l.Unfiltered(ctx, paths)
	if err != nil || len(under) == 0 {
		return err
	}
	return notLanded("%s need the filter %s, which does not run because the repository's own configuration defines it: "+
		"define it in your own (git config --global), or merge the run's branch yourself",
		listed(slices.Sorted(maps.Keys(under)), shown),
		listed(slices.Compact(slices.Sorted(maps.Values(under))), shown))
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
