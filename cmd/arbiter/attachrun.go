package main

import (
	"regexp"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// agentID is what the id of an agent looks like; anything else that arbiter attach is given names a run.
var agentID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(arbiter|orch-\d+)$`)
})

// attachRun opens the screen of a live run: of the one that is named, or of the one of this directory.
func (e env) attachRun(c *cli.Context, named string) error {
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	info, err := runstore.FindLive(store, named)
	_ = store.Close() // a directory that was read
	if err != nil {
		return err
	}
	args := []string{"arbiter", "--session", info.Run}
	if dir := c.String("state-dir"); dir != "" {
		args = append(args, "--state-dir", dir)
	}
	return e.app().RunContext(c.Context, args)
}

// liveHere finds the live run of the directory, which a screen without a task of its own shows.
func liveHere(c settings.Choices) (run string, live bool) {
	if c.Resume || c.Rehearse || c.Options.Task != "" {
		return "", false
	}
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return "", false // beginning a run says why
	}
	defer store.Close()
	info, err := store.Latest(c.Place, func(i journal.Info) bool { return store.Player(i.Run) != 0 })
	return info.Run, err == nil
}
