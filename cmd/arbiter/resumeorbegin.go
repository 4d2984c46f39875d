package main

import (
	"errors"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// resumeOrBegin makes c resume the latest run of the directory if there is one. That run has got the task already, so
// it
// does not get it again; if it is complete, it tells its result again.
func resumeOrBegin(c *settings.Choices) error {
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return command.StateDirProblem(err)
	}
	defer store.Close()
	info, err := store.Latest(c.Place, reachedAgent)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return command.Environmentf("find the latest run: %v", err)
	}
	c.Resume, c.Session, c.Options.Task = true, info.Run, ""
	return nil
}
