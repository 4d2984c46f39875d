package transcript

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// SubagentDir is where a session's subagents keep their transcripts. The CLI
// creates it with the first of them.
func SubagentDir(path string) string { return filepath.Join(Beside(path), "subagents") }

// IsSubagentFile says whether a name in that directory is a subagent's
// transcript (observed with CLI 2.1.329: agent-<id>.jsonl beside an
// agent-<id>.meta.json).
func IsSubagentFile(name string) bool {
	return strings.HasPrefix(name, "agent-") && strings.HasSuffix(name, extension)
}

// DirFollower tells of the files in a directory, now and as they come. The
// directory need not exist yet, and may be removed and created again. Each name is
// told once: what becomes of a file afterwards is for a [Follower] to see.
//
// As with a Follower, fields are set before Run and callbacks are called by Run's
// goroutine.
type DirFollower struct {
	Dir   string
	Waker Waker
	// Match chooses names; nil: all. Directories are never told of.
	Match func(name string) bool
	// OnFile gets the path of each file, those found together in the order of their names.
	OnFile func(path string)
	// OnTrouble, if set, is told why the directory cannot be read, once for each
	// reason, and nil when that is over. That it does not exist is no trouble.
	OnTrouble func(error)
}

// Run follows the directory until ctx ends, whose error it returns.
func (d *DirFollower) Run(ctx context.Context) error {
	wake := d.Waker.Wake()
	told := map[string]bool{}
	trouble := ""
	for {
		reason := ""
		err := d.look(ctx, told)
		if err != nil {
			reason = err.Error()
		}
		if reason != trouble && d.OnTrouble != nil {
			d.OnTrouble(err)
		}
		trouble = reason
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
	}
}

func (d *DirFollower) look(ctx context.Context, told map[string]bool) error {
	entries, err := os.ReadDir(d.Dir)
	for _, e := range entries { // also those before the error
		name := e.Name()
		if ctx.Err() != nil {
			return nil
		}
		if told[name] || e.IsDir() || d.Match != nil && !d.Match(name) {
			continue
		}
		told[name] = true
		d.OnFile(filepath.Join(d.Dir, name))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("follow directory: %w", err)
	}
	return nil
}
