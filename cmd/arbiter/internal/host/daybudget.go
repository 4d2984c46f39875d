package host

// This file computes from the event logs of all runs what they have cost today, for a run with a daily limit.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// dayEvery is how often a run reads what the other runs have cost today.
const dayEvery = 10 * time.Second

// daySpending computes from the event logs of all runs what they have cost on a day. Only one goroutine uses it.
type daySpending struct {
	store *runstore.Runs
	own   string // the run that asks
	read  map[string]*recordRead
}

// recordRead is how far the event log of a run was read.
type recordRead struct {
	sum  *report.Sum
	next journal.LogPosition
}

// spent returns what was spent on the day of now. It reads only what is new since the last call. With an error, the
// result has what could be read.
func (d *daySpending) spent(ctx context.Context, now time.Time) (day input.DaySpent, unread error) {
	day.Day = now.Format(time.DateOnly)
	list, err := d.store.List()
	if err != nil {
		return day, err
	}
	year, month, date := now.Date()
	midnight := time.Date(year, month, date, 0, 0, 0, 0, now.Location())
	for _, info := range list {
		if info.Empty || !info.Live && info.LastActive.Before(midnight) {
			continue
		}
		usd, err := d.spentBy(ctx, info.Run, day.Day)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one without events yet, or removed
			unread = errors.Join(unread, fmt.Errorf("run %s: %w", command.ShortID(info.Run), err))
		}
		if info.Run == d.own {
			day.OwnUSD = usd
		} else {
			day.OthersUSD += usd
		}
	}
	return day, unread
}

// spentBy returns what a run has cost on a day, including running turns.
func (d *daySpending) spentBy(ctx context.Context, run, day string) (usd float64, err error) {
	log, err := d.store.EventLog(run)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	r := d.read[run]
	if r == nil {
		r = &recordRead{sum: report.NewSpending(report.SpendingDay, time.Local)}
		r.sum.Begin(run)
		d.read[run] = r
	}
	_, err = log.Each(ctx, r.next, func(entry journal.LogEntry) error {
		r.next = entry.Next()
		if entry.Line == nil {
			return nil
		}
		return r.sum.Take(entry.At, entry.Line)
	})
	rows, _ := r.sum.Rows()
	for _, row := range rows {
		if row.Day == day {
			usd = row.CostUSD
		}
	}
	return usd + r.sum.Live(), err
}

// DayBudgetOptions name the runs whose costs are added up, and the run that receives the sum through Put.
type DayBudgetOptions struct {
	Store *journal.Store
	Run   string // the run that asks
	Put   func(input.Body) bool
	Log   *slog.Logger
}

// WatchDayBudget reports to a run what the other runs have cost today: once before the run begins, and regularly while
// it runs. The caller calls stop when the run is over.
func WatchDayBudget(ctx context.Context, o DayBudgetOptions) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	spending := &daySpending{store: &runstore.Runs{Store: o.Store}, own: o.Run, read: map[string]*recordRead{}}
	var last input.DaySpent
	look := func() {
		day, err := spending.spent(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			o.Log.Warn("some costs of the day could not be read", "err", err)
		}
		if ctx.Err() == nil && (day.Day != last.Day || day.OthersUSD != last.OthersUSD) {
			last = day
			o.Put(day)
		}
	}
	look()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(dayEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}
