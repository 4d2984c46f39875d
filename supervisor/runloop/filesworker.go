package runloop

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Files is what the loop needs for the files of a run: snapshots, directories of agents, merges. Several
// workers call it at once. A call returns when the context ends; a call that is repeated after a crash has the
// same result.
type Files interface {
	Record(ctx context.Context, r input.ChangeRecord) input.ChangeRecorded
	Revert(ctx context.Context, r input.Revert) input.ChangeReverted
	// Place returns the directory of an agent, and variables that the agent needs there.
	Place(ctx context.Context, p runconfig.Place) (own runconfig.Worktree, env map[string]string, err error)
	Merge(ctx context.Context, m input.IsolationMerge) input.IsolationMerged
}

// Deadlines for work trees of many gigabytes.
const (
	snapshotDeadline = 10 * time.Minute
	placeDeadline    = 10 * time.Minute
	mergeDeadline    = 10 * time.Minute
)

// Files sets the port that records and merges; nil by default. Call it before [Loop.Run].
func (l *Loop) Files(f Files) { l.files = f }

// errNoFiles is the error of a run that works without Git.
var errNoFiles = errors.New("this run works without Git")

// recordFiles takes a snapshot of the files.
func (l *Loop) recordFiles(ctx context.Context, e input.ChangeRecord) {
	taken := input.ChangeRecorded{Serial: e.Serial, Failed: errNoFiles.Error()}
	if l.files != nil {
		crashpoint.Here("loop.snapshot")
		taken = l.files.Record(ctx, e)
		crashpoint.Here("loop.snapshot.taken")
	}
	l.Put(input.SnapshotTaken(taken))
}

// revert reverts a change of the files.
func (l *Loop) revert(ctx context.Context, e input.Revert) {
	done := input.ChangeReverted{Serial: e.Serial, Refused: errNoFiles.Error()}
	if l.files != nil {
		done = l.files.Revert(ctx, e)
	}
	l.Put(input.Reverted(done))
}

// place creates the directory of an agent that has its own one, and adds to the agent's environment what it
// needs there.
func (l *Loop) place(ctx context.Context, p runconfig.Place, c *bridge.AgentConfig) (runconfig.Worktree, error) {
	if p.Agent == "" {
		return runconfig.Worktree{}, nil
	}
	if l.files == nil {
		return runconfig.Worktree{}, errNoFiles
	}
	ctx, cancel := context.WithTimeout(ctx, placeDeadline)
	defer cancel()
	crashpoint.Here("loop.place")
	own, env, err := l.files.Place(ctx, p)
	crashpoint.Here("loop.placed")
	if len(env) > 0 {
		maps.Copy(env, c.Env) // variables that the human set take precedence
		c.Env = env
	}
	return own, err
}

// merge merges the work of an agent.
func (l *Loop) merge(ctx context.Context, e input.IsolationMerge) {
	m := input.IsolationMerged{Serial: e.Serial, Failed: errNoFiles.Error()}
	if l.files != nil {
		crashpoint.Here("loop.merge")
		m = l.files.Merge(ctx, e)
		crashpoint.Here("loop.merged")
	}
	l.Put(input.Merged(m))
}
