package clients

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// follower follows the events of a run across the processes that play it.
type follower struct {
	runs Runs
	run  string
	at   logPlace // after the events that were passed on
}

// link is a pair of connections to the process that plays a run: feed receives events, ask sends requests. Two are
// needed because nothing else can be read from feed while a received part is handled.
type link struct {
	feed, ask *control.Client
	parts     <-chan any
	ctx       context.Context
	close     context.CancelFunc
}

// connect connects to the process that plays the run, and subscribes to its events after the place. Before that, begin
// passes on the events in the log.
func (f *follower) connect(
	ctx context.Context, pieces bool, begin func(runstore.LiveStatus) error,
) (l *link, err error) {
	l = &link{}
	var st runstore.LiveStatus
	if l.feed, st, err = f.runs.Dial(ctx, f.run); err != nil {
		return nil, err
	}
	if l.ask, _, err = f.runs.Dial(ctx, f.run); err != nil {
		l.feed.Close()
		return nil, err
	}
	l.ctx, l.close = context.WithCancel(ctx)
	if err = begin(st); err == nil {
		if !f.at.Set || f.at.Process < st.LogLines {
			f.at = logPlace{Process: st.LogLines, Set: true}
		}
		l.parts, err = l.feed.Parts(l.ctx, control.SubscribeParams{Since: int64(f.at.Seq), Pieces: pieces})
	}
	if err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

func (l *link) end() {
	l.close()
	l.feed.Close()
	l.ask.Close()
}

// statusTimeout is how long a run may take to report its status: its process may be stopped. Tests shorten it.
var statusTimeout = 5 * time.Second

// statusOf asks a run for its status: [context.DeadlineExceeded] if it does not answer, and not if its process is gone.
func statusOf(ctx context.Context, client *control.Client) (runstore.LiveStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	st, err := control.StatusOf[runstore.LiveStatus](ctx, client)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return st, err
}

// after returns the place after a line that the present process has sent.
func (f *follower) after(line []byte) logPlace {
	return logPlace{Process: f.at.Process, Seq: max(f.at.Seq, contract.SeqOf(line)), Set: true}
}

// logPlace is how far a client has read: the first Process lines of the event log, which belong to earlier processes,
// and after them the events of one process up to Seq.
type logPlace struct {
	Process uint64
	Seq     uint64
	Set     bool // false for a client that has read nothing
}

func (p logPlace) String() string { return fmt.Sprintf("%d.%d", p.Process, p.Seq) }

// parsePlace parses a place in the format of String.
func parsePlace(text string) (p logPlace, err error) {
	if text == "" {
		return p, nil
	}
	_, err = fmt.Sscanf(text, "%d.%d", &p.Process, &p.Seq)
	if err != nil || p.String() != text {
		return logPlace{}, fmt.Errorf("%.40q is not a position", text)
	}
	p.Set = true
	return p, nil
}

// past calls take with the events after the place in the run's event log, each with the place after it. It returns when
// the run would have begun if each process had begun when the one before ended: the run's result counts its time so.
func (f *follower) past(ctx context.Context, take func(line []byte, at logPlace)) (began time.Time, err error) {
	var last time.Time
	from, at, found := f.at, logPlace{Set: true}, false // the current place; whether the process of from was found
	err = eachEvent(ctx, f.runs, f.run, func(e journal.LogEntry) error {
		begins := contract.EventNameOf(e.Line) == (contract.Session{}).EventName()
		if last.IsZero() {
			began = e.At
		} else if begins {
			began = began.Add(e.At.Sub(last))
		}
		last = e.At
		if begins {
			at.Process = e.N - 1
			if from.Set && !found && e.N > from.Process { // records may come before it
				at.Process, found = from.Process, true
			}
		}
		at.Seq = contract.SeqOf(e.Line)
		if !from.Set || at.Process > from.Process || at.Process == from.Process && at.Seq > from.Seq {
			take(e.Line, at)
		}
		return nil
	})
	return began, err
}

// eachEvent calls take with the events in a run's event log. A run that has just begun may have none yet.
func eachEvent(ctx context.Context, runs Runs, run string, take func(journal.LogEntry) error) error {
	log, err := runs.Log(run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	_, err = log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.Line == nil {
			return nil
		}
		return take(e)
	})
	return err
}

// costOf returns what a run that no process plays has cost: what was noted at its end, or else what its events say. If
// unknown, it has cost more.
func costOf(ctx context.Context, runs Runs, info journal.Info) (usd float64, unknown bool, err error) {
	if info.CostUSD > 0 {
		return info.CostUSD, info.CostUnknown, nil
	}
	var spent report.Spending
	err = eachEvent(ctx, runs, info.Run, func(e journal.LogEntry) error { return spent.Take(e.At, e.Line) })
	return spent.Sum(), info.CostUnknown || spent.Unknown(), err
}
