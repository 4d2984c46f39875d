package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Cursor is the reading position of one client. Only one goroutine uses it.
type Cursor struct {
	hub    *Hub
	place  uint64 // in the hub, of the last event read; 0: not kept there
	seq    uint64 // of that event
	pieces bool
	open   func() (*journal.EventLog, error)

	// from is where to continue in the event log, and logged is the number of the last event before that place.
	// counted is set when the first event of this process was passed.
	from    journal.LogPosition
	logged  uint64
	counted bool
}

// Cursor returns a cursor that reads the events after number seq, with the pieces of text between them if pieces is
// set. For events that the hub does not keep any more, the cursor opens the log at from, a position before the
// first event of this process.
func (h *Hub) Cursor(
	seq uint64,
	pieces bool,
	from journal.LogPosition,
	open func() (*journal.EventLog, error),
) *Cursor {
	return &Cursor{hub: h, place: h.find(seq), seq: seq, pieces: pieces, from: from, open: open}
}

// Next returns at most most lines, in the form of contract.EncodeLine but without the line feed. skipped is how
// many events before them are lost, because neither the hub nor the log has them. more reports whether there may be
// more to read.
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

// logLines reads lines after the cursor from the log, up to the oldest event that the hub keeps.
func (c *Cursor) logLines(ctx context.Context, most int, oldest uint64) (lines []string, err error) {
	log, err := c.open()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	health, err := log.Each(ctx, c.from, func(e journal.LogEntry) error {
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
