package runstore

// This file records in the directory of a run which process its bridge is. `arbiter halt` uses the note to
// stop the agents when the host process of the run does not answer.

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
	// noteName is the file in a run's directory that identifies the process of its bridge. haltName is the file
	// that says that `arbiter halt` has killed the bridge and that no other must be started.
	noteName = "bridge.json"
	haltName = "halted"

	endTime = 3 * time.Second // time for a killed bridge to end
)

// BridgeNote identifies the process of a bridge uniquely, also after its PID was reused.
type BridgeNote struct {
	Run   string        `json:"run"`
	PID   int           `json:"pid"`
	Start uint64        `json:"start"`           // [BridgeNote.Write] sets it
	Hosts []string      `json:"hosts,omitempty"` // hosts where agents may run, too
	Lease time.Duration `json:"lease,omitempty"` // of the bridges on those hosts
}

// Write writes the note in the directory of its run.
func (n BridgeNote) Write(dir string) error {
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

// replace writes a small file into a directory of Arbiter atomically. It does not wait for the disk, because the
// disk may be the cause of the hang.
func replace(dir, name string, raw []byte) error {
	d, err := statedir.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.ReplaceUnsynced(name, raw)
}

// TakeHalted reports whether `arbiter halt` killed the bridge of the run in a directory, and removes the note of
// that.
func TakeHalted(dir string) bool { return os.Remove(filepath.Join(dir, haltName)) == nil }

// KillBridge kills the bridge of a run whose host process does not answer, and every process with the mark of the run.
// That includes the links to other hosts: the agents there end with the links. If the host process continues later,
// it does not start another bridge. left has the processes that are still alive.
func KillBridge(dir, run string) (note BridgeNote, killed int, left []proctree.Process, err error) {
	if err := replace(dir, haltName, nil); err != nil {
		return note, 0, nil, fmt.Errorf("write the bridge's note: %w", err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, noteName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = nil // no bridge was started
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
	killed += proctree.Sweep(run, "") // also if the note could not be read
	if left = proctree.Survivors(run); len(left) == 0 {
		err = nil
	}
	return note, killed, left, err
}

// endBridge ends the process that a note identifies.
func endBridge(note BridgeNote) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	return proctree.End(ctx, note.PID, note.Start)
}

// EndElsewhere says when the agents on other hosts end after [KillBridge]; "" if there are none.
func (n BridgeNote) EndElsewhere() string {
	if len(n.Hosts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Agents on %s end when they lose their connection, at the latest in %s.",
		strings.Join(n.Hosts, ", "), n.Lease+bridge.LeaseGrace)
}
