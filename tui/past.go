package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// The events of earlier processes of a run are in its event log. The first frame needs only the end of the
// log: that is a store of its own, until a worker has read the whole log and made the store that replaces it.

// recentEvents is how many of the last events the first frame uses: more than any window shows.
const recentEvents = 600

// recall adds the events of a run's earlier processes, and returns how far its log was read. It runs on the worker that
// begins the run, and returns when the end of the log can be shown.
func (f *Frontend) recall(ctx context.Context, run string) (next journal.LogPosition, err error) {
	log, err := f.options.Host.Past(ctx, run)
	if err != nil || log == nil {
		return next, err
	}
	end, err := history.Recent(ctx, log, recentEvents)
	if err != nil {
		log.Close()
		return next, fmt.Errorf("read the history of run %s: %w", run, err)
	}
	var empty bool
	var since eventtext.Since
	if !f.now(ctx, func() {
		f.logs = append(f.logs, log)
		if empty = f.history.All().Len() == 0; !empty {
			f.history.Past(log, journal.LogPosition{})
		} else {
			f.history.Past(log, end.Next)
			for _, e := range end.Events {
				if event, err := f.history.Recall(e); err == nil { // otherwise the search reports it
					since.Take(e.At, event)
					f.activity.Add(e.At, event)
					f.timeline.Add(e.At, event)
				}
			}
			f.partial = !end.Whole
		}
	}) {
		return next, ctx.Err()
	}
	switch {
	case !empty: // after the events of another run
		health, err := log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
			if e.Line == nil {
				return nil
			}
			event, err := contract.DecodeWritten(e.Line)
			if err == nil && !f.box.recall(ctx.Done(), e.At, event) {
				err = ctx.Err()
			}
			since.Take(e.At, event)
			return err
		})
		f.sumUp(ctx, &since)
		return health.Next, err
	case !end.Whole:
		f.indexing.Add(1)
		f.work(func(ctx context.Context) {
			defer f.indexing.Done()
			f.index(ctx, log, end)
		})
	default:
		f.sumUp(ctx, &since)
	}
	return end.Next, nil
}

// sumUp adds a notice that sums up what happened while the human was away.
func (f *Frontend) sumUp(ctx context.Context, since *eventtext.Since) {
	if text := since.Text(time.Now(), nil); text != "" {
		f.box.recall(ctx.Done(), time.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Notice{Text: text}})
	}
}

// now makes tview's loop call do, and waits until it did; the pump waits, too. It returns false if the
// frontend ends before.
func (f *Frontend) now(ctx context.Context, do func()) bool {
	done := make(chan struct{})
	f.post(func() { defer close(done); do() })
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// keptBy makes the store use the log of a run that has just begun for the events in it. If the log cannot be
// read, the history keeps everything itself.
func (f *Frontend) keptBy(ctx context.Context, run string) {
	log, err := f.options.Host.Past(ctx, run)
	if err != nil || log == nil {
		return
	}
	f.now(ctx, func() {
		f.logs = append(f.logs, log)
		f.history.Past(log, journal.LogPosition{})
	})
}

// behind is how many events may remain to be taken over while the loop waits.
const behind = 100

// index makes the store of all events, in the background, and replaces the current one, which has the recent
// events and those that were reported since.
func (f *Frontend) index(ctx context.Context, log *journal.EventLog, end history.End) {
	var store *history.Store // the current one
	if !f.now(ctx, func() { store = f.history }) {
		return
	}
	full := history.New(history.Memory)
	full.Past(log, end.Next)
	var times view.Timeline
	var since eventtext.Since
	_, err := log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.Position.Offset >= end.Next.Offset {
			return journal.ErrEnough // the run continues, and reports the rest itself
		}
		if e.Line != nil {
			if event, err := full.Recall(e); err == nil {
				times.Add(e.At, event)
				since.Take(e.At, event)
			}
		}
		return nil
	})
	if err != nil {
		f.post(func() { f.partial = false })
		if f.ctx.Err() == nil {
			f.post(func() {
				f.root.dialogs.showText("Earlier events cannot be read", err.Error())
			})
		}
		return
	}
	at := len(end.Events)
	catchUp := func() {
		next := full.CatchUp(store, at)
		for ; at < next; at++ {
			if e, ok := store.All().Entry(at); ok {
				times.Add(e.At, e.Event)
			}
		}
	}
	for store.All().Len()-at > behind && ctx.Err() == nil {
		catchUp()
	}
	f.now(ctx, func() {
		catchUp()
		full.Succeed(store)
		f.timeline.Become(&times)
		f.history, f.partial = full, false
		if f.root.session.interrupted() {
			f.cut() // as the store before was
		}
		f.root.move(full.All().Len() - store.All().Len())
	})
	f.sumUp(ctx, &since)
}

// move makes all readers switch to the current store, in which the numbers of events are larger by so much.
func (d *app) move(by int) {
	store := d.f.history
	d.runScreen.talk.move(store.Talk(), by)
	for _, s := range d.screens {
		switch s := s.(type) {
		case *focus:
			s.reader.move(store.Agent(s.id), by)
		case *logbook:
			s.move(by)
		}
	}
	d.search.moved()
}

func (f *Frontend) conversation(ctx context.Context, name func(string) string) string {
	f.indexing.Wait()
	var b strings.Builder
	thread := f.history.Talk()
	for i := range thread.Len() {
		if ctx.Err() != nil {
			break
		}
		if e, ok := thread.Entry(i); ok {
			if text, ok := eventtext.Text(e, name); ok {
				b.WriteString(text)
				b.WriteString("\n\n")
			}
		}
	}
	return b.String()
}
