package workspace

import (
	"context"
	"fmt"
	"path/filepath"
)

// WorktreeWork describes the content of a directory.
type WorktreeWork struct {
	Head     string   // commit that is checked out
	Tree     string   // of the files as they are, committed or not
	Problems []string // files that could not be recorded, as reported by git
}

// UnfinishedError reports an unfinished Git operation in a directory, so that its files must not be
// committed.
type UnfinishedError struct{ Operation string }

func (e *UnfinishedError) Error() string { return "a " + e.Operation + " is under way in its worktree" }

// Work records the files of a directory as a tree that no reference names. The commits of a clone are fetched first.
func (m *Worktrees) Work(ctx context.Context, w Worktree) (found WorktreeWork, err error) {
	err = m.locked(ctx, name(w.Orchestrator), func(m *Worktrees) (err error) {
		found, err = m.holds(ctx, w)
		return err
	})
	return found, err
}

func (m *Worktrees) holds(ctx context.Context, w Worktree) (found WorktreeWork, err error) {
	if found.Head, err = m.Head(ctx, w); err != nil {
		return WorktreeWork{}, err
	}
	if w.Kind == WorktreeClone {
		found.Tree, found.Problems, err = m.repo.TreeOf(ctx, w.Dir, found.Head)
		return found, err
	}
	there, err := m.linked(ctx, w)
	if err == nil {
		found.Tree, found.Problems, err = there.Tree(ctx)
	}
	return found, err
}

// Commit commits what is uncommitted in a directory, with all files that Git does not ignore, and returns
// the content of the directory after that. No hook runs. The caller ensures that no agent works there.
// Error: [*UnfinishedError].
func (m *Worktrees) Commit(ctx context.Context, w Worktree, message string) (found WorktreeWork, err error) {
	err = m.locked(ctx, name(w.Orchestrator), func(m *Worktrees) (err error) {
		found, err = m.commit(ctx, w, message)
		return err
	})
	return found, err
}

func (m *Worktrees) commit(ctx context.Context, w Worktree, message string) (WorktreeWork, error) {
	open := m.linked
	if w.Kind == WorktreeClone {
		open = m.openClone
	}
	there, err := open(ctx, w)
	if err != nil {
		return WorktreeWork{}, err
	}
	if operation := there.Operation(); operation != "" {
		return WorktreeWork{}, &UnfinishedError{operation}
	}
	found, err := m.holds(ctx, w)
	if err != nil {
		return WorktreeWork{}, err
	}
	head, err := m.repo.Commit(ctx, found.Head)
	if err != nil {
		return WorktreeWork{}, err
	}
	if head.Tree != found.Tree {
		id, err := m.repo.Record(ctx, Signer(ctx, m.repo), found.Tree, message, found.Head)
		if err != nil {
			return WorktreeWork{}, err
		}
		_, err = there.Git.Write(ctx, "update-ref", "-m", "arbiter: committed", "HEAD", id, found.Head)
		if err != nil {
			return WorktreeWork{}, fmt.Errorf("commit in %s: %w", w.Dir, err)
		}
	}
	// Also after a call that was killed before this.
	if _, err := there.Git.Write(ctx, "reset", "--quiet", "--mixed"); err != nil {
		return WorktreeWork{}, fmt.Errorf("commit in %s: %w", w.Dir, err)
	}
	found.Head, err = m.Head(ctx, w) // for a clone, this fetches its commits
	return found, err
}

// Reading returns the directory of [Worktrees.Reader], which may not exist yet.
func (m *Worktrees) Reading() string {
	return filepath.Join(m.dir(reader), filepath.FromSlash(m.repo.Prefix))
}
