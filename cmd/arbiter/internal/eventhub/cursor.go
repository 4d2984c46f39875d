package eventhub

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// Cursor is how far one client has read. One goroutine uses it.
type Cursor struct {
	hub    *Hub
	place  uint64 // in the hub, of the last event that was read; 0: it is not kept
	seq    uint64 // of that event
	pieces bool
	open   func() (*eventlog.Log, error)

	// Where to continue in the event log, and the number of the last event before that place. Counted
	// says that the first event of this process was passed.
	from    eventlog.Position
	logged  uint64
	counted bool
}

// Cursor reads the events behind a number, with the pieces of text between them if they are wanted. The
// log is opened, from a position before the first event of this process on, where the hub does not keep
// an event any more.
func (h *Hub) Cursor(seq uint64, pieces bool, from eventlog.Position, open func() (*eventlog.Log, error)) *Cursor {
	return &Cursor{hub: h, place: h.find(seq), seq: seq, pieces: pieces, from: from, open: open}
}

// Next returns at most so many lines, as contract.EncodeLine makes them but without the line feed,
// and how many events before them are lost: neither the hub nor the log has them. More reports that
// there may be more to read.
func (c *Cursor) Next(ctx context.Context, most int) (lines []string, skipped uint64, more bool, err error) {
	list, kept, next, gone := c.hub.after(c.place, most)
	if gone && c.seq+1 < next {
		lines, err = c.logLines(ctx, most, next)
		if err != nil || len(lines) > 0 {
			return lines, 0, true, err
		}
		skipped = next - 1 - c.seq
	}
	if gone {
		c.place, c.seq = kept, next-1
		list, _, _, _ = c.hub.after(c.place, most)
	}
	for _, n := range list {
		c.place++
		if n.piece && !c.pieces {
			continue
		}
		line, err := n.line()
		if err != nil {
			return nil, skipped, false, fmt.Errorf("event %d: %w", n.seq, err)
		}
		lines = append(lines, line)
		c.seq = n.seq
	}
	return lines, skipped, len(list) > 0, nil
}

var errEnough = errors.New("enough")

// logLines reads lines behind the cursor from the log, up to the oldest event that the hub keeps.
func (c *Cursor) logLines(ctx context.Context, most int, oldest uint64) (lines []string, err error) {
	log, err := c.open()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	health, err := log.Each(ctx, c.from, func(e eventlog.Entry) error {
		if len(lines) == most {
			return errEnough
		}
		if e.Line == nil {
			c.from = e.Next()
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			c.counted, c.logged = true, 0
		}
		if c.counted {
			if c.logged+1 >= oldest {
				return errEnough
			}
			c.logged++
			if c.logged > c.seq {
				c.seq = c.logged
				lines = append(lines, string(e.Line))
			}
		}
		c.from = e.Next()
		return nil
	})
	if err == nil {
		c.from = health.Next
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return lines, err
}
