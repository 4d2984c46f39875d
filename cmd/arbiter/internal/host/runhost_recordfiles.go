package host

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

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
