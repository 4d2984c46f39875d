package runstore

import (
	"context"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// FarFiles reaches the directories of agents on other hosts. Its methods must be safe for concurrent use.
type FarFiles interface {
	// IsRemote reports whether an agent works on another host.
	IsRemote(agent string) bool
	// Prepare creates the directory of an agent there, starting from a commit of this repository, or returns the
	// existing one.
	Prepare(ctx context.Context, repo *workspace.Repo, p runconfig.Place, base string) (runconfig.Worktree, error)
	// Bring commits an agent's uncommitted work there, and fetches its branch. It waits for a lost host until ctx
	// ends.
	Bring(ctx context.Context, repo *workspace.Repo, agent, message string) (Brought, error)
	// Give pushes a commit to the host where an agent works.
	Give(ctx context.Context, repo *workspace.Repo, agent, commit string) error
	// Remove removes the directory and the branch of an agent there. head is the commit of the branch that was
	// fetched.
	Remove(ctx context.Context, repo *workspace.Repo, agent, head string) error
}

// Brought is the work of an agent on another host after it was fetched.
type Brought struct {
	runconfig.Worktree
	Head, Tree string // of its branch
}

// Reach sets the connection to other hosts. Without it, all agents work here. Call it before the files are used.
func (f *Files) Reach(far FarFiles) { f.far = far }

// isFar reports whether an agent works on another host.
func (f *Files) isFar(agent string) bool { return f.far != nil && f.far.IsRemote(agent) }

// bring fetches the work of an agent.
func (f *Files) bring(ctx context.Context, agent, message string) (w workspace.Worktree, head, tree string, err error) {
	n, err := number(agent)
	if err != nil {
		return w, "", "", err
	}
	b, err := f.far.Bring(ctx, f.repo, agent, message)
	return workspace.Worktree{Orchestrator: n, Branch: b.Branch, Base: b.Base, Kind: workspace.WorktreeKind(b.Isolation)},
		b.Head, b.Tree, err
}

// prepareFar creates the directory of an agent on its host.
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

// recordFar records the files of an agent on another host: it fetches what the agent has done so far.
func (f *Files) recordFar(ctx context.Context, e input.ChangeRecord, taken *input.ChangeRecorded) error {
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

// handOverTimeout is how long a successor waits for the last work of its predecessor, if the predecessor's host does
// not answer.
const handOverTimeout = 30 * time.Second

// handedOverFar is [Files.handed] for a predecessor on another host. If that host cannot be reached, it returns the
// last commit that was fetched.
func (f *Files) handedOverFar(ctx context.Context, agent string) (commit, base string, err error) {
	soon, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	w, head, _, err := f.bring(soon, agent, "Unfinished work of "+agent)
	if err == nil || w.Branch == "" || ctx.Err() != nil {
		return head, w.Base, err
	}
	last, err := f.repo.Commit(ctx, "refs/heads/"+w.Branch)
	if err == nil && last.ID == "" {
		return w.Base, w.Base, nil // nothing was fetched yet
	}
	return last.ID, w.Base, err
}

// RemoveFar removes the directory of an agent on another host after the end of a run, if the run has all of its
// work. Otherwise the directory is kept, and text says so. where describes its place.
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
