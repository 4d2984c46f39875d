package main

import (
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// lockWorkspace keeps out runs of other state directories, and this run's of a copy of this
// one. On an error the run is closed.
func (r *runtimeRun) lockWorkspace(dir string) error {
	if r.choices.Share {
		return nil
	}
	var err error
	r.workspace, err = journal.LockWorkspace(dir)
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		who := "a process that the system does not name"
		if held.PID != 0 {
			who = fmt.Sprintf("process %d", held.PID)
		}
		r.close()
		return command.Usagef("another run, of another state directory, already works in %s (%s): wait for its end, use "+
			"another directory (--cwd), or add --share-workspace", dir, who)
	case errors.Is(err, journal.ErrNoDirLock):
		r.tellOf("%s cannot be locked, so that runs of other state directories are not kept out of it: %v", dir, err)
	case err != nil:
		r.close()
		return command.Environmentf("%v", err)
	}
	return nil
}
