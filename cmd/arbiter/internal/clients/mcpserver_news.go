package clients

import (
	"context"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// news collects the events of a run after a cursor. It reads only the event log, so the result does not depend on
// which process plays the run, or on restarts.
type news struct {
	log    *journal.EventLog
	line   func(contract.Event) string
	from   journal.LogPosition
	cursor uint64    // the number of the last line read
	at     time.Time // time of the last line that a model was shown; zero: none of this process
	lines  []string
	more   bool
	last   int // number of last lines wanted; 0: all after the cursor
}

// maxRead is how many lines readLast reads at most.
const maxRead = 10_000

// openNews opens a run's event log after a cursor. The caller closes the log.
func (s *MCPServer) openNews(ctx context.Context, run string, since uint64) (*news, error) {
	log, err := s.o.Runs.Log(run)
	if err != nil {
		return nil, err
	}
	n := &news{log: log, line: s.o.Line}
	if since > 0 {
		err = log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
			if e.N > since {
				return true
			}
			n.from, n.cursor, n.at = e.Next(), e.N, e.At
			return false
		})
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return n, nil
}

// read collects new lines, up to the number that a model is shown at once.
func (n *news) read(ctx context.Context) error {
	if n.more {
		return nil
	}
	if n.last > 0 {
		return n.readLast(ctx)
	}
	health, err := n.log.Each(ctx, n.from, func(e journal.LogEntry) error {
		if line := n.render(e); line != "" {
			if len(n.lines) == maxNews {
				n.more = true
				return journal.Enough
			}
			n.lines = append(n.lines, line)
		}
		n.from, n.cursor = e.Next(), e.N
		return nil
	})
	if err == nil && health.Next.Offset > n.from.Offset {
		n.from = health.Next
	}
	return err
}

// render renders an entry as one line; empty: it is not for a model.
func (n *news) render(e journal.LogEntry) string {
	if e.Line == nil {
		return ""
	}
	event, err := contract.DecodeWritten(e.Line)
	if _, again := event.Body.(contract.Session); again {
		n.at = time.Time{} // a resumed run asks its open questions again
	}
	if err != nil || !worth(event.Body) {
		return ""
	}
	return sanitize.Line(n.line(event), mcpMaxLine)
}

// readLast collects the last lines.
func (n *news) readLast(ctx context.Context) error {
	read := 0
	n.lines = nil
	err := n.log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		n.cursor = max(n.cursor, e.N)
		if line := n.render(e); line != "" {
			n.lines = append(n.lines, line)
		}
		read++
		return len(n.lines) < n.last && read < maxRead
	})
	slices.Reverse(n.lines)
	return err
}

// result returns the result of the last process that played the run; nil if it reported none.
func (n *news) result(ctx context.Context) (result *contract.Result, err error) {
	err = n.log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		if e.Line == nil {
			return true
		}
		event, bad := contract.DecodeWritten(e.Line)
		if bad != nil {
			return true
		}
		switch b := event.Body.(type) {
		case contract.Result:
			result = &b
			return false
		case contract.Session:
			return false
		}
		return true
	})
	return result, err
}

// worth reports whether an event is shown to a model: it sees the work, but not each tool call.
func worth(b contract.Body) bool {
	switch b := b.(type) {
	case contract.ToolCall, contract.Rejected, contract.Withdrawn, contract.Compact, contract.ContextWarning:
		return false
	case contract.Session:
		return b.Resumed
	case contract.Permission:
		return b.By == contract.Human
	case contract.Notice:
		return true
	}
	return !contract.Narrates(b) && !contract.Fine(b)
}

// fill copies the news to a view.
func (n *news) fill(v *MCPView) {
	v.News, v.Cursor, v.More = n.lines, n.cursor, n.more
	if n.more {
		v.Next = "Call wait again with the cursor as since: there is more news."
	}
}
