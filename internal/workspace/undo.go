package workspace

// This part of the package reverts what a run changed in the user's files.
//
// The changes are the difference between two snapshots, of the run's start and of its end. A file that
// still has its state in the second snapshot gets its state in the first; a file that was modified since is
// left alone, and reported. The index, branches and commits stay unchanged. Everything that is overwritten
// is in the second snapshot.
//
// It has the limits of snapshots: contents are restored as git checks them out, so that a file with mixed
// line ends in a repository that converts them gets the line ends of the repository; directories that
// become empty are removed.

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// IgnoredBefore is the reason for keeping a file that became visible to Git because the run changed ignore
// rules.
const IgnoredBefore = "Git ignored it when the run began, so it may be older than the run"

// UndoFile is a file that is reverted. Its status is that of the reversal: a file that the run added is
// deleted.
type UndoFile struct {
	Path   string `json:"path"`
	Status Status `json:"status"`
}

// Undone is what an undo did, or would do.
type Undone struct {
	Reverted []UndoFile `json:"reverted"`
	Kept     []Blocked  `json:"kept"`    // changed by the run, and left alone
	Already  []string   `json:"already"` // already in their state before the run
}

// Undo reverts what changed between the commits base and end. With dry it changes nothing. A call after a
// crash finishes the work. Errors: git's and the file system's.
func Undo(ctx context.Context, r *Repo, base, end string, dry bool) (Undone, error) {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return Undone{}, err
	}
	defer unlock()
	keep, err := ignoredBefore(ctx, r, base, end)
	if err != nil {
		return Undone{}, err
	}
	plan, err := PrepareApply(ctx, r, end, base, keep)
	if err != nil {
		return Undone{}, err
	}
	result := Undone{Kept: plan.Blocked, Already: plan.Done}
	for _, c := range plan.Modules {
		result.Kept = append(result.Kept, Blocked{Path: c.Path, Reason: ApplyModule})
	}
	var late []Blocked
	if !dry {
		if late, err = plan.Run(ctx); err != nil {
			return Undone{}, fmt.Errorf("undo is not complete, call it again: %w", err)
		}
	}
	result.Kept = append(result.Kept, late...)
	for _, c := range append(slices.Clone(plan.Write), plan.Delete...) {
		if !slices.ContainsFunc(late, func(b Blocked) bool { return b.Path == c.Path }) {
			result.Reverted = append(result.Reverted, UndoFile{c.Path, c.Status})
		}
	}
	slices.SortFunc(result.Reverted, func(a, b UndoFile) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(result.Kept, func(a, b Blocked) int { return strings.Compare(a.Path, b.Path) })
	return result, nil
}

// ignoredBefore finds files that appear in the second snapshot only because the run changed ignore rules.
func ignoredBefore(ctx context.Context, r *Repo, base, end string) (map[string]string, error) {
	delta, err := r.Delta(ctx, base, end)
	if err != nil {
		return nil, err
	}
	rules := false
	var added []string
	for _, c := range delta {
		rules = rules || path.Base(c.Path) == ".gitignore"
		if c.Status == Added {
			added = append(added, c.Path)
		}
	}
	if !rules || len(added) == 0 {
		return nil, nil
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", base}})
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(Fields(out), func(p string) bool { return path.Base(p) != ".gitignore" })
	stage, err := r.Stage(ctx, base, files)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	ignored, err := stage.Ignored(ctx, r, added)
	keep := map[string]string{}
	for _, p := range ignored {
		keep[p] = IgnoredBefore
	}
	return keep, err
}
