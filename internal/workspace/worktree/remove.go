package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/merge"
)

// Saved is work that is on no branch.
type Saved struct {
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
func (m *Manager) Head(ctx context.Context, w Worktree) (head string, err error) {
	if w.Kind == Clone {
		err = m.locked(ctx, name(w.Orchestrator), func(m *Manager) (err error) {
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
		err = workspace.ErrNoCommit
	}
	return commit.ID, err
}

// linked opens a worktree, and makes sure that it still belongs to the repository.
func (m *Manager) linked(ctx context.Context, w Worktree) (*workspace.Repo, error) {
	there, err := m.repo.At(ctx, w.Dir)
	if err == nil && (there.CommonDir != m.repo.CommonDir || there.Root != w.Dir) {
		err = fmt.Errorf("%s does not belong to the repository %s any more", w.Dir, m.repo.CommonDir)
	}
	return there, err
}

// Save records the files of a directory in refs/arbiter/RUN8/orch-N/wip, unless they equal those of its
// commit and a branch of the run has that commit. Earlier saved work stays in its history.
func (m *Manager) Save(ctx context.Context, w Worktree) (s Saved, err error) {
	err = m.locked(ctx, name(w.Orchestrator), func(m *Manager) (err error) {
		s, err = m.save(ctx, w)
		return err
	})
	return s, err
}

func (m *Manager) save(ctx context.Context, w Worktree) (Saved, error) {
	found, err := m.holds(ctx, w)
	if err != nil {
		return Saved{}, err
	}
	head, tree, s := found.Head, found.Tree, Saved{Problems: found.Problems}
	delta, err := m.repo.Delta(ctx, head, tree)
	if err != nil {
		return Saved{}, err
	}
	for _, c := range delta {
		if c.To.Mode == workspace.ModeModule {
			s.Nested = append(s.Nested, c.Path)
		}
	}
	kept, err := merge.Contains(ctx, m.repo, "refs/heads/"+w.Branch, head)
	if err != nil || kept && len(delta) == 0 {
		return s, err
	}
	ref := m.repo.Ref(name(w.Orchestrator) + "/wip")
	earlier, err := m.repo.Commits(ctx, ref, ref+"^1")
	if err != nil {
		return Saved{}, err
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
		return Saved{}, err
	}
	return s, m.repo.Move(ctx, "arbiter: saved", workspace.Update{Ref: ref, Old: old.ID, New: s.Commit})
}

// Remove saves the work of a directory and removes it; its branch stays. The caller has ended the processes that work
// in it. Without force it fails with [*UnsavedError] if not all can be saved. A call after a crash finishes the work.
func (m *Manager) Remove(ctx context.Context, w Worktree, force bool) (s Saved, err error) {
	err = m.locked(ctx, name(w.Orchestrator), func(m *Manager) (err error) {
		s, err = m.remove(ctx, w, force)
		return err
	})
	return s, err
}

func (m *Manager) remove(ctx context.Context, w Worktree, force bool) (Saved, error) {
	name := name(w.Orchestrator)
	if w.Dir != m.dir(name) {
		return Saved{}, fmt.Errorf("%s is not below %s", w.Dir, m.root)
	}
	saved := Saved{}
	if _, err := os.Lstat(w.Dir); err == nil {
		saved, err = m.save(ctx, w)
		switch unsaved := append(saved.Problems, saved.Nested...); {
		case force:
		case err != nil:
			return Saved{}, err
		case len(unsaved) > 0:
			return saved, &UnsavedError{w.Dir, unsaved}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Saved{}, err
	}
	// Under its new name it counts as removed: its remains cannot replace the saved whole.
	if err := m.discard(ctx, name); err != nil {
		return Saved{}, err
	}
	if err := os.Remove(m.record(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Saved{}, err
	}
	m.repo.Step("record")
	return saved, nil
}

// reader is the name of the directory that Reader keeps.
const reader = "arbiter"

// Reader keeps a directory with the files of a commit for agents that only read: the Arbiter, and checks.
// It creates the directory, or brings it to the commit; changes that were made there are lost, other files
// stay.
func (m *Manager) Reader(ctx context.Context, commit string) (dir string, err error) {
	err = m.locked(ctx, reader, func(m *Manager) error {
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
func (m *Manager) RemoveReader(ctx context.Context) error {
	return m.locked(ctx, reader, func(m *Manager) error { return m.discard(ctx, reader) })
}

// RemoveUnfinished removes what killed calls have left: directories without a record, in which no agent has
// worked.
func (m *Manager) RemoveUnfinished(ctx context.Context) error {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), ".")
		err = errors.Join(err, m.locked(ctx, name, func(m *Manager) error {
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
