package workspace

// This part of the package gives each Orchestrator a directory of its own, outside of the user's work tree.
//
// A [Worktrees] keeps them in one directory, which belongs to the run: orch-N with the files, orch-N.json
// with the record that makes it valid. A directory without a record was never finished or used, and the
// next Create removes it. There are two kinds:
//
//   - [WorktreeLinked]: a Git worktree on branch arbiter/RUN8/orch-N.G. Objects and references are those of the
//     user's repository.
//   - [WorktreeClone]: a repository of its own that borrows objects from the user's (like git clone --shared) and
//     has no remote. A sandbox need not let it write to the user's Git directory. [Worktrees.Head] fetches its work:
//     from a view of it, so that nothing runs that the clone configures, with every object checked, and only into
//     references of this run.
//
// Branches are created by update-ref, before the worktree: they track nothing. No filter of the repository's own
// configuration runs. One directory is created or removed at a time
// ([Repo.Lock]).
//
// Before a directory is removed, its uncommitted files, and commits that no branch has, are saved in
// refs/arbiter/RUN8/orch-N/wip. Ignored files are not saved.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WorktreeSaved is work that is on no branch.
type WorktreeSaved struct {
	Ref      string   // empty if there was nothing to save
	Commit   string   // with the files; its first parent is the HEAD they were on
	Problems []string // files that could not be saved, as reported by git
	Nested   []string // repositories inside, whose own commits are not saved
}

// UnsavedError reports that a directory was not removed because work in it cannot be saved.
type UnsavedError struct {
	Dir  string
	What []string
}

func (e *UnsavedError) Error() string {
	return fmt.Sprintf("%s was not removed, because this cannot be saved: %s; take it out, or remove it with force",
		e.Dir, strings.Join(e.What, ", "))
}

// Head returns the commit that a directory has checked out. The work of a clone is fetched first.
func (m *Worktrees) Head(ctx context.Context, w Worktree) (head string, err error) {
	if w.Kind == WorktreeClone {
		err = m.locked(ctx, name(w.Orchestrator), func(m *Worktrees) (err error) {
			head, err = m.fetch(ctx, w)
			return err
		})
		return head, err
	}
	there, err := m.linked(ctx, w)
	if err != nil {
		return "", err
	}
	commit, err := there.Commit(ctx, "HEAD")
	if err == nil && commit.ID == "" {
		err = ErrNoCommit
	}
	return commit.ID, err
}

// linked opens a worktree, and makes sure that it still belongs to the repository.
func (m *Worktrees) linked(ctx context.Context, w Worktree) (*Repo, error) {
	there, err := m.repo.At(ctx, w.Dir)
	if err == nil && (there.CommonDir != m.repo.CommonDir || there.Root != w.Dir) {
		err = fmt.Errorf("%s does not belong to the repository %s any more", w.Dir, m.repo.CommonDir)
	}
	return there, err
}

// Save records the files of a directory in refs/arbiter/RUN8/orch-N/wip, unless they equal those of its
// commit and a branch of the run has that commit. Earlier saved work stays in its history.
func (m *Worktrees) Save(ctx context.Context, w Worktree) (s WorktreeSaved, err error) {
	err = m.locked(ctx, name(w.Orchestrator), func(m *Worktrees) (err error) {
		s, err = m.save(ctx, w)
		return err
	})
	return s, err
}

func (m *Worktrees) save(ctx context.Context, w Worktree) (WorktreeSaved, error) {
	found, err := m.holds(ctx, w)
	if err != nil {
		return WorktreeSaved{}, err
	}
	head, tree, s := found.Head, found.Tree, WorktreeSaved{Problems: found.Problems}
	delta, err := m.repo.Delta(ctx, head, tree)
	if err != nil {
		return WorktreeSaved{}, err
	}
	for _, c := range delta {
		if c.To.Mode == ModeModule {
			s.Nested = append(s.Nested, c.Path)
		}
	}
	kept, err := Contains(ctx, m.repo, "refs/heads/"+w.Branch, head)
	if err != nil || kept && len(delta) == 0 {
		return s, err
	}
	ref := m.repo.Ref(name(w.Orchestrator) + "/wip")
	earlier, err := m.repo.Commits(ctx, ref, ref+"^1")
	if err != nil {
		return WorktreeSaved{}, err
	}
	old := earlier[0]
	s.Ref, s.Commit = ref, old.ID
	if old.Tree == tree && earlier[1].ID == head {
		return s, nil
	}
	parents := []string{head}
	if old.ID != "" {
		parents = append(parents, old.ID)
	}
	s.Commit, err = m.repo.Record(ctx, nil, tree, "arbiter: uncommitted work of "+w.Branch, parents...)
	if err != nil {
		return WorktreeSaved{}, err
	}
	return s, m.repo.Move(ctx, "arbiter: saved", Update{Ref: ref, Old: old.ID, New: s.Commit})
}

// Remove saves the work of a directory and removes it; its branch stays. The caller has ended the processes that work
// in it. Without force it fails with [*UnsavedError] if not all can be saved. A call after a crash finishes the work.
func (m *Worktrees) Remove(ctx context.Context, w Worktree, force bool) (s WorktreeSaved, err error) {
	err = m.locked(ctx, name(w.Orchestrator), func(m *Worktrees) (err error) {
		s, err = m.remove(ctx, w, force)
		return err
	})
	return s, err
}

func (m *Worktrees) remove(ctx context.Context, w Worktree, force bool) (WorktreeSaved, error) {
	name := name(w.Orchestrator)
	if w.Dir != m.dir(name) {
		return WorktreeSaved{}, fmt.Errorf("%s is not below %s", w.Dir, m.root)
	}
	saved := WorktreeSaved{}
	if _, err := os.Lstat(w.Dir); err == nil {
		saved, err = m.save(ctx, w)
		switch unsaved := append(saved.Problems, saved.Nested...); {
		case force:
		case err != nil:
			return WorktreeSaved{}, err
		case len(unsaved) > 0:
			return saved, &UnsavedError{w.Dir, unsaved}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return WorktreeSaved{}, err
	}
	// Under its new name it counts as removed: its remains cannot replace the saved whole.
	if err := m.discard(ctx, name); err != nil {
		return WorktreeSaved{}, err
	}
	if err := os.Remove(m.record(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return WorktreeSaved{}, err
	}
	m.repo.Step("record")
	return saved, nil
}

// reader is the name of the directory that Reader keeps.
const reader = "arbiter"

// Reader keeps a directory with the files of a commit for agents that only read: the Arbiter, and checks.
// It creates the directory, or brings it to the commit; changes that were made there are lost, other files
// stay.
func (m *Worktrees) Reader(ctx context.Context, commit string) (dir string, err error) {
	err = m.locked(ctx, reader, func(m *Worktrees) error {
		if _, err := os.Lstat(filepath.Join(m.dir(reader), ".git")); err == nil {
			there, err := m.linked(ctx, Worktree{Dir: m.dir(reader)})
			if err == nil {
				_, err = there.Git.Write(ctx, "checkout", "--quiet", "--force", "--detach", commit)
			}
			if err == nil {
				return nil
			}
		}
		if err := m.discard(ctx, reader); err != nil {
			return err
		}
		tip, err := m.repo.Commit(ctx, commit)
		if err == nil && tip.ID == "" {
			err = fmt.Errorf("there is no commit %s", commit)
		}
		if err == nil {
			err = m.link(ctx, reader, tip.ID)
		}
		if err != nil {
			return err
		}
		_, err = include(ctx, m.repo, m.dir(reader))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("worktree of the Arbiter: %w", err)
	}
	return m.work(m.dir(reader))
}

// RemoveReader removes the directory that Reader keeps, if there is one.
func (m *Worktrees) RemoveReader(ctx context.Context) error {
	return m.locked(ctx, reader, func(m *Worktrees) error { return m.discard(ctx, reader) })
}

// RemoveUnfinished removes what killed calls have left: directories without a record, in which no agent has
// worked.
func (m *Worktrees) RemoveUnfinished(ctx context.Context) error {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		err = errors.Join(err, m.locked(ctx, name, func(m *Worktrees) error {
			if _, err := os.Lstat(m.record(name)); err == nil || name == reader {
				return nil
			}
			err := m.discard(ctx, name)
			if tempErr := os.Remove(m.record(name) + ".tmp"); !errors.Is(tempErr, fs.ErrNotExist) {
				err = errors.Join(err, tempErr)
			}
			return err
		}))
	}
	return err
}
