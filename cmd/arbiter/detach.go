package main

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// detach begins a run, or resumes one, and leaves it running. The only line on stdout is its id.
func (e env) detach(ctx context.Context, c choices) error {
	if c.Resume {
		info, err := e.toResume(c)
		if err != nil {
			return err
		}
		if info.Live && c.Options.Task != "" {
			return usagef("run %s is live already: arbiter send gives it the message", short(info.Run))
		}
		if info.Live {
			fmt.Fprintf(e.stderr, "arbiter: run %s is live already\n", short(info.Run))
			fmt.Fprintln(e.stdout, info.Run)
			return nil
		}
		c.Session = info.Run
	} else if c.Options.Task == "" && !c.Rehearse {
		return usagef("there is no task: with --detach, give --task or a requirements file")
	}
	ctx, stop := interruptible(ctx, false)
	defer stop()
	started, err := startDetached(ctx, c)
	if ctx.Err() != nil {
		return bySignal(ctx, "")
	}
	if err != nil {
		return err
	}
	fmt.Fprint(e.stderr, started.Notices)
	state := stateForCommand(c.StateDir)
	fmt.Fprintf(e.stderr, "arbiter: the run goes on: arbiter attach%s %s shows it, arbiter stop%[1]s %[2]s ends it\n",
		state, short(started.Run))
	fmt.Fprintln(e.stdout, started.Run)
	return nil
}

// toResume finds the run that --resume or --session means.
func (e env) toResume(c choices) (journal.Info, error) {
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return journal.Info{}, stateDirProblem(err)
	}
	defer store.Close()
	return findRun(store, c)
}

// startDetached starts the process of a run that goes on without this one.
func startDetached(ctx context.Context, c choices) (hostReady, error) {
	c.Options.Partial, c.Detach = true, true
	if c.Rehearse {
		c = c.rehearsal()
	} else {
		c.askInRun()
	}
	p, err := startHost(ctx, c)
	if err != nil {
		return hostReady{}, err
	}
	return p.hostReady, nil
}
