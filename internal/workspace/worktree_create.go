package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Create creates the directory of an Orchestrator, or returns the existing one. A call after a crash
// finishes the work.
func (m *Worktrees) Create(ctx context.Context, s WorktreeSpec) (w Worktree, err error) {
	if s.Kind != WorktreeLinked && s.Kind != WorktreeClone {
		return w, fmt.Errorf("isolation %q: want %s or %s", s.Kind, WorktreeLinked, WorktreeClone)
	}
	err = m.locked(ctx, name(s.Orchestrator), func(m *Worktrees) (err error) {
		w, err = m.create(ctx, s)
		return err
	})
	return w, err
}

func (m *Worktrees) create(ctx context.Context, s WorktreeSpec) (Worktree, error) {
	name := name(s.Orchestrator)
	w, ok, err := m.Find(s.Orchestrator)
	if err != nil {
		return Worktree{}, err
	}
	if ok {
		if _, err := os.Lstat(filepath.Join(w.Dir, ".git")); err == nil {
			return w, nil
		}
		// The directory was deleted. Its branch continues where it was.
		s.Kind, s.From = w.Kind, w.Base
		if err := os.Remove(m.record(name)); err != nil {
			return Worktree{}, err
		}
	}
	if err := m.discard(ctx, name); err != nil {
		return Worktree{}, err
	}
	branch := m.repo.Branch(fmt.Sprintf("%s.%d", name, s.Generation))
	if ok {
		branch = "refs/heads/" + w.Branch
	}
	base := m.repo.Ref(name + "/base")
	found, err := m.repo.Commits(ctx, s.From, branch, base)
	if err != nil {
		return Worktree{}, err
	}
	from, tip := found[0].ID, found[1].ID
	if from == "" {
		return Worktree{}, fmt.Errorf("worktree of Orchestrator %d: there is no commit %s", s.Orchestrator, s.From)
	}
	if tip == "" {
		tip = from
		err := m.repo.Move(ctx, "arbiter: created", Update{Ref: branch, New: tip},
			Update{Ref: base, Old: found[2].ID, New: from}) // this keeps the objects that a clone borrows
		if err != nil {
			return Worktree{}, err
		}
	}
	w = Worktree{Orchestrator: s.Orchestrator, Kind: s.Kind, Branch: strings.TrimPrefix(branch, "refs/heads/"),
		Base: from, Dir: m.dir(name)}
	if s.Kind == WorktreeClone {
		err = m.clone(ctx, w, tip)
	} else {
		err = m.link(ctx, name, "ref: "+branch)
	}
	if err != nil {
		return Worktree{}, fmt.Errorf("worktree of Orchestrator %d: %w", s.Orchestrator, err)
	}
	if w.Work, err = m.work(w.Dir); err != nil {
		return Worktree{}, err
	}
	if w.Included, err = include(ctx, m.repo, w.Dir); err != nil {
		return Worktree{}, err
	}
	return w, m.write(name, w)
}

// discard removes what an unfinished Create, or an unfinished removal, has left.
func (m *Worktrees) discard(ctx context.Context, name string) error {
	if err := m.removeAll(removedName(name)); err != nil {
		return err
	}
	if _, err := os.Lstat(m.dir(name)); err == nil {
		if err := os.Rename(m.dir(name), m.dir(removedName(name))); err != nil {
			return err
		}
		m.repo.Step("rename")
		if err := m.removeAll(removedName(name)); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.unlink(name)
}

func removedName(name string) string { return name + ".gone" }
