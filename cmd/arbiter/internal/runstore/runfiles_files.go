package runstore

// This part of the package carries out the supervisor's effects on files with Git: it records the files of a
// run, gives agents their own directories, and merges their work.
//
// It connects [workspace] and its packages, which know Git but not agents, with the supervisor's parts [changes]
// and [isolation], which compute these effects.

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Files are the files of one run. It has no state besides Git's, and is safe for concurrent use.
type Files struct {
	Workspace   runconfig.Workspace
	Uncommitted int // user's files that differ from HEAD, which isolated agents do not see. New runs only

	// Notice says what of the repository's own configuration does not run; empty if there is nothing.
	Notice string

	repo *workspace.Repo
	far  FarFiles // nil: no agent works on another host
}

// BeginFiles takes the first snapshot of a new run, and creates the run branch if the run is isolated. own is the
// parent of the agents' own directories; its parent exists. Errors are those of [workspace.Open]: without Git, or
// without a commit, there are neither snapshots nor isolation.
func BeginFiles(ctx context.Context, o workspace.Options, own, isolation string) (*Files, error) {
	f, err := open(ctx, o, own, isolation)
	if err != nil {
		return nil, err
	}
	began := make(chan error, 1)
	go func() { began <- f.repo.Begin(ctx) }()
	base, err := f.repo.Once(ctx, workspace.Base)
	if err = errors.Join(err, <-began); err != nil {
		return nil, fmt.Errorf("the files could not be recorded, so there are no diffs: %w", err)
	}
	f.Workspace.Base = base.Commit.ID
	if !f.Workspace.Isolated() {
		return f, nil
	}
	uncommitted, err := f.repo.Delta(ctx, base.Head, base.Commit.ID)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(uncommitted))
	for i, c := range uncommitted {
		paths[i] = c.Path
	}
	unfiltered, err := f.repo.Unfiltered(ctx, paths) // they differ because no filter has run
	if err != nil {
		return nil, err
	}
	f.Uncommitted = len(uncommitted) - len(unfiltered)
	branch, err := f.repo.Commit(ctx, f.main())
	if err != nil || branch.ID != "" {
		return f, err
	}
	return f, f.repo.Move(ctx, "arbiter: created", workspace.Update{Ref: f.main(), New: base.Head})
}

// ResumeFiles finds the first snapshot, which an earlier process of the run took. Error: [workspace.ErrNoSnapshot] if
// there is none.
func ResumeFiles(ctx context.Context, o workspace.Options, own, isolation string) (*Files, error) {
	f, err := open(ctx, o, own, isolation)
	if err != nil {
		return nil, err
	}
	base, err := f.repo.Find(ctx, workspace.Base)
	if err != nil {
		return nil, err
	}
	if base.Commit.ID == "" {
		return nil, workspace.ErrNoSnapshot
	}
	f.Workspace.Base = base.Commit.ID
	return f, nil
}

// FilesLeft opens the files of a run that is over, to remove what it left. Errors are those of [workspace.Open].
func FilesLeft(ctx context.Context, o workspace.Options, own string) (*Files, error) {
	return open(ctx, o, own, "")
}

func open(ctx context.Context, o workspace.Options, own, isolation string) (*Files, error) {
	repo, err := workspace.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(own))
	if err != nil {
		return nil, err
	}
	return &Files{repo: repo, Notice: repo.Notice(), Workspace: runconfig.Workspace{
		Root: repo.Root, Prefix: repo.Prefix, Objects: filepath.Join(repo.CommonDir, "objects"),
		Own: filepath.Join(parent, filepath.Base(own)), Isolation: isolation,
	}}, nil
}

// Planted returns a warning about what git would run or use, and was not there when the run began; empty if there is
// nothing.
func (f *Files) Planted(ctx context.Context) (string, error) { return f.repo.Planted(ctx) }

// main returns the run branch.
func (f *Files) main() string { return f.repo.Branch(workspace.Main) }
