package main

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// detach begins a run, or resumes one, and leaves it running. It prints one line on stdout: the run's id.
func (e env) detach(ctx context.Context, c settings.Choices) error {
	if c.Resume {
		info, err := toResume(c)
		if err != nil {
			return err
		}
		live := runPort{e, c.StateDir}.plays(ctx, info)
		if live && c.Options.Task != "" {
			return command.Usagef("run %s is live already: arbiter send gives it the message", command.ShortID(info.Run))
		}
		if live {
			fmt.Fprintf(e.Stderr, "arbiter: run %s is live already\n", command.ShortID(info.Run))
			fmt.Fprintln(e.Stdout, info.Run)
			return nil
		}
		c.Session = info.Run
	} else if c.Options.Task == "" && !c.Options.Rehearsal {
		return command.Usagef("there is no task: with --detach, give --task or a requirements file")
	}
	ctx, stop := command.Interruptible(ctx, false)
	defer stop()
	started, err := host.Detached(ctx, c)
	switch {
	case err != nil && ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return err
	}
	fmt.Fprint(e.Stderr, started.Notices)
	state := settings.StateForCommand(c.StateDir)
	fmt.Fprintf(e.Stderr, "arbiter: the run continues in the background: arbiter attach%s %s shows it, arbiter stop%[1]s "+
		"%[2]s ends it\n",
		state, command.ShortID(started.Run))
	fmt.Fprintln(e.Stdout, started.Run)
	return nil
}

// toResume finds the run that --resume or --session selects.
func toResume(c settings.Choices) (journal.Info, error) {
	store, err := runstore.OpenIn(c.StateDir)
	if err != nil {
		return journal.Info{}, err
	}
	defer store.Close()
	return runstore.ToResume(store.Store, c.Place, c.Session)
}
