package runstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
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

// Follower writes the events of a live run to Out, across several connections if needed.
type Follower struct {
	Out, Errs io.Writer
	Since     int64  // as in [control.SubscribeParams]
	last      string // the last line written
	Failed    error  // write error of Out
}

// Follow subscribes and writes until the run has ended, the connection is lost, Out fails, or ctx ends. The result
// is nil unless the run has reported its end.
func (f *Follower) Follow(ctx context.Context, l *Connection) (*control.RunEnded, error) {
	over := make(chan *control.RunEnded, 1) // receives when the run ended or Out failed
	err := l.Subscribe(ctx, control.SubscribeParams{Since: f.next()}, func(part any) {
		if f.Failed != nil {
			return
		}
		switch part := part.(type) {
		case control.Events:
			f.write(part)
		case control.RunEnded:
			over <- &part
		}
		if f.Failed != nil {
			over <- nil
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case end := <-over:
		return end, nil
	case <-l.Done():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case end := <-over: // received just before the connection ended
		return end, nil
	default:
		return nil, nil
	}
}

// next returns the number of the event after which to continue.
func (f *Follower) next() int64 {
	var line struct {
		Seq int64 `json:"seq"`
	}
	if f.last == "" || json.Unmarshal([]byte(f.last), &line) != nil {
		return f.Since
	}
	return line.Seq
}

func (f *Follower) write(events control.Events) {
	if events.Skipped > 0 {
		fmt.Fprintf(f.Errs, "arbiter: %d events are left out here: they are no longer stored\n", events.Skipped)
	}
	var b bytes.Buffer
	for _, line := range events.Lines {
		b.WriteString(line)
		b.WriteByte('\n')
		f.last = line
	}
	_, f.Failed = f.Out.Write(b.Bytes())
}

// Reconnect connects again to the same process of the run.
func (l *Connection) Reconnect(c *cli.Context) error {
	next, err := Connect(c, l.Info.Run, nil)
	if err == nil && next.First.PID != l.First.PID {
		next.Close()
		err = command.Environmentf("another process has resumed it")
	}
	if err != nil {
		run := command.ShortID(l.Info.Run)
		return command.Environmentf("the connection to run %s was lost (%v): arbiter replay %s prints its events",
			run, err, run)
	}
	l.Close()
	*l = *next
	return nil
}
