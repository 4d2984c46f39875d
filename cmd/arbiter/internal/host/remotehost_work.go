package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/workspace"
)

// work opens the directories of the run. subdir is the directory of the run below the top of its work tree; base is
// a commit of the cache.
func (m *RemoteMachine) work(ctx context.Context, subdir, base string) (*workspace.Repo, *workspace.Worktrees, error) {
	cache, err := git.Locate(m.cache)
	if err != nil {
		return nil, nil, err
	}
	at := git.Runner{Dir: m.cache, At: &cache, Env: git.Environ(os.Environ()), Begin: proctree.Keep}
	if _, err := at.Text(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"); git.Exit(err) > 0 && base != "" {
		// A work tree needs a HEAD. It is detached, so that every branch can be pushed to.
		if _, err := at.Write(ctx, "update-ref", "--no-deref", "HEAD", base); err != nil {
			return nil, nil, err
		}
	}
	place := filepath.Join(m.cache, filepath.FromSlash(subdir))
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, nil, err
	}
	repo, err := workspace.Open(ctx, workspace.Options{Dir: place, Run: m.run8,
		Scratch: filepath.Join(m.dir, "scratch"), Begin: proctree.Keep})
	if err != nil {
		return nil, nil, err
	}
	dirs, err := workspace.OpenWorktrees(repo, filepath.Join(m.dir, m.run8))
	return repo, dirs, err
}

func workError(err error) error {
	if err == nil {
		return nil
	}
	return &bridge.RPCError{Code: bridge.CodeRefused, Category: bridge.CatWorkspace, Message: err.Error()}
}

// PrepareWork implements [bridge.Machine].
func (m *RemoteMachine) PrepareWork(ctx context.Context, p bridge.PrepareWorkParams) (bridge.WorkResult, error) {
	repo, dirs, err := m.work(ctx, p.Subdir, p.Base)
	if err != nil {
		return bridge.WorkResult{}, workError(err)
	}
	w, err := dirs.Create(ctx, workspace.WorktreeSpec{Orchestrator: p.Orchestrator, Generation: p.Generation,
		Kind: workspace.WorktreeKind(p.Kind), From: p.Base})
	if err != nil {
		return bridge.WorkResult{}, workError(err)
	}
	r := bridge.WorkResult{Dir: w.Dir, CWD: w.Work, Branch: w.Branch, Base: w.Base, Kind: string(w.Kind),
		Write: []string{w.Dir}}
	if w.Kind == workspace.WorktreeLinked {
		r.Write = append(r.Write, repo.CommonDir)
	}
	return r, nil
}

// find returns the directory of an Orchestrator.
func (m *RemoteMachine) find(
	ctx context.Context,
	orchestrator int,
) (*workspace.Repo, *workspace.Worktrees, workspace.Worktree,
	error) {
	repo, dirs, err := m.work(ctx, "", "")
	if err != nil {
		return nil, nil, workspace.Worktree{}, err
	}
	w, ok, err := dirs.Find(orchestrator)
	if err == nil && !ok {
		err = fmt.Errorf("there is no directory of Orchestrator %d on this host", orchestrator)
	}
	return repo, dirs, w, err
}

// CommitWork implements [bridge.Machine]. It moves the branch of the directory to the commit that is checked out
// there, even if the agent has switched branches.
func (m *RemoteMachine) CommitWork(ctx context.Context, p bridge.CommitWorkParams) (bridge.CommitWorkResult, error) {
	var none bridge.CommitWorkResult
	repo, dirs, w, err := m.find(ctx, p.Orchestrator)
	if err != nil {
		return none, workError(err)
	}
	found, err := dirs.Commit(ctx, w, p.Message)
	if err != nil {
		return none, workError(err)
	}
	branch := "refs/heads/" + w.Branch
	tip, err := repo.Commit(ctx, branch)
	if err != nil {
		return none, workError(err)
	}
	err = repo.Move(ctx, "arbiter: committed", workspace.Update{Ref: branch, Old: tip.ID, New: found.Head})
	if err != nil {
		return none, workError(err)
	}
	return bridge.CommitWorkResult{Head: found.Head, Tree: found.Tree, Branch: w.Branch, Problems: found.Problems}, nil
}

// RemoveWork implements [bridge.Machine].
func (m *RemoteMachine) RemoveWork(ctx context.Context, p bridge.RemoveWorkParams) (bridge.RemoveWorkResult, error) {
	repo, dirs, w, err := m.find(ctx, p.Orchestrator)
	if err != nil {
		return bridge.RemoveWorkResult{}, workError(err)
	}
	saved, err := dirs.Remove(ctx, w, p.Force)
	if err == nil && p.Head != "" {
		err = m.forget(ctx, repo, dirs, w, p.Head)
	}
	if err != nil {
		return bridge.RemoveWorkResult{}, workError(err)
	}
	return bridge.RemoveWorkResult{Ref: saved.Ref, Commit: saved.Commit,
		Problems: append(saved.Problems, saved.Nested...)}, nil
}

// forget removes the branch of a removed directory, if the client has all of its commits. With the last directory
// of the run it removes everything that was pushed for the run.
func (m *RemoteMachine) forget(
	ctx context.Context, repo *workspace.Repo, dirs *workspace.Worktrees, w workspace.Worktree, head string,
) error {
	branch, base := "refs/heads/"+w.Branch, repo.Ref(fmt.Sprintf("orch-%d/base", w.Orchestrator))
	tips, err := repo.Commits(ctx, branch, base)
	if err != nil {
		return err
	}
	if tips[0].ID == head {
		err := repo.Move(ctx, "arbiter: merged", workspace.Update{Ref: branch, Old: head},
			workspace.Update{Ref: base, Old: tips[1].ID})
		if err != nil {
			return err
		}
	}
	left, err := dirs.List()
	if err != nil || len(left) > 0 {
		return err
	}
	pushed, err := repo.Refs(ctx, "pushed/")
	if err != nil {
		return err
	}
	var gone []workspace.Update
	for ref, id := range pushed {
		gone = append(gone, workspace.Update{Ref: ref, Old: id})
	}
	if err := repo.Move(ctx, "arbiter: the run is over", gone...); err != nil {
		return err
	}
	// The directory is not empty if the user has put something into it.
	err = os.Remove(filepath.Join(m.dir, m.run8))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}
