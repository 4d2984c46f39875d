package main

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// openEventLog opens the event log of a run. The caller closes it.
func (e env) openEventLog(store *runs, run string) (*eventlog.Log, error) {
	log, err := store.EventLog(run)
	if err != nil {
		return nil, command.Environmentf("%v", err)
	}
	return log, nil
}

// tellDamage says on stderr what of an event log a crash does not explain.
func (e env) tellDamage(h eventlog.Health) {
	if list := audit.Damage(h); len(list) > 0 {
		e.sayDamaged(list)
	}
}

func (e env) sayDamaged(list []string) {
	fmt.Fprintln(e.Stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(list, "; "))
}

// lastState is the state that a run was left in.
func lastState(store *runs, run string) (supervisor.State, journal.Recovery, error) {
	var fold supervisor.Fold
	recovery, err := store.Read(run, fold.Take)
	return fold.State, recovery, err
}
