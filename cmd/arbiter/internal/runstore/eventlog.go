package runstore

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// OpenEventLog opens the event log of a run. The caller closes it.
func (r *Runs) OpenEventLog(run string) (*journal.EventLog, error) {
	log, err := r.EventLog(run)
	if err != nil {
		return nil, command.Environmentf("%v", err)
	}
	return log, nil
}

// OpenLogOf opens the run that a command's argument names, and its event log. The caller closes both.
func OpenLogOf(c *cli.Context) (*Runs, journal.Info, *journal.EventLog, error) {
	store, info, err := OpenOne(c)
	if err != nil {
		return nil, info, nil, err
	}
	log, err := store.OpenEventLog(info.Run)
	if err != nil {
		store.Close()
		return nil, info, nil, err
	}
	return store, info, log, nil
}

// PrintDamage prints the damage of an event log that a crash does not explain.
func PrintDamage(stderr io.Writer, h journal.LogHealth) {
	if list := supervisor.AuditDamage(h); len(list) > 0 {
		SayDamaged(stderr, list)
	}
}

func SayDamaged(stderr io.Writer, list []string) {
	fmt.Fprintln(stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(list, "; "))
}

// LastState returns the last state of a run.
func LastState(store *Runs, run string) (supervisor.State, journal.Recovery, error) {
	var replayer supervisor.Replayer
	recovery, err := store.Read(run, replayer.Take)
	return replayer.State, recovery, err
}
