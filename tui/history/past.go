package history

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// recentBytes bounds what [Recent] holds.
const recentBytes = 4 << 20

// Recent reads the last events of a log, n at most, oldest first. Whole says that there are
// no others before them.
func Recent(ctx context.Context, log *eventlog.Log, n int) (list []eventlog.Entry, whole bool, err error) {
	whole = true
	room := recentBytes
	err = log.Backward(ctx, eventlog.Position{}, func(e eventlog.Entry) bool {
		if e.Line == nil {
			return true
		}
		if len(list) == n || room < e.Size && len(list) > 0 {
			whole = false
			return false
		}
		room -= e.Size
		e.Line = bytes.Clone(e.Line)
		list = append(list, e)
		return true
	})
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, whole, err
}

// Past sets the log that the entries for [Chronicle.Recall] are from. It stays the caller's,
// who closes it when nothing is read any more.
func (c *Chronicle) Past(log *eventlog.Log) { c.past = log }

// Recall takes up an event of an earlier life, and returns it: it stays in its log, and is
// read there when it is looked at. Like Add it is the writer's.
func (c *Chronicle) Recall(e eventlog.Entry) (contract.Event, error) {
	told, err := contract.DecodeLine(e.Line)
	if err != nil {
		return contract.Event{}, fmt.Errorf("read line %d of the event log: %w", e.N, err)
	}
	if c.over() {
		return told.Event, nil
	}
	defer c.version.Add(1)
	fit, err := c.fit(told.Event)
	if err != nil {
		return contract.Event{}, err
	}
	r := record{past: true, at: e.At, off: e.Position.Offset, sum: e.Position.Prev.Sum, size: e.Size}
	c.keep(r, fit, reflect.TypeOf(fit.Body))
	return fit, nil
}

// fit makes an event fit for a screen.
func (c *Chronicle) fit(e contract.Event) (contract.Event, error) {
	v := reflect.ValueOf(e.Body)
	return c.decode(v.Type(), string(encodeEvent(nil, e.ID, v)))
}

// CatchUp adds the entries of another chronicle from the entry from on, and returns where it
// came to. The other one may go on growing.
func (c *Chronicle) CatchUp(other *Chronicle, from int) int {
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
		c.buf = encodeEvent(c.buf[:0], e.ID, v)
		c.keep(record{at: r.at, sum: crc32.Checksum(c.buf, castagnoli), size: len(c.buf)}, e, v.Type())
	}
	return from
}

// Succeed has the chronicle go on where another one ends: with the text that is arriving
// there, and a version that is none of the other's. The other one is not added to any more.
func (c *Chronicle) Succeed(other *Chronicle) {
	c.lives = other.lives
	c.version.Store(max(c.version.Load(), other.version.Load()) + 1)
}

// pastEvent reads an event from its log.
func (c *Chronicle) pastEvent(r record) (contract.Event, error) {
	line := make([]byte, r.size)
	if _, err := c.past.ReadAt(line, r.off); err != nil {
		c.health.unreadable(err)
		return contract.Event{}, err
	}
	return c.decodePast(r, line)
}

// decodePast is the event of a line.
func (c *Chronicle) decodePast(r record, line []byte) (contract.Event, error) {
	e, err := eventlog.Parse(line, r.sum)
	if err == nil && e.Line == nil {
		err = errDamaged
	}
	if err != nil {
		c.health.unreadable(err)
		return contract.Event{}, err
	}
	told, err := contract.DecodeLine(e.Line)
	if err != nil {
		c.health.unreadable(err)
		return contract.Event{}, err
	}
	return c.fit(told.Event)
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
