package host

// This file adds up what all runs have cost today, for a run with a daily limit.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// dayEvery is how often a run reads what the other runs have cost today.
const dayEvery = 10 * time.Second

// daySpending computes what all runs have cost on a day. Only one goroutine uses it.
type daySpending struct {
	store *runstore.Runs
	own   string // the run that asks
	read  map[string]*runstore.Spent
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
		if info.Empty || info.Rehearsal || !info.Live && info.LastActive.Before(midnight) {
			continue
		}
		s, err := d.store.Spent(ctx, info, d.read[info.Run])
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one without events yet, or removed
			unread = errors.Join(unread, fmt.Errorf("run %s: %w", command.ShortID(info.Run), err))
		}
		d.read[info.Run] = s
		usd := s.Live()
		for _, row := range s.Rows {
			if row.Day == day.Day {
				usd += row.CostUSD
			}
		}
		if info.Run == d.own {
			day.OwnUSD = usd
		} else {
			day.OthersUSD += usd
		}
	}
	return day, unread
}

// DayBudgetOptions name the runs whose costs are added up, and the run that receives the sum through Put.
type DayBudgetOptions struct {
	Store *runstore.Runs
	Run   string // the run that asks
	Put   func(input.Body) bool
	Log   *slog.Logger
}

// WatchDayBudget reports to a run what the other runs have cost today: once before the run begins, and regularly while
// it runs. The caller calls stop when the run is over.
func WatchDayBudget(ctx context.Context, o DayBudgetOptions) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	spending := &daySpending{store: o.Store, own: o.Run, read: map[string]*runstore.Spent{}}
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
