// Package snapshots records the files of a run as Git commits, for the supervisor.
//
// It joins [workspace], which records and compares, with the supervisor's part [changes], which asks for snapshots and
// knows what their differences mean.
package snapshots

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Recorder records the files of one run. It is safe for use by one goroutine at a time.
type Recorder struct{ repo *workspace.Repo }

// Begin takes the first snapshot of a new run. Errors are those of [workspace.Open]: without Git, or without a commit,
// there are no snapshots.
func Begin(ctx context.Context, o workspace.Options) (*Recorder, runconfig.Workspace, error) {
	repo, err := workspace.Open(ctx, o)
	if err != nil {
		return nil, runconfig.Workspace{}, err
	}
	base, err := repo.Once(ctx, workspace.Base)
	if err != nil {
		return nil, runconfig.Workspace{}, fmt.Errorf("the files could not be recorded, so there are no diffs: %w", err)
	}
	return &Recorder{repo}, runconfig.Workspace{Root: repo.Root, Base: base.Commit.ID}, nil
}

// Resume finds the first snapshot of an earlier process of the run. Error: [workspace.ErrNoSnapshot] if it took none.
func Resume(ctx context.Context, o workspace.Options) (*Recorder, runconfig.Workspace, error) {
	repo, err := workspace.Open(ctx, o)
	if err != nil {
		return nil, runconfig.Workspace{}, err
	}
	base, err := repo.Find(ctx, workspace.Base)
	if err != nil {
		return nil, runconfig.Workspace{}, err
	}
	if base.Commit.ID == "" {
		return nil, runconfig.Workspace{}, workspace.ErrNoSnapshot
	}
	return &Recorder{repo}, runconfig.Workspace{Root: repo.Root, Base: base.Commit.ID}, nil
}

// Record takes a snapshot and compares it. A snapshot that an earlier process was asked for is taken anew.
func (r *Recorder) Record(ctx context.Context, e changes.Record) changes.Recorded {
	taken := changes.Recorded{Serial: e.Serial}
	err := r.record(ctx, e, &taken)
	if err != nil {
		return changes.Recorded{Serial: e.Serial, Failed: err.Error()}
	}
	return taken
}

func (r *Recorder) record(ctx context.Context, e changes.Record, taken *changes.Recorded) error {
	end, err := r.repo.Again(ctx, workspace.End)
	if errors.Is(err, workspace.ErrMoved) { // by a process of this run that was killed, and whose git was not yet
		end, err = r.repo.Again(ctx, workspace.End)
	}
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree = end.Commit.ID, end.Commit.Tree
	if e.Keep != "" {
		err := r.keep(ctx, e.Keep, end.Commit.ID)
		if err != nil {
			return err
		}
	}
	if e.Tree {
		return nil
	}
	if e.Final {
		taken.Total, err = r.total(ctx, e.Base, end.Commit.ID)
		return err
	}
	paths, err := r.repo.Delta(ctx, r.known(ctx, e.Last, e.Base), end.Commit.ID)
	if err != nil {
		return err
	}
	for _, c := range paths[:min(len(paths), changes.MaxPaths)] {
		taken.Paths = append(taken.Paths, c.Path)
	}
	files, err := r.repo.Changes(ctx, r.known(ctx, e.Since, e.Base), end.Commit.ID)
	if err != nil {
		return err
	}
	for _, c := range files[:min(len(files), changes.MaxPaths)] {
		taken.Files = append(taken.Files, contract.FileChange{
			Path: c.Path, Old: c.Old, Status: string(c.Status), Added: c.Added, Deleted: c.Deleted,
		})
	}
	return nil
}

// keep gives a snapshot a further name.
func (r *Recorder) keep(ctx context.Context, name, commit string) error {
	old, err := r.repo.Find(ctx, name)
	if err != nil {
		return err
	}
	return r.repo.Move(ctx, "arbiter: snapshot", workspace.Update{Ref: r.repo.Ref(name), Old: old.Commit.ID, New: commit})
}

// known is a commit, or another in its place if it is there no more: snapshots that no reference names are removed by
// Git in time.
func (r *Recorder) known(ctx context.Context, commit, instead string) string {
	found, err := r.repo.Commit(ctx, commit)
	if err != nil || found.ID == "" {
		return instead
	}
	return commit
}

func (r *Recorder) total(ctx context.Context, base, end string) (*contract.ResultChanges, error) {
	files, err := r.repo.Changes(ctx, base, end)
	if err != nil {
		return nil, err
	}
	t := &contract.ResultChanges{Files: len(files), Head: end}
	for _, c := range files {
		t.Added += c.Added
		t.Deleted += c.Deleted
	}
	return t, nil
}
