package workspace

// This file joins commits on a branch of a run without a checkout: no file, no index and no other branch
// changes. A conflict changes nothing.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// MergeStatus is how a merge ended.
type MergeStatus string

// How a merge ended.
const (
	MergeMade     MergeStatus = "merged"   // by a new commit with two parents
	MergeForward  MergeStatus = "forward"  // the branch moved to the commit
	MergeNothing  MergeStatus = "nothing"  // the branch had the commit already
	MergeConflict MergeStatus = "conflict" // no reference moved
)

// MergeResult is the result of a merge.
type MergeResult struct {
	Status MergeStatus
	Before string   // commit of the branch; empty if the merge created it
	Head   string   // commit of the branch now
	Files  []string // that both sides changed in different ways, if there is a conflict
}

// MergeInto merges a commit into a reference, which it creates if it is missing. A call after a crash has the same
// result. If another process moves the reference meanwhile, Into fails with [ErrMoved] and has changed nothing: call
// it again.
func MergeInto(ctx context.Context, r *Repo, ref, commit, message string) (MergeResult, error) {
	both, err := r.Commits(ctx, ref, commit)
	if err != nil {
		return MergeResult{}, err
	}
	ours, theirs := both[0], both[1]
	result := MergeResult{Before: ours.ID, Head: ours.ID}
	if theirs.ID == "" {
		return MergeResult{}, fmt.Errorf("merge: there is no commit %s", commit)
	}
	if ours.ID == "" {
		result.Status = MergeForward
	} else if result.Status, err = relation(ctx, r, ours.ID, theirs.ID); err != nil {
		return MergeResult{}, err
	}
	switch result.Status {
	case MergeNothing:
		return result, nil
	case MergeForward:
		result.Head = theirs.ID
	default:
		tree, files, err := MergeTrees(ctx, r, ours.ID, theirs.ID)
		if err != nil {
			return MergeResult{}, err
		}
		if len(files) > 0 {
			result.Status, result.Files = MergeConflict, files
			return result, nil
		}
		if result.Head, err = r.Record(ctx, Signer(ctx, r), tree, message, ours.ID, theirs.ID); err != nil {
			return MergeResult{}, err
		}
	}
	subject, _, _ := strings.Cut(message, "\n")
	err = r.Move(ctx, "arbiter: "+subject, Update{Ref: ref, Old: ours.ID, New: result.Head})
	if err != nil {
		return MergeResult{}, err
	}
	return result, nil
}

// relation determines whether to merge, to fast-forward, or to do nothing.
func relation(ctx context.Context, r *Repo, ours, theirs string) (MergeStatus, error) {
	if has, err := Contains(ctx, r, ours, theirs); err != nil || has {
		return MergeNothing, err
	}
	if has, err := Contains(ctx, r, theirs, ours); err != nil || has {
		return MergeForward, err
	}
	return MergeMade, nil
}

// Contains reports whether a commit is in the history of another, or the same.
func Contains(ctx context.Context, r *Repo, history, commit string) (bool, error) {
	_, err := r.Git.Text(ctx, "merge-base", "--is-ancestor", commit, history)
	if git.Exit(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// MergeTrees merges two commits. It returns the merged tree, or the files in conflict.
func MergeTrees(ctx context.Context, r *Repo, ours, theirs string) (tree string, conflicts []string, err error) {
	args := []string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs}
	out, err := r.Git.Do(ctx, git.Call{Args: args, Writes: true})
	conflict := git.Exit(err) == 1
	if err != nil && !conflict {
		return "", nil, err
	}
	fields := slices.DeleteFunc(Fields(out), func(f string) bool { return f == "" })
	switch {
	case len(fields) == 0:
		return "", nil, errors.New("git merge-tree wrote nothing")
	case !conflict:
		return fields[0], nil, nil
	case len(fields) == 1: // a conflict that belongs to no file, such as one of directory renames
		return "", []string{"."}, nil
	}
	files := fields[1:]
	slices.Sort(files)
	return "", slices.Compact(files), nil
}

// TreesOver merges two commits with base as their merge base, whatever their history says. It returns what
// Trees does.
func TreesOver(
	ctx context.Context, r *Repo, base, ours, theirs string,
) (tree string, conflicts []string, err error) {
	// git merge-tree --merge-base came with git 2.40. Commits without a reference have the same effect.
	commits, err := r.Commits(ctx, base, ours, theirs)
	if err != nil {
		return "", nil, err
	}
	var made [3]string
	for i, c := range commits {
		parent := made[0]
		made[i], err = r.Record(ctx, nil, c.Tree, "arbiter: to merge", parent)
		if err != nil {
			return "", nil, err
		}
	}
	return MergeTrees(ctx, r, made[1], made[2])
}

// Signer returns the variables that name the author and committer of a commit on the user's behalf: none if
// the user has configured a name and an address, otherwise Arbiter's.
func Signer(ctx context.Context, r *Repo) []string {
	for _, name := range []string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"} {
		if _, err := r.Git.Text(ctx, "-c", "user.useConfigOnly=true", "var", name); err != nil {
			return nil
		}
	}
	return []string{}
}
