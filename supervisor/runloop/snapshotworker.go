package runloop

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Recorder takes snapshots of the run's files. It is called by one worker at a time, and returns when the context ends.
type Recorder func(ctx context.Context, r changes.Record) changes.Recorded

// snapshotDeadline is for the first look at a work tree of many gigabytes.
const snapshotDeadline = 10 * time.Minute

// Snapshots sets who takes them; nobody by default. Call it before [Loop.Run].
func (l *Loop) Snapshots(r Recorder) { l.recorder = r }

// recordFiles takes a snapshot of the files.
func (l *Loop) recordFiles(ctx context.Context, e changes.Record) {
	taken := changes.Recorded{Serial: e.Serial, Failed: "this run records no files"}
	if l.recorder != nil {
		crashpoint.Here("loop.snapshot")
		taken = l.recorder(ctx, e)
		crashpoint.Here("loop.snapshot.taken")
	}
	l.Put(input.SnapshotTaken(taken))
}
