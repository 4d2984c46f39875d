package runfiles

import (
	"context"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/worktree"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Far reaches the directories of agents on other hosts. Methods are called by several goroutines.
type Far interface {
	// Lives reports whether an agent works on another host.
	Lives(agent string) bool
	// Prepare makes the directory of an agent there, beginning with a commit of this repository, or finds the one that
	// it has.
	Prepare(ctx context.Context, repo *workspace.Repo, p runconfig.Place, base string) (runconfig.Worktree, error)
	// Bring commits what an agent has not committed there, and brings its branch here. It waits for a host that is lost
	// until ctx ends.
	Bring(ctx context.Context, repo *workspace.Repo, agent, message string) (Brought, error)
	// Give brings a commit to the host where an agent works.
	Give(ctx context.Context, repo *workspace.Repo, agent, commit string) error
	// Remove removes the directory of an agent there, and its branch, of which head was brought here.
	Remove(ctx context.Context, repo *workspace.Repo, agent, head string) error
}

// Brought is the work of an agent on another host, which is now here.
type Brought struct {
	runconfig.Worktree
	Head, Tree string // of its branch
}

// Reach sets how other hosts are reached; they are not by default. Call it before the files are used.
func (f *Files) Reach(far Far) { f.far = far }

// isFar reports whether an agent works on another host.
func (f *Files) isFar(agent string) bool { return f.far != nil && f.far.Lives(agent) }

// bring brings the work of an agent here.
func (f *Files) bring(ctx context.Context, agent, message string) (w worktree.Worktree, head, tree string, err error) {
	n, err := number(agent)
	if err != nil {
		return w, "", "", err
	}
	b, err := f.far.Bring(ctx, f.repo, agent, message)
	return worktree.Worktree{Orchestrator: n, Branch: b.Branch, Base: b.Base, Kind: worktree.Kind(b.Isolation)},
		b.Head, b.Tree, err
}

// prepareFar makes the directory of an agent on its host.
func (f *Files) prepareFar(ctx context.Context, p runconfig.Place) (runconfig.Worktree, error) {
	from, err := f.beginning(ctx, p)
	if err != nil {
		return runconfig.Worktree{}, err
	}
	base, err := f.repo.Commit(ctx, from)
	if err == nil && base.ID == "" {
		err = fmt.Errorf("there is no commit %s to begin with", from)
	}
	if err != nil {
		return runconfig.Worktree{}, err
	}
	return f.far.Prepare(ctx, f.repo, p, base.ID)
}

// recordFar records the files of an agent on another host: what it has committed by now, here.
func (f *Files) recordFar(ctx context.Context, e changes.Record, taken *changes.Recorded) error {
	w, head, tree, err := f.bring(ctx, e.Own, "Work of "+e.Own)
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree = head, tree
	if e.Keep != "" {
		if err := f.keep(ctx, e.Keep, head); err != nil {
			return err
		}
	}
	return f.compare(ctx, f.known(ctx, e.Last, w.Base), f.known(ctx, e.Since, w.Base), nil, taken)
}

// handedPatience is how long a successor waits for the last work of a predecessor on a host that does not answer.
const handedPatience = 30 * time.Second

// handedFar is [Files.handed] for a predecessor on another host: the last commit that was brought here if that host is
// out of reach.
func (f *Files) handedFar(ctx context.Context, agent string) (commit, base string, err error) {
	soon, cancel := context.WithTimeout(ctx, handedPatience)
	defer cancel()
	w, head, _, err := f.bring(soon, agent, "Unfinished work of "+agent)
	if err == nil || w.Branch == "" || ctx.Err() != nil {
		return head, w.Base, err
	}
	last, err := f.repo.Commit(ctx, "refs/heads/"+w.Branch)
	if err == nil && last.ID == "" {
		return w.Base, w.Base, nil // nothing was brought yet
	}
	return last.ID, w.Base, err
}

// RemoveFar removes the directory of an agent on another host, in a run that is over, if the run has all of its work.
// Otherwise it is kept, and text says so. where names the directory.
func (f *Files) RemoveFar(ctx context.Context, agent, where string) (text string) {
	w, head, _, err := f.bring(ctx, agent, "Unfinished work of "+agent)
	has := false
	if err == nil {
		has, err = f.has(ctx, w, head)
	}
	if err == nil && has {
		err = f.far.Remove(ctx, f.repo, agent, head)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("the directory of %s was left %s: %v", agent, where, err)
	case !has:
		return fmt.Sprintf("the work of %s was not merged: it is on branch %s, and %s", agent, w.Branch, where)
	}
	return ""
}
