package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// toldLog is the event log of a run, with what is wrong with its journal.
type toldLog struct {
	*eventlog.Log
	foreign *journal.TamperedError // somebody else has changed the journal; nil: nobody
}

// told opens the event log of a run, and says on stderr what of the journal a crash does not
// explain. The caller closes it.
func (e env) told(store *runs, run string) (*toldLog, error) {
	log, recovery, err := audit.Folded(store.Store, run)
	foreign, tampered := errors.AsType[*journal.TamperedError](err)
	if err != nil && !tampered {
		return nil, environmentf("read run %s: %v", short(run), err)
	}
	if list := audit.JournalDamage(recovery); len(list) > 0 {
		e.sayDamaged(list)
	}
	return &toldLog{Log: log, foreign: foreign}, nil
}

// tampered is the error of a journal that somebody else has changed, for after what is before
// that was shown.
func (l *toldLog) tampered(store *runs) error {
	if l.foreign == nil {
		return nil
	}
	return tamperedf(l.foreign, store.root)
}

// tellDamage says on stderr what of an event log a crash does not explain.
func (e env) tellDamage(h eventlog.Health) {
	if list := audit.Damage(h); len(list) > 0 {
		e.sayDamaged(list)
	}
}

func (e env) sayDamaged(list []string) {
	fmt.Fprintln(e.stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(list, "; "))
}

// lastState is the state that a run was left in.
func lastState(store *runs, run string) (supervisor.State, journal.Recovery, error) {
	var fold supervisor.Fold
	recovery, err := store.Read(run, fold.Take)
	return fold.State, recovery, err
}
