package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// recentBytes bounds the result of [Recent].
const recentBytes = 4 << 20

// End is the end of a log.
type End struct {
	Events []journal.LogEntry // the last ones, oldest first
	Whole  bool               // there are no earlier events
	Next   journal.LogPosition
}

// Recent reads the last events of a log, at most n.
func Recent(ctx context.Context, log *journal.EventLog, n int) (End, error) {
	end := End{Whole: true}
	space := recentBytes
	err := log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		if end.Next.Offset == 0 {
			end.Next = e.Next()
		}
		if e.Line == nil {
			return true
		}
		if len(end.Events) == n || space < e.Size && len(end.Events) > 0 {
			end.Whole = false
			return false
		}
		space -= e.Size
		e.Line = bytes.Clone(e.Line)
		end.Events = append(end.Events, e)
		return true
	})
	slices.Reverse(end.Events)
	return end, err
}

// source is the log of a run.
type source struct {
	log  *journal.EventLog
	from journal.LogPosition // where the events of [Store.Add] begin
	at   journal.LogPosition // everything before was searched for them
}

// Past adds the log of a run: [Store.Recall] gets its entries from there, and from a position on it also
// contains events of [Store.Add]. The caller keeps ownership of the log, and closes it when nothing is read
// any more. Nothing may be added at the same time.
func (c *Store) Past(log *journal.EventLog, from journal.LogPosition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logs = append(c.logs, source{log, from, from})
}

// Recall adds an event of the log that was added last, and returns it: it is read from there when it is
// needed. Only the writer may call it.
func (c *Store) Recall(l journal.LogEntry) (contract.Event, error) {
	e, err := decode(l)
	if err == nil {
		var r record
		r.setPlace(l, len(c.logs)-1)
		c.keep(r, l.At, e, 0)
		c.version.Add(1)
	}
	return e, err
}

// setPlace records where the event is in a log.
func (r *record) setPlace(l journal.LogEntry, log int) {
	r.log, r.off, r.sum = uint16(log+1), l.Position.Offset, l.Position.Prev.Sum
}

func decode(l journal.LogEntry) (contract.Event, error) {
	e, err := contract.DecodeWritten(l.Line)
	if err != nil {
		return contract.Event{}, fmt.Errorf("read line %d of the event log: %w", l.N, err)
	}
	e, _ = fit(e)
	return e, nil
}

// CatchUp adds the entries of another store from the entry from on, and returns the next one. The other
// store may continue growing.
func (c *Store) CatchUp(other *Store, from int) int {
	for ; from < other.len(); from++ {
		r, h, held := other.record(from)
		if held {
			c.keep(record{}, h.at, h.event, h.size)
		} else if at, e, ok := other.event(from); ok {
			c.keep(record{log: r.log, off: r.off, sum: r.sum}, at, e, 0)
		}
	}
	return from
}

// Succeed makes the store continue where another one ends: with its logs, the text that is arriving there,
// and a version that the other one never had. Nothing may be added to the other one any more.
func (c *Store) Succeed(other *Store) {
	c.live = other.live
	for _, s := range other.logs[len(c.logs):] {
		c.Past(s.log, s.from)
	}
	c.version.Store(max(c.version.Load(), other.version.Load()) + 1)
}

// logged reads an event from its log.
func (c *Store) logged(r record) (time.Time, contract.Event, bool) {
	l, err := c.log(r).At(journal.LogPosition{Offset: r.off, Prev: journal.LogChain{Sum: r.sum}})
	var e contract.Event
	if err == nil {
		e, err = decode(l)
	}
	if err != nil {
		c.unreadable(err)
	}
	return l.At, e, err == nil
}

func (c *Store) log(r record) *journal.EventLog {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.logs[r.log-1].log
}

func (c *Store) unreadable(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problem = fmt.Errorf("read the history: %w", err)
}

// locateAfter is how many bytes of events are added before the logs are searched for them.
const locateAfter = 256 << 10

// errAhead ends the search of a log at an event that was not added yet.
var errAhead = errors.New("ahead")

// locate searches what was appended to the logs for the events in memory, and releases those that it finds.
// Events that are not in a log yet, or never will be, stay in memory.
func (c *Store) locate() {
	c.fresh = 0
	for i := range c.logs {
		s := &c.logs[i]
		if size, err := s.log.Size(); err != nil || size <= s.at.Offset {
			continue
		}
		next := 0 // in held; those before it come earlier than the rest of the log
		health, err := s.log.Each(context.Background(), s.at, func(l journal.LogEntry) error {
			if l.Line != nil && !c.matched(l, i, &next) {
				return errAhead
			}
			s.at = l.Next()
			return nil
		})
		switch {
		case err == nil:
			s.at = health.Next
		case !errors.Is(err, errAhead):
			c.unreadable(err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = slices.DeleteFunc(c.held, func(h heldEvent) bool {
		found := c.records[h.n].log > 0
		if found {
			c.bytes -= h.size
		}
		return found
	})
}

// matched looks for the event of a line among those in memory. Both are in the order of their times, which a
// screen gets in milliseconds. It returns false for a line that may belong to a later event.
func (c *Store) matched(l journal.LogEntry, log int, next *int) bool {
	at := l.At.UnixMilli()
	for *next < len(c.held) && c.held[*next].at.UnixMilli() < at {
		*next++ // it is not in the log, and will not be
	}
	var line []byte // of the event, encoded when needed
	for i := *next; i < len(c.held); i++ {
		h := c.held[i]
		if h.at.UnixMilli() != at { // perhaps of a run that was shown before this one
			continue
		}
		if line == nil {
			e, err := decode(l)
			if err == nil {
				line, err = contract.EncodeLine(nil, 0, l.At, e)
			}
			if err != nil {
				return true
			}
		}
		// The log has rounded numbers, and an empty list where there was none: so does this encoding.
		if held, err := contract.EncodeLine(nil, 0, l.At, h.event); err == nil && bytes.Equal(held, line) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.records[h.n].setPlace(l, log)
			*next = i + 1
			return true
		}
	}
	// Before a later event, it was not reported.
	return len(c.held) > 0 && c.held[len(c.held)-1].at.UnixMilli() > at
}
