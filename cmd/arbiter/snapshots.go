package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/snapshots"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// firstSnapshotTimeout bounds the first snapshot, which the agents wait for. A work tree of gigabytes that Git does not
// know yet takes about a minute.
const firstSnapshotTimeout = 5 * time.Minute

// recordFiles begins to record the workspace's files: the first snapshot is taken while the bridge starts. The function
// that it returns waits for it, and has the loop take the others. A rehearsal's directory is thrown away.
func (r *runtimeRun) recordFiles(ctx context.Context) (wait func(*runloop.Loop)) {
	o := &r.choices.Options
	o.Workspace = runconfig.Workspace{}
	if o.Rehearsal || r.resumed != nil && !r.resumed.Options.Workspace.Enabled() {
		return func(*runloop.Loop) {}
	}
	options := workspaces.Options{Dir: o.CWD, Run: o.Run, Scratch: r.snapshotScratch()}
	first := r.firstSnapshot
	if r.choices.Sandbox.Mode != sandboxOff { // it is known when the bridge has been started
		options.Confine = r.confineGit
	} else {
		taken := make(chan firstSnapshot, 1)
		go func() { taken <- r.firstSnapshot(ctx, options) }()
		first = func(context.Context, workspaces.Options) firstSnapshot { return <-taken }
	}
	return func(loop *runloop.Loop) {
		f := first(ctx, options)
		if f.err != nil {
			r.tellOf("%s", noSnapshots(f.err))
			return
		}
		o.Workspace = f.where
		loop.Snapshots(f.recorder.Record)
	}
}

// firstSnapshot is how the recording of files began.
type firstSnapshot struct {
	recorder *snapshots.Recorder
	where    runconfig.Workspace
	err      error
}

// firstSnapshot takes the first snapshot, or finds that of an earlier process.
func (r *runtimeRun) firstSnapshot(ctx context.Context, o workspaces.Options) (f firstSnapshot) {
	ctx, cancel := context.WithTimeout(ctx, firstSnapshotTimeout)
	defer cancel()
	if r.resumed != nil {
		f.recorder, f.where, f.err = snapshots.Resume(ctx, o)
	} else {
		f.recorder, f.where, f.err = snapshots.Begin(ctx, o)
	}
	return f
}

// noSnapshots says why nothing is recorded.
func noSnapshots(err error) string {
	if errors.Is(err, workspaces.ErrNoSnapshot) {
		return "the run's first snapshot is gone: there are no diffs, undo and merges for it any more"
	}
	return err.Error()
}

// snapshotScratch is where Git keeps its temporary index. A sandbox shows it to Git alone.
func (r *runtimeRun) snapshotScratch() string { return filepath.Join(r.journal.Dir(), "scratch") }

// confineGit puts a Git process of Arbiter into the sandbox of the agents, if they have one: filters and nested
// repositories of the workspace may be theirs.
func (r *runtimeRun) confineGit(cmd *exec.Cmd) error {
	o := r.loop.Snapshot().Options
	if o.Run == "" { // the run has not begun
		o = r.choices.Options
	}
	if o.Sandbox == nil {
		return nil
	}
	cfg := *o.Sandbox
	cfg.Write = append(cfg.Write[:len(cfg.Write):len(cfg.Write)], r.snapshotScratch())
	return sandbox.Wrap(cmd, &cfg)
}
