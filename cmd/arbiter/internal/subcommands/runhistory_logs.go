package subcommands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func FollowFlag() cli.Flag {
	return &cli.BoolFlag{Name: "follow", Aliases: []string{"f"},
		Usage: "also -f: continue until the run ends (default: the live run of this directory)"}
}

func ProgramFlag() cli.Flag {
	return &cli.BoolFlag{Name: "program",
		Usage: "print the program's own log, for looking into a fault of Arbiter, instead of the story"}
}

// Logs is `arbiter logs`.
func Logs(io command.Env, c *cli.Context) error {
	e := historyEnv{io}
	audit := c.Bool("audit") || c.IsSet("verify")
	switch {
	case audit && (c.Bool("follow") || c.Bool("program")):
		return command.Usagef("logs: --follow and --program are for the log, not for --audit or --verify")
	case audit:
		return e.audit(c)
	case c.Bool("json") || c.Bool("text"):
		return command.Usagef("logs: --json and --text need --audit")
	case c.NArg() > 1 || c.NArg() == 0 && !c.Bool("follow"):
		return command.Usagef("logs: give one RUN; arbiter sessions lists the runs")
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	find := func() (journal.Info, error) { return runstore.Find(store.Store, c.Args().First()) }
	if c.NArg() == 0 {
		find = func() (journal.Info, error) { return runstore.FindLive(store, "") }
	}
	info, err := find()
	if err != nil {
		return err
	}
	follow := c.Bool("follow") && info.Live
	switch {
	case !c.Bool("program"):
		return e.printStory(c, store, info, follow)
	case follow:
		return e.followLog(c.Context, store, info)
	}
	found := false
	for _, name := range []string{runstore.LogName + ".1", runstore.LogName} {
		some, err := e.printLog(filepath.Join(store.Dir(info.Run), name))
		if err != nil {
			return command.Environmentf("log: %v", err)
		}
		found = found || some
	}
	if !found {
		return command.Usagef("run %s has no log", command.ShortID(info.Run))
	}
	return nil
}

// printStory prints the story of a run. With follow it continues while the run is live.
func (e historyEnv) printStory(c *cli.Context, store *runstore.Runs, info journal.Info, follow bool) error {
	log, err := store.OpenEventLog(info.Run)
	if err != nil {
		return err
	}
	defer log.Close()
	command.OutliveReaders()
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	w := &storyWriter{out: e.Stdout}
	health, err := log.Each(ctx, journal.LogPosition{}, func(entry journal.LogEntry) error {
		if entry.Line == nil {
			return nil
		}
		return w.write(entry.Line)
	})
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	runstore.PrintDamage(e.Stderr, health)
	if !follow {
		return nil
	}
	l, err := runstore.Connect(c, info.Run, nil)
	if err != nil {
		fmt.Fprintf(e.Stderr, "Run %s has ended.\n", command.ShortID(info.Run))
		return nil
	}
	defer func() { l.Close() }() // of the last connection
	f := runstore.Follower{Out: w, Errs: e.Stderr, Since: int64(w.seq)}
	for {
		end, err := f.Follow(ctx, l)
		switch {
		case ctx.Err() != nil:
			return command.BySignal(ctx, "")
		case f.Failed != nil:
			return command.Environmentf("%v", f.Failed)
		case end != nil:
			fmt.Fprintf(e.Stderr, "Run %s has ended.\n", command.ShortID(info.Run))
			return nil
		case err != nil:
			return runstore.NotConnected(l.Info, err)
		}
		if err := l.Reconnect(c); err != nil { // the run dropped the connection because we read too slowly
			return err
		}
	}
}

// storyWriter converts lines of the event stream to the story of the run.
type storyWriter struct {
	out   io.Writer
	story eventtext.Story
	seq   uint64 // of the last line
}

// Write accepts whole lines only.
func (w *storyWriter) Write(lines []byte) (int, error) {
	for line := range bytes.Lines(lines) {
		if err := w.write(bytes.TrimSpace(line)); err != nil {
			return 0, err
		}
	}
	return len(lines), nil
}

func (w *storyWriter) write(line []byte) error {
	l, err := contract.DecodeLine(line)
	if err != nil {
		return err
	}
	w.seq = l.Seq
	_, err = io.WriteString(w.out, sanitize.Text(w.story.Text(l.Time.Local(), contract.Event{ID: l.ID, Body: l.Body})))
	return err
}

// printLog prints a file, if it exists.
func (e historyEnv) printLog(path string) (found bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	_, err = io.Copy(e.Stdout, f)
	return true, err
}

// followLog prints the log of a live run to its end.
func (e historyEnv) followLog(ctx context.Context, store *runstore.Runs, info journal.Info) error {
	command.OutliveReaders()
	ctx, stop := command.Interruptible(ctx, false)
	defer stop()
	dir := store.Dir(info.Run)
	_, err := e.printLog(filepath.Join(dir, runstore.LogName+".1"))
	if err == nil {
		err = runstore.FollowCrashes(ctx, dir, e.Stdout, func() bool { return store.Player(info.Run) != 0 })
	}
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "")
	case err != nil:
		return command.Environmentf("%v", err)
	}
	fmt.Fprintf(e.Stderr, "Run %s has ended.\n", command.ShortID(info.Run))
	return nil
}
