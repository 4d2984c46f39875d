package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// recentBytes bounds the result of [Recent].
const recentBytes = 4 << 20

// End is the end of a log.
type End struct {
	Events []eventlog.Entry // the last ones, oldest first
	Whole  bool             // there are no earlier events
	Next   eventlog.Position
}

// Recent reads the last events of a log, at most n.
func Recent(ctx context.Context, log *eventlog.Log, n int) (End, error) {
	end := End{Whole: true}
	space := recentBytes
	err := log.Backward(ctx, eventlog.Position{}, func(e eventlog.Entry) bool {
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

// Past sets the log of a run: [Store.Recall] gets its entries from there, and from a position on it also
// contains the events of [Store.Add]. It returns false if there is a log already. The caller keeps
// ownership of the log, and closes it when nothing is read any more.
func (c *Store) Past(log *eventlog.Log, from eventlog.Position) bool {
	if c.past != nil {
		return false
	}
	c.past, c.follow.at = log, from
	return true
}

// follower finds the events that were reported now in the log of a run.
type follower struct {
	at      eventlog.Position // in the log: everything before was examined
	next    int               // the first entry that can be found there; those before it come earlier
	pending int               // all entries before it are in the log, or in a file of the history
}

// errAhead ends the walk through a log at an event that was not reported yet.
var errAhead = errors.New("ahead")

// locate walks through what was appended to the log, so that the events in it need not be kept here. Events
// that are not in the log yet, or never will be, stay here.
func (c *Store) locate() {
	if c.past == nil {
		return
	}
	size, err := c.past.Size()
	if err != nil || size <= c.follow.at.Offset {
		return
	}
	health, err := c.past.Each(context.Background(), c.follow.at, func(e eventlog.Entry) error {
		if e.Line == nil || c.matched(e) {
			c.follow.at = e.Next()
			return nil
		}
		return errAhead
	})
	switch {
	case err == nil:
		c.follow.at = health.Next
	case !errors.Is(err, errAhead):
		c.health.unreadable(err)
	}
	kept := c.events.end
	for ; c.follow.pending < c.len(); c.follow.pending++ {
		r, ok := c.record(c.follow.pending)
		if ok && !r.past && r.off >= c.events.flushed {
			kept = r.off
			break
		}
	}
	c.events.skip(kept)
}

// matched looks for the entry of a line of the log: both are in the order of their times. It returns false
// for a line that may belong to a later entry.
func (c *Store) matched(e eventlog.Entry) bool {
	var logged contract.Event // the event of the line, decoded when needed
	var sum uint32
	for n := c.follow.next; n < c.len(); n++ {
		r, ok := c.record(n)
		if !ok {
			continue
		}
		if r.at.After(e.At) {
			return true // it was not reported
		}
		if r.past || r.at.Before(e.At) {
			if n == c.follow.next {
				c.follow.next++ // it is not in the log, and will not be
			}
			continue
		}
		if logged.Body == nil {
			var err error
			if logged, err = contract.DecodeWritten(e.Line); err != nil {
				return true
			}
			c.line = encodeEvent(c.line[:0], logged.ID, reflect.ValueOf(logged.Body))
			sum = crc32.Checksum(c.line, castagnoli())
		}
		if r.kind == c.numbers.kind(reflect.TypeOf(logged.Body)) && (r.sum == sum || c.same(r, logged)) {
			r.past, r.off, r.sum, r.size = true, e.Position.Offset, e.Position.Prev.Sum, e.Size
			b := r.encode()
			c.index.rewrite(int64(n)*recordSize, b[:])
			c.follow.next = n + 1
			return true
		}
	}
	return false
}

// same reports whether an entry is an event of the log, in the form of the log: a line has rounded numbers,
// and an empty list where there was none.
func (c *Store) same(r record, logged contract.Event) bool {
	kept, err := c.event(r)
	if err == nil {
		logged, err = c.fit(logged)
	}
	if err != nil {
		return false
	}
	if c.line, err = contract.EncodeLine(c.line[:0], 0, r.at, kept); err != nil {
		return false
	}
	n := len(c.line)
	if c.line, err = contract.EncodeLine(c.line, 0, r.at, logged); err != nil {
		return false
	}
	return bytes.Equal(c.line[:n], c.line[n:])
}

// Recall adds an event of an earlier process, and returns it: it stays in its log, and is read from there
// when it is needed. Only the writer may call it.
func (c *Store) Recall(e eventlog.Entry) (contract.Event, error) {
	logged, err := contract.DecodeWritten(e.Line)
	if err != nil {
		return contract.Event{}, fmt.Errorf("read line %d of the event log: %w", e.N, err)
	}
	if c.over() {
		return logged, nil
	}
	defer c.version.Add(1)
	fit, err := c.fit(logged)
	if err != nil {
		return contract.Event{}, err
	}
	r := record{past: true, at: e.At, off: e.Position.Offset, sum: e.Position.Prev.Sum, size: e.Size}
	c.keep(r, fit, reflect.TypeOf(fit.Body))
	c.follow.next = c.len()
	return fit, nil
}

// fit makes an event fit for a screen.
func (c *Store) fit(e contract.Event) (contract.Event, error) {
	v := reflect.ValueOf(e.Body)
	return c.decode(v.Type(), string(encodeEvent(nil, e.ID, v)))
}

// CatchUp adds the entries of another store from the entry from on, and returns the next one. The other
// store may continue growing.
func (c *Store) CatchUp(other *Store, from int) int {
	for ; from < other.len(); from++ {
		r, ok := other.record(from)
		if !ok {
			continue
		}
		e, err := other.event(r)
		if err != nil {
			continue
		}
		v := reflect.ValueOf(e.Body)
		again := record{past: r.past, at: r.at, off: r.off, sum: r.sum, size: r.size}
		if !r.past {
			c.buf = encodeEvent(c.buf[:0], e.ID, v)
			again.sum, again.size = crc32.Checksum(c.buf, castagnoli()), len(c.buf)
		}
		c.keep(again, e, v.Type())
	}
	return from
}

// Succeed makes the store continue where another one ends: with the text that is arriving there, and a
// version that the other one never had. Nothing may be added to the other one any more.
func (c *Store) Succeed(other *Store) {
	c.live = other.live
	c.follow.at, c.follow.next = other.follow.at, c.len()-(other.len()-other.follow.next)
	c.version.Store(max(c.version.Load(), other.version.Load()) + 1)
}

// pastEvent reads an event from its log.
func (c *Store) pastEvent(r record) (contract.Event, error) {
	line := make([]byte, r.size)
	if _, err := c.past.ReadAt(line, r.off); err != nil {
		c.health.unreadable(err)
		return contract.Event{}, err
	}
	return c.decodePast(r, line)
}

// decodePast returns the event of a line.
func (c *Store) decodePast(r record, line []byte) (contract.Event, error) {
	e, err := eventlog.Parse(line, r.sum)
	if err == nil && e.Line == nil {
		err = errDamaged
	}
	if err != nil {
		c.health.unreadable(err)
		return contract.Event{}, err
	}
	logged, err := contract.DecodeWritten(e.Line)
	if err != nil {
		c.health.unreadable(err)
		return contract.Event{}, err
	}
	return c.fit(logged)
}

// logBytes are the bytes of a log, to be looked through.
type logBytes struct{ log *eventlog.Log }

func (b logBytes) len() int64 {
	n, err := b.log.Size()
	if err != nil {
		return 0
	}
	return n
}

func (b logBytes) readAt(p []byte, off int64) error {
	n, err := b.log.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}
