package bridgenote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/statedir"
)

const (
	// noteName is the file in a run's directory that says which process its bridge is, haltName the one that says that
	// somebody outside has killed it, and that nothing is to be started in its place.
	noteName = "bridge.json"
	haltName = "halted"

	endTime = 3 * time.Second // that a bridge has to end when it is killed
)

// Note names the process of a bridge for good.
type Note struct {
	Run   string        `json:"run"`
	PID   int           `json:"pid"`
	Start uint64        `json:"start"`           // [Note.Write] sets it
	Hosts []string      `json:"hosts,omitempty"` // on which agents may live, too
	Lease time.Duration `json:"lease,omitempty"` // of their bridges
}

// Write writes the note in the directory of its run.
func (n Note) Write(dir string) error {
	line, err := proctree.Lineage(n.PID)
	if err != nil {
		return err
	}
	n.Start = line[0].Start
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replace(dir, noteName, raw)
}

// replace writes a small file in a directory of Arbiter, as a whole or not at all. It does not wait for the disk, which
// may be what hangs.
func replace(dir, name string, raw []byte) error {
	d, err := statedir.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.ReplaceUnsynced(name, raw)
}

// TakeHalted reports, once, whether the bridge of the run in a directory was killed by `arbiter halt`.
func TakeHalted(dir string) bool { return os.Remove(filepath.Join(dir, haltName)) == nil }

// Kill kills the bridge of a run whose host process does not answer, and whatever bears the mark of the run. That
// includes the links to other hosts: what runs there ends with them. If the host process goes on later, it starts
// nothing in the place of the bridge. left names the processes that are still alive.
func Kill(dir, run string) (note Note, killed int, left []proctree.Process, err error) {
	if err := replace(dir, haltName, nil); err != nil {
		return note, 0, nil, fmt.Errorf("leave a note: %w", err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, noteName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil // it has not begun one
	case err == nil:
		if err = json.Unmarshal(raw, &note); err == nil && note.Run == run {
			err = endBridge(note)
		}
	}
	if err == nil && note.PID != 0 {
		killed++
	}
	if errors.Is(err, proctree.ErrEnded) {
		err = nil
	}
	killed += proctree.Sweep(run, "") // also where the note was not to be read
	if left = proctree.Survivors(run); len(left) == 0 {
		err = nil
	}
	return note, killed, left, err
}

// endBridge ends the process that a note names.
func endBridge(note Note) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	return proctree.End(ctx, note.PID, note.Start)
}

// EndElsewhere says when the agents on other hosts end after [Kill]; "" if there are none.
func (n Note) EndElsewhere() string {
	if len(n.Hosts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Agents on %s end with their links, at the latest in %s.", strings.Join(n.Hosts, ", "),
		n.Lease+bridge.LeaseGrace)
}
