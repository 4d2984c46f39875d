package runstore

import (
	"context"
	"errors"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// attempts is how often an operation that another process may disturb is tried.
const attempts = 5

// Merge merges an agent's work: into the run branch if all agents are isolated, otherwise into the run's directory.
// It first commits the agent's uncommitted changes. A call after a crash has the same result.
func (f *Files) Merge(ctx context.Context, e input.IsolationMerge) input.IsolationMerged {
	m, err := again(ctx, func() (input.IsolationMerged, error) { return f.merge(ctx, e) })
	if err != nil {
		m = input.IsolationMerged{Failed: err.Error()}
	}
	m.Serial = e.Serial
	return m
}

func (f *Files) merge(ctx context.Context, e input.IsolationMerge) (input.IsolationMerged, error) {
	if f.isFar(e.Agent) {
		return f.mergeFar(ctx, e.Agent)
	}
	dirs, w, err := f.mustFind(e.Agent)
	if err != nil {
		return input.IsolationMerged{}, err
	}
	work, err := dirs.Commit(ctx, w, "Work of "+e.Agent)
	var unfinished *workspace.UnfinishedError
	if errors.As(err, &unfinished) {
		return input.IsolationMerged{Status: input.StatusUnfinished, Detail: unfinished.Operation}, nil
	}
	if err != nil {
		return input.IsolationMerged{}, err
	}
	return f.into(ctx, w, e.Agent, work.Head)
}

// mergeFar fetches the work of an agent on another host, and merges it. On a conflict it pushes the commit that the
// agent has to merge.
func (f *Files) mergeFar(ctx context.Context, agent string) (input.IsolationMerged, error) {
	w, head, _, err := f.bring(ctx, agent, "Work of "+agent)
	if err != nil {
		return input.IsolationMerged{}, err
	}
	m, err := f.into(ctx, w, agent, head)
	if err == nil && m.Status == input.StatusConflict {
		err = f.far.Give(ctx, f.repo, agent, m.Head)
	}
	return m, err
}

// into merges a commit into the run branch, or into the shared files.
func (f *Files) into(ctx context.Context, w workspace.Worktree, agent, head string) (input.IsolationMerged, error) {
	into := f.intoBranch
	if !f.Workspace.Isolated() {
		into = f.intoShared
	}
	for range attempts {
		m, err := into(ctx, w, agent, head)
		if !errors.Is(err, workspace.ErrMoved) {
			return m, err
		}
	}
	return input.IsolationMerged{}, errors.New("other processes change the same files all the time: end them")
}

// intoBranch merges a commit into the run branch.
func (f *Files) intoBranch(
	ctx context.Context,
	w workspace.Worktree,
	agent, head string,
) (input.IsolationMerged, error) {
	r, err := workspace.MergeInto(ctx, f.repo, f.main(), head, "Merge the work of "+agent)
	if err != nil {
		return input.IsolationMerged{}, err
	}
	if r.Status == workspace.MergeConflict {
		return input.IsolationMerged{Status: input.StatusConflict, Head: r.Head, Files: r.Files}, nil
	}
	if err := f.read(ctx, r.Head); err != nil {
		return input.IsolationMerged{}, err
	}
	if r.Status == workspace.MergeNothing { // perhaps merged by a killed call
		if r.Before, err = f.beforeMerge(ctx, w, head); err != nil {
			return input.IsolationMerged{}, err
		}
	}
	return f.merged(ctx, r.Before, r.Head)
}

// beforeMerge returns the commit of the run branch before the last merge of a commit.
func (f *Files) beforeMerge(ctx context.Context, w workspace.Worktree, head string) (string, error) {
	found, err := f.repo.Commits(ctx, f.main(), f.main()+"^1", f.main()+"^2")
	switch {
	case err != nil:
		return "", err
	case found[2].ID == head:
		return found[1].ID, nil
	case found[0].ID == head:
		return w.Base, nil
	}
	return found[0].ID, nil
}

func (f *Files) merged(ctx context.Context, before, after string) (input.IsolationMerged, error) {
	m := input.IsolationMerged{Status: input.StatusMerged, Head: after, Files: []string{}}
	delta, err := f.repo.Delta(ctx, before, after)
	for _, c := range delta {
		m.Files = append(m.Files, c.Path)
	}
	return m, err
}

// Names of commits that record what an agent's directory and the shared files have of each other.
const (
	synced  = "/synced"  // commit of the agent that the shared files have
	offered = "/offered" // snapshot of the shared files that the agent was asked to merge
)

// mergeBase returns the merge base for merging the work of a directory into the shared files: the last state of
// these files that the directory is known to have.
func (f *Files) mergeBase(ctx context.Context, w workspace.Worktree, agent, head string) (string, error) {
	found, err := f.repo.Commits(ctx, f.repo.Ref(agent+offered), f.repo.Ref(agent+synced))
	if err != nil {
		return "", err
	}
	for _, c := range found {
		if c.ID == "" {
			continue
		}
		has, err := workspace.Contains(ctx, f.repo, head, c.ID)
		if err != nil {
			return "", err
		}
		if has {
			return c.ID, nil
		}
	}
	return w.Base, nil
}

// intoShared merges a commit into the files that the others share, without committing there. Snapshots are not
// descendants of each other, so the merge base is the snapshot that the directory is known to have.
func (f *Files) intoShared(
	ctx context.Context,
	w workspace.Worktree,
	agent, head string,
) (input.IsolationMerged, error) {
	base, err := f.mergeBase(ctx, w, agent, head)
	if err != nil {
		return input.IsolationMerged{}, err
	}
	now, err := f.repo.Again(ctx, workspace.End)
	if err != nil {
		return input.IsolationMerged{}, err
	}
	tree, conflicts, err := workspace.TreesOver(ctx, f.repo, base, now.Commit.ID, head)
	if err != nil {
		return input.IsolationMerged{}, err
	}
	if len(conflicts) > 0 {
		err := f.keep(ctx, agent+offered, now.Commit.ID)
		return input.IsolationMerged{Status: input.StatusConflict, Head: now.Commit.ID, Files: conflicts}, err
	}
	if err := f.apply(ctx, now.Commit.ID, tree); err != nil {
		return input.IsolationMerged{}, err
	}
	for _, name := range []string{agent + synced, agent + offered} {
		if err := f.keep(ctx, name, head); err != nil {
			return input.IsolationMerged{}, err
		}
	}
	m, err := f.merged(ctx, now.Commit.ID, tree)
	m.Head = head
	return m, err
}

// apply changes the shared files from a snapshot to a tree. If a file was changed in the meantime, it fails with
// [workspace.ErrMoved]; a later snapshot then has the files that were already written.
func (f *Files) apply(ctx context.Context, from, to string) error {
	repo, unlock, err := f.repo.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	plan, err := workspace.PrepareApply(ctx, repo, from, to, nil)
	if err != nil {
		return err
	}
	if len(plan.Blocked) > 0 {
		return workspace.ErrMoved
	}
	late, err := plan.Run(ctx)
	if err == nil && len(late) > 0 {
		err = workspace.ErrMoved
	}
	return err
}
