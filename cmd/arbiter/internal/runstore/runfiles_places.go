package runstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// number returns the number of an Orchestrator from its id.
func number(agent string) (int, error) {
	var n int
	_, err := fmt.Sscanf(agent, "orch-%d", &n)
	if err != nil || agent != fmt.Sprintf("orch-%d", n) {
		return 0, fmt.Errorf("%q is not an Orchestrator", agent)
	}
	return n, nil
}

// find returns the directory of an agent; Dir is empty if the agent has none.
func (f *Files) find(agent string) (*workspace.Worktrees, workspace.Worktree, error) {
	n, err := number(agent)
	if err != nil {
		return nil, workspace.Worktree{}, err
	}
	dirs, err := workspace.OpenWorktrees(f.repo, f.Workspace.Own)
	if err != nil {
		return nil, workspace.Worktree{}, err
	}
	w, _, err := dirs.Find(n)
	w.Orchestrator = n
	return dirs, w, err
}

// mustFind is find for an agent that must have a directory.
func (f *Files) mustFind(agent string) (*workspace.Worktrees, workspace.Worktree, error) {
	dirs, w, err := f.find(agent)
	if err == nil && w.Dir == "" {
		err = fmt.Errorf("%s has no directory of its own", agent)
	}
	return dirs, w, err
}

// Place creates the directory of an agent, or returns the existing one. It also returns the environment variables
// with the author of commits there, if the user's configuration has none. A call after a crash finishes the work.
func (f *Files) Place(ctx context.Context, p runconfig.Place) (runconfig.Worktree, map[string]string, error) {
	if p.Kind == "" {
		head, err := f.repo.Commit(ctx, f.main())
		if err == nil {
			err = f.read(ctx, head.ID)
		}
		return runconfig.Worktree{}, nil, err
	}
	create := f.create
	if f.isFar(p.Agent) {
		create = f.prepareFar
	}
	own, err := again(ctx, func() (runconfig.Worktree, error) { return create(ctx, p) })
	if err != nil {
		return own, nil, err
	}
	return own, workspace.Identity(workspace.Signer(ctx, f.repo)), nil
}

func (f *Files) create(ctx context.Context, p runconfig.Place) (runconfig.Worktree, error) {
	dirs, w, err := f.find(p.Agent)
	if err != nil {
		return runconfig.Worktree{}, err
	}
	from := w.Base
	if w.Dir == "" {
		if from, err = f.beginning(ctx, p); err != nil {
			return runconfig.Worktree{}, err
		}
	}
	w, err = dirs.Create(ctx, workspace.WorktreeSpec{
		Orchestrator: w.Orchestrator, Generation: p.Generation, Kind: workspace.WorktreeKind(p.Kind), From: from,
	})
	return runconfig.Worktree{Branch: w.Branch, Base: w.Base, Isolation: string(w.Kind)}, err
}

// beginning returns the first commit of a new directory: the work of a predecessor, or the work of the run so far.
func (f *Files) beginning(ctx context.Context, p runconfig.Place) (string, error) {
	if p.After != "" {
		head, base, err := f.handedOver(ctx, p.After)
		if err == nil && head != "" {
			err = f.continueFrom(ctx, p, base, head)
		}
		if err != nil || head != "" {
			return head, err
		}
	}
	if f.Workspace.Isolated() {
		return f.main(), nil
	}
	now, err := f.repo.Again(ctx, workspace.End) // with the others' uncommitted work
	return now.Commit.ID, err
}

// continueFrom records which part of a predecessor's work the shared files have. The rest is merged with the
// successor's work.
func (f *Files) continueFrom(ctx context.Context, p runconfig.Place, base, head string) error {
	if f.Workspace.Isolated() {
		return nil // Git knows it from the run branch
	}
	had, err := f.repo.Commit(ctx, f.repo.Ref(p.Agent+synced))
	if err != nil || had.ID != "" {
		return err
	}
	if base, err = f.mergeBase(ctx, workspace.Worktree{Base: base}, p.After, head); err != nil {
		return err
	}
	return f.keep(ctx, p.Agent+synced, base)
}

// handedOver returns the commit with all work of a predecessor, and the commit that its directory began with. They are
// empty if it had no directory of its own.
func (f *Files) handedOver(ctx context.Context, agent string) (head, base string, err error) {
	if f.isFar(agent) {
		return f.handedOverFar(ctx, agent)
	}
	dirs, w, err := f.find(agent)
	if err != nil || w.Dir == "" {
		return "", "", err
	}
	work, err := dirs.Commit(ctx, w, "Unfinished work of "+agent)
	var unfinished *workspace.UnfinishedError
	if !errors.As(err, &unfinished) {
		return work.Head, w.Base, err
	}
	if _, err := dirs.Save(ctx, w); err != nil { // in the middle of a merge: continue with the committed work
		return "", "", err
	}
	head, err = dirs.Head(ctx, w)
	return head, w.Base, err
}

// read moves the directory of agents that only read to a commit.
func (f *Files) read(ctx context.Context, commit string) error {
	dirs, err := workspace.OpenWorktrees(f.repo, f.Workspace.Own)
	if err == nil {
		_, err = dirs.Reader(ctx, commit)
	}
	return err
}
