package runstore

import (
	"fmt"
	"io"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// OpenEventLog opens the event log of a run. The caller closes it.
func (r *Runs) OpenEventLog(run string) (*eventlog.Log, error) {
	log, err := r.EventLog(run)
	if err != nil {
		return nil, command.Environmentf("%v", err)
	}
	return log, nil
}

// TellDamage says on stderr what of an event log a crash does not explain.
func TellDamage(stderr io.Writer, h eventlog.Health) {
	if list := audit.Damage(h); len(list) > 0 {
		SayDamaged(stderr, list)
	}
}

func SayDamaged(stderr io.Writer, list []string) {
	fmt.Fprintln(stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(list, "; "))
}

// LastState is the state that a run was left in.
func LastState(store *Runs, run string) (supervisor.State, journal.Recovery, error) {
	var fold supervisor.Fold
	recovery, err := store.Read(run, fold.Take)
	return fold.State, recovery, err
}
