package runhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/childenv"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runfiles"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runwork"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// firstSnapshotTimeout bounds the first snapshot, which the agents wait for. A work tree of gigabytes that Git does not
// know yet takes about a minute.
const firstSnapshotTimeout = 5 * time.Minute

// checkIsolation refuses a run whose Orchestrators cannot have the directories that were asked for.
func (r *runtimeRun) checkIsolation(ctx context.Context) error {
	o := r.choices.Options
	if !o.Workspace.Isolated() {
		return nil
	}
	_, err := workspaces.Open(ctx, workspaces.Options{Dir: o.CWD, Run: o.Run})
	if err != nil {
		return command.Environmentf("--isolation %s: %v; or use --isolation %s", o.Workspace.Isolation, err,
			runconfig.IsolationShared)
	}
	return nil
}

// recordFiles begins to record the workspace's files: the first snapshot is taken while the bridge starts. The function
// that it returns waits for it, and has the loop take the others. A rehearsal is recorded if its scenario brings files.
func (r *runtimeRun) recordFiles(ctx context.Context) (wait func(*runloop.Loop) error) {
	o := &r.choices.Options
	isolation := o.Workspace.Isolation
	o.Workspace = runconfig.Workspace{}
	unrecorded := o.Rehearsal && (r.stage == nil || !r.stage.Repository)
	if unrecorded || r.resumed != nil && !r.resumed.Options.Workspace.Enabled() {
		return func(*runloop.Loop) error { return nil }
	}
	options := workspaces.Options{Dir: o.CWD, Run: o.Run, Scratch: r.snapshotScratch()}
	begin := func() (*runfiles.Files, error) { return r.openFiles(ctx, options, isolation) }
	if r.choices.Sandbox.Mode != settings.SandboxOff { // it is known when the bridge has been started
		options.Confine = r.confineGit
	} else {
		type opened struct {
			files *runfiles.Files
			err   error
		}
		taken := make(chan opened, 1)
		go func() {
			files, err := r.openFiles(ctx, options, isolation)
			taken <- opened{files, err}
		}()
		begin = func() (*runfiles.Files, error) { o := <-taken; return o.files, o.err }
	}
	return func(loop *runloop.Loop) error {
		files, err := begin()
		if err != nil && isolation != "" && isolation != runconfig.IsolationShared {
			return fmt.Errorf("isolation %s: %s", isolation, noSnapshots(err))
		}
		if err != nil {
			r.tellOf("%s", noSnapshots(err))
			return nil
		}
		if n := files.Uncommitted; n > 0 {
			r.tellOf("%s with uncommitted changes: the Orchestrators' worktrees begin with the last commit, "+
				"without them", words.Count(n, "file"))
		}
		r.files, o.Workspace = files, files.Workspace
		files.Reach(hostWork{r})
		loop.Files(files)
		return nil
	}
}

// openFiles takes the first snapshot, or finds that of an earlier process.
func (r *runtimeRun) openFiles(
	ctx context.Context, o workspaces.Options, isolation string,
) (*runfiles.Files, error) {
	ctx, cancel := context.WithTimeout(ctx, firstSnapshotTimeout)
	defer cancel()
	if r.resumed != nil {
		return runfiles.Resume(ctx, o, r.ownDirs(), isolation)
	}
	return runfiles.Begin(ctx, o, r.ownDirs(), isolation)
}

// ownDirs is where Orchestrators get directories of their own.
func (r *runtimeRun) ownDirs() string { return filepath.Join(r.journal.Dir(), journal.WorkName) }

// RemoveLeft removes the directories of agents that a run has left which is over, and reports what happens to work in
// them.
func RemoveLeft(ctx context.Context, store *runstore.Runs, info journal.Info) (said []string, err error) {
	left, err := store.HasWork(info.Run)
	if err != nil || !left {
		return nil, err
	}
	own := filepath.Join(store.Dir(info.Run), journal.WorkName)
	files, err := runfiles.Left(ctx, workspaces.Options{Dir: runwork.WorkDir(info), Run: info.Run}, own)
	if err == nil {
		said, err = files.Remove(ctx)
	}
	if err == nil {
		left, err = store.HasWork(info.Run)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("work in %s cannot be saved (%w): take out what you need, and remove that directory", own, err)
	case left:
		err = fmt.Errorf("%s; then remove %s", strings.Join(said, "; "), own)
	}
	return said, err
}

// removeTimeout bounds the removal of directories that a run does not need any more.
const removeTimeout = 2 * time.Minute

// removeDirs removes the directories of a run that is complete: its work is on the run branch, and what is not is
// saved. A run that can continue keeps them.
func (r *runtimeRun) removeDirs(exit contract.Exit) {
	if r.files == nil || exit != contract.ExitComplete {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	r.leftover = r.removeOnHosts(ctx)
	if _, err := os.Lstat(r.files.Workspace.Own); err != nil {
		return // there were none here
	}
	said, err := r.files.Remove(ctx)
	if err != nil {
		said = append(said, fmt.Sprintf("directories of agents were left in %s: %v", r.files.Workspace.Own, err))
	}
	r.leftover = append(r.leftover, said...)
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
	if err := os.MkdirAll(r.snapshotScratch(), 0o700); err != nil { // a sandbox shows only what is there
		return err
	}
	cfg := *o.Sandbox
	cfg.Write = append(slices.Clone(cfg.Write), r.snapshotScratch())
	// Git that works in the user's repository creates the directories of agents. In such a directory it has that alone.
	own := r.ownDirs()
	real, err := filepath.EvalSymlinks(own)
	switch {
	case err != nil: // there are none yet
	case runconfig.Relative(real, cmd.Dir) == "":
		cfg.Write = append(cfg.Write, own)
	default:
		cfg.Reach = append(slices.Clone(cfg.Reach), cmd.Dir)
		if dir := childenv.Lookup(cmd.Env, "GIT_DIR"); dir != "" { // its files are recorded in the user's repository
			cfg.Write = append(cfg.Write, dir)
		} else if r.files != nil { // it is, when an agent gets a directory
			cfg.Read = append(slices.Clone(cfg.Read), r.files.Workspace.Objects)
		}
	}
	return sandbox.Wrap(cmd, &cfg)
}
