package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// WorktreeKind is the way in which a directory is isolated.
type WorktreeKind string

// Ways of isolation.
const (
	WorktreeLinked WorktreeKind = "worktree"
	WorktreeClone  WorktreeKind = "clone"
)

// WorktreeSpec describes a directory to create.
type WorktreeSpec struct {
	Orchestrator int
	Generation   int // that creates it
	Kind         WorktreeKind
	From         string // commit at which its branch begins; an existing branch is not moved
}

// Worktree is a directory of an Orchestrator.
type Worktree struct {
	Orchestrator int          `json:"orchestrator"`
	Kind         WorktreeKind `json:"isolation"`
	Branch       string       `json:"branch"` // short name: arbiter/RUN8/orch-1.1
	Base         string       `json:"base"`   // commit that the branch began at
	Dir          string       `json:"dir"`    // top of the files
	Work         string       `json:"work"`   // the directory in it that corresponds to the run's: where the agent starts
	Included     int          `json:"included,omitempty"`
}

// Worktrees keeps the directories of one run. It has no state besides its directory, and is safe for concurrent use.
type Worktrees struct {
	repo *Repo
	root string
}

// OpenWorktrees returns a manager that works in a directory, which it creates. The directory must not be used for
// anything else.
func OpenWorktrees(r *Repo, root string) (*Worktrees, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root) // git names worktrees by this path
	}
	return &Worktrees{repo: r, root: root}, err
}

// Find returns the directory of an Orchestrator; ok is false if it has none.
func (m *Worktrees) Find(orchestrator int) (w Worktree, ok bool, err error) {
	b, err := os.ReadFile(m.record(name(orchestrator)))
	if errors.Is(err, fs.ErrNotExist) {
		return Worktree{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &w)
	}
	if err == nil && (w.Orchestrator != orchestrator || w.Dir != m.dir(name(orchestrator))) {
		err = errors.New("it is the record of another directory")
	}
	if err != nil {
		return Worktree{}, false, fmt.Errorf("%s: %w", m.record(name(orchestrator)), err)
	}
	return w, true, nil
}

// List returns all directories, by Orchestrator, including those of a run that was killed.
func (m *Worktrees) List() ([]Worktree, error) {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return nil, err
	}
	var all []Worktree
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "orch-%d.json", &n); err != nil || e.Name() != name(n)+".json" {
			continue
		}
		w, ok, err := m.Find(n)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Worktree) int { return a.Orchestrator - b.Orchestrator })
	return all, nil
}

func name(orchestrator int) string { return fmt.Sprintf("orch-%d", orchestrator) }

func (m *Worktrees) dir(name string) string { return filepath.Join(m.root, name) }

func (m *Worktrees) record(name string) string { return filepath.Join(m.root, name+".json") }

// write writes the record that makes a directory valid.
func (m *Worktrees) write(name string, w Worktree) error {
	b, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return err
	}
	temp := m.record(name) + ".tmp"
	if err := os.WriteFile(temp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, m.record(name))
}

// work returns the directory that corresponds to the run's in the user's work tree.
func (m *Worktrees) work(dir string) (string, error) {
	work := filepath.Join(dir, filepath.FromSlash(m.repo.Prefix))
	return work, os.MkdirAll(work, 0o777)
}

// locked calls f with the lock held, for the directory of that name.
func (m *Worktrees) locked(ctx context.Context, name string, f func(*Worktrees) error) error {
	r, unlock, err := m.repo.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.ClearLocks(name); err != nil {
		return err
	}
	return f(&Worktrees{repo: r, root: m.root})
}

// removeAll removes a directory of the manager, whatever its permissions are (module caches are read-only).
func (m *Worktrees) removeAll(name string) error {
	dir := m.dir(name)
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return root.Chmod(path, 0o700) // before it is read
		}
		return err
	})
	return errors.Join(err, root.Close(), os.RemoveAll(dir))
}
