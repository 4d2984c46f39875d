package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// firstSnapshotTimeout bounds the first snapshot, for which the agents wait. A work tree of gigabytes that Git has
// not seen before takes about a minute.
const firstSnapshotTimeout = 5 * time.Minute

// removeTimeout bounds the removal of directories that a run no longer needs.
const removeTimeout = 2 * time.Minute

// recording has the Git records of a run's files, and the Orchestrators' own directories. The zero value records
// nothing.
type recording struct {
	run      workspaces.Options
	dir      string                       // of the run
	resumed  bool                         // an earlier process has taken the first snapshot
	sandbox  func() *bridge.SandboxConfig // the agents' sandbox, in which Git works, too; returns nil without one
	files    *runstore.Files              // nil without Git
	leftover []string                     // messages about agents' directories at the end of the run
}

// checkIsolation returns an error if the Orchestrators cannot get the requested directories.
func checkIsolation(ctx context.Context, o runconfig.Options) error {
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

// open takes the first snapshot, or finds the one of an earlier process. If the agents may have a sandbox, Git
// works in it, so open must be called when the sandbox is known.
func (r *recording) open(ctx context.Context, isolation string, confined bool) (*runstore.Files, error) {
	ctx, cancel := context.WithTimeout(ctx, firstSnapshotTimeout)
	defer cancel()
	o := r.run
	o.Scratch, o.Began = r.scratch(), filepath.Join(r.dir, workspaces.BeganName)
	if confined {
		o.Confine = r.confineGit
	}
	if r.resumed {
		if err := runstore.PlaceFork(ctx, o, r.ownDirs(), isolation); err != nil {
			return nil, err
		}
		return runstore.ResumeFiles(ctx, o, r.ownDirs(), isolation)
	}
	return runstore.BeginFiles(ctx, o, r.ownDirs(), isolation)
}

// ownDirs returns the parent of the Orchestrators' own directories.
func (r *recording) ownDirs() string { return filepath.Join(r.dir, journal.WorkName) }

// scratch returns the directory for Git's temporary index. In a sandbox, only Git sees it.
func (r *recording) scratch() string { return filepath.Join(r.dir, "scratch") }

// confineGit puts a Git process of Arbiter into the sandbox of the agents, if they have one, because they may have
// written the filters and nested repositories of the workspace.
func (r *recording) confineGit(cmd *exec.Cmd) error {
	agents := r.sandbox()
	if agents == nil {
		return nil
	}
	if err := os.MkdirAll(r.scratch(), 0o700); err != nil { // a sandbox shows only existing directories
		return err
	}
	cfg := *agents
	cfg.Write = append(slices.Clone(cfg.Write), r.scratch())
	// Git in the user's repository creates the directories of agents. In such a directory, Git can write that
	// directory only.
	own := r.ownDirs()
	real, err := filepath.EvalSymlinks(own)
	switch {
	case err != nil: // they do not exist yet
	case runconfig.Relative(real, cmd.Dir) == "":
		cfg.Write = append(cfg.Write, own)
	default:
		cfg.Reach = append(slices.Clone(cfg.Reach), cmd.Dir)
		dir := proctree.EnvLookup(cmd.Env, "GIT_DIR")
		if dir != "" && runconfig.Relative(real, dir) == "" { // its files are recorded in the user's repository
			cfg.Write = append(cfg.Write, dir)
		} else if r.files != nil { // this is the case when an agent gets a directory
			cfg.Read = append(slices.Clone(cfg.Read), r.files.Workspace.Objects)
		}
	}
	return sandbox.Wrap(cmd, &cfg)
}

// lookForPlanted adds a message if agents have left something that git would run or use.
func (r *recording) lookForPlanted() {
	if r.files == nil {
		return
	}
	if text := r.files.Planted(context.Background()); text != "" {
		r.leftover = append(r.leftover, text)
	}
}

// remove removes the directories of a complete run: its work is on the run branch, and other work is saved. A run
// that can continue keeps them.
func (r *recording) remove(others *Bridges) {
	if r.files == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	r.leftover = append(r.leftover, others.RemoveDirs(ctx, r.files)...)
	if _, err := os.Lstat(r.files.Workspace.Own); err != nil {
		return // there were none here
	}
	messages, err := r.files.Remove(ctx)
	if err != nil {
		messages = append(messages, fmt.Sprintf("directories of agents were left in %s: %v", r.files.Workspace.Own, err))
	}
	r.leftover = append(r.leftover, messages...)
}

// noSnapshots returns why no files are recorded.
func noSnapshots(err error) string {
	if errors.Is(err, workspaces.ErrNoSnapshot) {
		return "the run's first snapshot is gone: diffs, undo and merges no longer work for it"
	}
	return err.Error()
}

// recordFiles starts recording the workspace's files. If possible, the first snapshot is taken while the bridge
// starts. The returned function waits for the snapshot, and sets up the loop to take the others. A rehearsal is
// recorded if its scenario brings files.
func (r *hostedRun) recordFiles(ctx context.Context) (wait func(*runloop.Loop) error) {
	o := &r.choices.Options
	was, isolation := o.Workspace, o.Workspace.Isolation
	o.Workspace = runconfig.Workspace{}
	unrecorded := o.Rehearsal && (r.stage == nil || !r.stage.Repository)
	if unrecorded || r.resumed != nil && !r.resumed.Options.Workspace.Enabled() {
		return func(*runloop.Loop) error { return nil }
	}
	r.files = recording{run: workspaces.Options{Dir: o.CWD, Run: o.Run}, dir: r.storage.journal.Dir(),
		resumed: r.resumed != nil, sandbox: func() *bridge.SandboxConfig {
			o := r.loop.Snapshot().Options
			if o.Run == "" { // the run has not started
				o = r.options()
			}
			return o.Sandbox
		}}
	begin := func() (*runstore.Files, error) { return r.files.open(ctx, isolation, true) }
	if r.choices.Sandbox.Mode == settings.SandboxOff { // otherwise it is known only after the bridge has started
		type opened struct {
			files *runstore.Files
			err   error
		}
		taken := make(chan opened, 1)
		go func() {
			files, err := r.files.open(ctx, isolation, false)
			taken <- opened{files, err}
		}()
		begin = func() (*runstore.Files, error) { o := <-taken; return o.files, o.err }
	}
	return func(loop *runloop.Loop) error {
		files, err := begin()
		if err == nil {
			r.files.files = files // git makes directories where the sandbox shows these files
			err = files.PlaceWork(ctx)
		}
		if err != nil && isolation != "" && isolation != runconfig.IsolationShared {
			o.Workspace = was // the next process must not continue in the user's files
			return fmt.Errorf("isolation %s: %s", isolation, noSnapshots(err))
		}
		if err != nil {
			r.notice.add("%s", noSnapshots(err))
			return nil
		}
		if n := files.Uncommitted; n > 0 {
			r.notice.add("%s with uncommitted changes: the Orchestrators' worktrees begin with the last commit, "+
				"without them", words.Count(n, "file"))
		}
		if files.Notice != "" {
			r.notice.add("%s", files.Notice)
		}
		o.Workspace = files.Workspace
		files.Reach(r.bridges.others.Work())
		loop.Files(files)
		return nil
	}
}

// receiptTimeout bounds how long a person waits for the receipt of a run. For a long run, reading the record takes
// longer: arbiter report prints it.
const receiptTimeout = 2 * time.Second

// receipt returns the lines for a person at the end of a run; the last one is next, the command that continues.
// With --json, or if the record of the run cannot be read in time, the receipt itself is left out.
func (r *hostedRun) receipt(next string) []string {
	alone := append(slices.Clone(r.files.leftover), next)
	if r.choices.JSON {
		return alone
	}
	store, info, err := runstore.FindIn(r.choices.StateDir, r.choices.Options.Run)
	if err != nil {
		return alone
	}
	defer store.Close()
	info.Live = false // the run is over, though its processes may still be ending
	ctx, cancel := context.WithTimeout(context.Background(), receiptTimeout)
	defer cancel()
	report, _, err := runstore.PastReport(ctx, store, info)
	if err != nil {
		return alone
	}
	return append(slices.Clone(r.files.leftover), report.Receipt(next)...)
}
