package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// runPort implements [clients.Runs] with the runs of a state directory. It opens the directory for each call,
// so that a server that runs for days holds no lock of it.
type runPort struct {
	env      env
	stateDir string
}

var _ clients.Runs = runPort{}

// openRunPort returns the runPort for the state directory that a command line selects.
func (e env) openRunPort(c *cli.Context) (runPort, error) {
	dir, err := command.StateDir(c.String("state-dir"))
	return runPort{e, dir}, err
}

// List implements [clients.Runs].
func (p runPort) List() ([]journal.Info, error) {
	store, err := runstore.OpenIn(p.stateDir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return nil, command.Environmentf("list the runs: %v", err)
	}
	return list, nil
}

// Find implements [clients.Runs].
func (p runPort) Find(named string) (journal.Info, error) {
	store, info, err := runstore.FindIn(p.stateDir, named)
	if err != nil {
		return info, err
	}
	return info, store.Close()
}

func (p runPort) Dial(ctx context.Context, run string) (*control.Client, runstore.LiveStatus, error) {
	store, err := runstore.OpenIn(p.stateDir)
	if err != nil {
		return nil, runstore.LiveStatus{}, err
	}
	defer store.Close()
	info, err := runstore.FindLive(store, run)
	if err != nil {
		return nil, runstore.LiveStatus{}, err
	}
	client, st, err := store.Dial(ctx, info, runstore.AnswerTime, nil)
	if err != nil {
		err = store.NotConnected(info, err)
	}
	return client, st, err
}

func (p runPort) Start(ctx context.Context, s clients.Start) (string, error) {
	if s.Run != "" && uuid.Validate(s.Run) != nil {
		return "", command.Usagef("%q is not an id for a run: use a UUID", s.Run)
	}
	c, err := p.choices(s.Dir, "", s.Args)
	if err != nil {
		return "", err
	}
	c.Options.Task = strings.TrimSpace(s.Task)
	if err := settings.CheckTask(c.Options.Task, "the task"); err != nil {
		return "", err
	}
	if c.Options.Task == "" && !c.Options.Rehearsal {
		return "", command.Usagef("there is no task: say what is to be done")
	}
	c.Options.Run = s.Run
	started, err := host.Detached(ctx, c)
	if err != nil {
		return "", err
	}
	return started.Run, nil
}

// plays reports whether a process plays a run, and goes on with it.
func (p runPort) plays(ctx context.Context, info journal.Info) bool {
	store, err := runstore.OpenIn(p.stateDir)
	if err != nil {
		return info.Live
	}
	defer store.Close()
	return store.Plays(ctx, info, false)
}

// Resume implements [clients.Runs].
func (p runPort) Resume(ctx context.Context, run, task string, args []string) error {
	info, err := p.Find(run)
	if err != nil {
		return err
	}
	switch live := p.plays(ctx, info); {
	case live && task != "":
		return command.Usagef("run %s is live already: send it the message", command.ShortID(info.Run))
	case live:
		return nil
	}
	if err := settings.CheckTask(task, "the task"); err != nil {
		return err
	}
	c, err := p.choices(info.CWD, info.Run, args)
	if err != nil {
		return err
	}
	c.Options.Task = strings.TrimSpace(task)
	_, err = host.Detached(ctx, c)
	return err
}

// Log implements [clients.Runs].
func (p runPort) Log(run string) (*journal.EventLog, error) {
	store, info, err := runstore.FindIn(p.stateDir, run)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	log, err := store.EventLog(info.Run)
	if err != nil {
		failed := command.Environmentf("event log of run %s: %v", command.ShortID(info.Run), err)
		failed.Cause = err
		return nil, failed
	}
	return log, nil
}

// Report implements [clients.Runs].
func (p runPort) Report(ctx context.Context, run, format string, w io.Writer) error {
	if !slices.Contains(report.Formats(), report.Format(format)) {
		return command.Usagef("%q is not a format of a report", format)
	}
	store, info, err := runstore.FindIn(p.stateDir, run)
	if err != nil {
		return err
	}
	defer store.Close()
	r, _, err := runstore.PastReport(ctx, store, info)
	if err != nil {
		return command.Environmentf("report of run %s: %v", command.ShortID(info.Run), err)
	}
	return report.Write(w, r, report.Format(format))
}

// notForClients are flags that a client cannot pass: it is itself the frontend, and selects directory, run and
// task by other means.
var notForClients = []string{"cwd", "detach", "json", "plain", "resume", "session", "task", "task-from"}

// choices parses flags as arbiter does in a directory, for a new run, or for the run with the id run if that is
// not empty.
func (p runPort) choices(dir, run string, args []string) (settings.Choices, error) {
	var c settings.Choices
	app := p.env.app()
	app.Commands = nil
	app.Action = func(ctx *cli.Context) error {
		for _, name := range notForClients {
			if ctx.IsSet(name) {
				return command.Usagef("--%s cannot be given here: it says how arbiter itself begins a run", name)
			}
		}
		if ctx.NArg() > 0 {
			return command.Usagef("only flags of a run can be given here: leave out %s", ctx.Args().First())
		}
		err := setForClient(ctx, dir, run, p.stateDir)
		if err == nil {
			c, err = settings.ReadSettings(ctx)
		}
		return err
	}
	err := app.Run(append([]string{"arbiter"}, args...))
	c.Place = dir
	return c, err
}

// setForClient sets the flags whose values a client selects by other means.
func setForClient(c *cli.Context, dir, run, stateDir string) error {
	rehearses := c.Bool("rehearse") || c.String("scenario") != "" || c.Bool("stand-in")
	values := map[string]string{"state-dir": stateDir}
	if !rehearses || run != "" { // a new rehearsal has its own workspace
		values["cwd"] = dir
	}
	if run != "" { // the run's state says whether it is a rehearsal
		values["session"], values["rehearse"], values["scenario"], values["stand-in"] = run, "false", "", "false"
	}
	return setFlags(c, values)
}

func setFlags(c *cli.Context, values map[string]string) error {
	for name, value := range values {
		if err := c.Set(name, value); err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
	}
	return nil
}
