package subcommands

import (
	"errors"
	"os"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// leftovers looks for what runs that are over have left.
func (l *inspection) leftovers(state host.DoctorPlace) (o host.Leftovers) {
	used := host.WorkingDirs()
	if dir := l.choices.StateDir; dir != "" {
		o.Named, o.NamedToResume = settings.StateForCommand(dir), settings.StateForResume(dir)
	}
	if dir := l.choices.StateDir; dir == "" || !state.Exists && dir == state.Path {
		if dir == "" {
			o.Problem = "the settings were not read"
		}
	} else if err := l.runs(dir, &o, &used); err != nil {
		o.Problem = err.Error()
	}
	o.Scratch = host.LookForScratch(command.Places(), used, os.Geteuid())
	return o
}

// runs inspects the runs of the state directory.
func (l *inspection) runs(dir string, o *host.Leftovers, used *[]string) error {
	store, err := journal.OpenStore(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return err
	}
	for _, info := range list {
		run := host.DoctorRun{ID: command.ShortID(info.Run), Dir: info.CWD, Problem: info.Problem}
		o.Runs, o.Bytes = o.Runs+1, o.Bytes+info.Bytes
		switch {
		case info.Live:
			o.Live = append(o.Live, run)
		case info.Damaged:
			o.Damaged = append(o.Damaged, run)
		case runstore.Status(info) == runstore.Interrupted:
			o.Resumable = append(o.Resumable, run)
		}
		if work, err := store.HasWork(info.Run); err == nil && work && !info.Live {
			o.Worktrees = append(o.Worktrees, run)
		}
		if info.Rehearsal && (info.Live || info.Unfinished) {
			if place := stageOf(store, info.Run); place != "" {
				*used = append(*used, place)
			}
		}
	}
	for _, strays := range proctree.Strays(runstore.OverIn(store)) {
		for _, p := range strays {
			o.Processes = append(o.Processes, host.DoctorProcess{PID: p.PID, Name: p.Name})
		}
	}
	slices.SortFunc(o.Processes, func(a, b host.DoctorProcess) int { return a.PID - b.PID })
	return nil
}

// errFound stops reading a journal early.
var errFound = errors.New("found")

// stageOf returns the scratch workspace of a rehearsal; empty if its journal does not name one.
func stageOf(store *journal.Store, run string) string {
	var replayer supervisor.Replayer
	_, _ = store.Read(run, func(r journal.Record) error { // an unreadable journal names no workspace
		if err := replayer.Take(r); err != nil {
			return err
		}
		if replayer.State.Options.CWD != "" {
			return errFound
		}
		return nil
	})
	return replayer.State.Options.CWD
}
