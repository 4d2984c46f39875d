package runstore

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// AnswerTime is how long the arbiter of a live run may take for a first answer.
const AnswerTime = 2 * time.Second

// Connection is a connection to a live run.
type Connection struct {
	*control.Client
	Store *Runs
	Info  journal.Info
	First control.Status // when the connection was made
}

// Connect finds a live run with [FindLive], and connects to it. The caller closes the connection.
func Connect(c *cli.Context, named string, say func(string)) (*Connection, error) {
	store, err := Open(c)
	if err != nil {
		return nil, err
	}
	return ConnectIn(c, store, named, say)
}

// ConnectIn is Connect with a store, which it closes on an error.
func ConnectIn(c *cli.Context, store *Runs, named string, say func(string)) (*Connection, error) {
	var err error
	l := &Connection{Store: store}
	if l.Info, err = FindLive(store, named); err == nil {
		l.Client, l.First, err = store.Dial(c.Context, l.Info, AnswerTime, say)
		if err != nil {
			err = store.notConnected(c.Context, l.Info, err)
		}
	}
	if err != nil {
		store.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the connection.
func (l *Connection) Close() {
	l.Client.Close()
	l.Store.Close()
}

// Dial connects to the arbiter of a run. within bounds the time for its answer.
func (r *Runs) Dial(ctx context.Context, info journal.Info, within time.Duration,
	say func(string)) (*control.Client, control.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return control.Dial(ctx, r.SocketOf(info.Run, control.SocketName), say)
}

// notConnected explains why a connection failed. If the run ends within AnswerTime, that is the reason.
func (r *Runs) notConnected(ctx context.Context, info journal.Info, err error) error {
	var refused *control.Refusal
	if errors.As(err, &refused) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return NotConnected(info, err)
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	if r.AwaitEnd(ctx, info.Run) != nil {
		return NotConnected(info, err)
	}
	ended, findErr := Find(r.Store, info.Run)
	if findErr != nil {
		return findErr
	}
	return notLive(ended)
}

// NotConnected converts the error of a failed connection.
func NotConnected(info journal.Info, err error) error {
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
		return &command.Error{Code: contract.ExitUsage, Text: refused.Message, Cause: refused}
	case errors.Is(err, control.ErrSilent), errors.Is(err, context.DeadlineExceeded):
		why := err
		if op, ok := errors.AsType[*net.OpError](err); ok {
			why = op.Err
		}
		return command.Environmentf("run %s does not answer (process %d: %v): try again in a moment, or end its agents "+
			"with arbiter halt %[1]s", command.ShortID(info.Run), info.PID, why)
	}
	return command.Environmentf("run %s: %v", command.ShortID(info.Run), err)
}

// Live lists the live runs whose ids begin with prefix, the most recently active first.
func (r *Runs) Live(prefix string) ([]journal.Info, error) {
	live, err := r.Store.Live(prefix)
	if err != nil {
		return nil, command.StateDirProblem(err)
	}
	return live, nil
}

// FindLive finds a live run by its id or a prefix of it; without a name, the run of this directory.
func FindLive(store *Runs, named string) (journal.Info, error) {
	found, err := store.Live(named)
	if err != nil {
		return journal.Info{}, err
	}
	if named == "" {
		return liveRunHere(store, found)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		info, err := Find(store.Store, named)
		if err == nil {
			err = notLive(info)
		}
		return info, err
	}
	return journal.Info{}, command.Usagef("%q fits several live runs: %s; give more of the id", named, names(found))
}

// notLive is the error for a command that needs a live run.
func notLive(info journal.Info) error {
	run, next := command.ShortID(info.Run), "arbiter ps lists the live runs"
	switch {
	case info.Killed():
		return command.Usagef("run %s in %s was interrupted: its process was killed or crashed, and its agents ended with "+
			"it. Nothing recorded is lost; arbiter --resume --session %[1]s continues it", run, info.CWD)
	case LineOf(info).Resumable:
		next = "arbiter --resume --session " + run + " continues it"
	}
	return command.Usagef("run %s is not live (%s); %s", run, Status(info), next)
}

func liveRunHere(store *Runs, list []journal.Info) (journal.Info, error) {
	here, err := os.Getwd()
	if err != nil {
		return journal.Info{}, command.Environmentf("working directory: %v", err)
	}
	found := slices.DeleteFunc(list, func(i journal.Info) bool { return !command.SameDir(i.CWD, here) })
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if last, err := store.Latest(here, ReachedAgent); err == nil && last.Killed() {
			return last, notLive(last)
		}
		return journal.Info{}, command.Usagef("no run is live in %s: give its RUN; arbiter ps lists the live runs", here)
	}
	return journal.Info{}, command.Usagef("several runs are live in %s: %s; give the RUN", here, names(found))
}

func names(list []journal.Info) string {
	var ids []string
	for _, i := range list {
		ids = append(ids, i.Run)
	}
	return strings.Join(ids, ", ")
}

// AwaitEnd waits until no process plays a run any more.
func (r *Runs) AwaitEnd(ctx context.Context, run string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for r.Player(run) != 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

var ErrRunOver = errors.New("the run is over")
