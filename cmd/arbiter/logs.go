package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/crashlog"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

func followFlag() cli.Flag {
	return &cli.BoolFlag{Name: "follow", Aliases: []string{"f"},
		Usage: "also -f: go on until the run ends (default: the live run of this directory)"}
}

// logs is `arbiter logs`.
func (e env) logs(c *cli.Context) error {
	audit := c.Bool("audit") || c.IsSet("verify")
	switch {
	case audit && c.Bool("follow"):
		return usagef("logs: --follow is for the log, not for --audit or --verify")
	case audit:
		return e.audit(c)
	case c.Bool("json") || c.Bool("text"):
		return usagef("logs: --json and --text need --audit")
	case c.NArg() > 1 || c.NArg() == 0 && !c.Bool("follow"):
		return usagef("logs: give one RUN; arbiter sessions lists the runs")
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	find := func() (journal.Info, error) { return oneRun(store.Store, c.Args().First()) }
	if c.NArg() == 0 {
		find = func() (journal.Info, error) { return liveRun(store, "") }
	}
	info, err := find()
	if err != nil {
		return err
	}
	if c.Bool("follow") && info.Live {
		return e.followLog(c.Context, store, info)
	}
	found := false
	for _, name := range []string{crashlog.LogName + ".1", crashlog.LogName} {
		some, err := e.printLog(filepath.Join(store.Dir(info.Run), name))
		if err != nil {
			return environmentf("log: %v", err)
		}
		found = found || some
	}
	if !found {
		return usagef("run %s has no log", short(info.Run))
	}
	return nil
}

// printLog prints a file, if it is there.
func (e env) printLog(path string) (found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = io.Copy(e.stdout, f)
	return true, err
}

// followLog prints the log of a live run to its end.
func (e env) followLog(ctx context.Context, store *runs, info journal.Info) error {
	outliveReaders()
	ctx, stop := interruptible(ctx, false)
	defer stop()
	dir := store.Dir(info.Run)
	_, err := e.printLog(filepath.Join(dir, crashlog.LogName+".1"))
	if err == nil {
		err = crashlog.Follow(ctx, dir, e.stdout, func() bool { return store.Player(info.Run) != 0 })
	}
	switch {
	case ctx.Err() != nil:
		return bySignal(ctx, "")
	case err != nil:
		return environmentf("%v", err)
	}
	fmt.Fprintf(e.stderr, "Run %s has ended.\n", short(info.Run))
	return nil
}
