package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const (
	// mostPast is how many earlier events a page receives when it opens.
	mostPast = 3000
	// enough is how many bytes of events are sent at once, not counting the last event.
	enough = 64 << 10
)

// webPlace is how far a page has read: the first Process lines of the event log, which belong to earlier processes,
// and after them the events of one process up to Seq.
type webPlace struct {
	Process uint64
	Seq     uint64
	Set     bool // false for a page that has read nothing
}

func (p webPlace) String() string { return fmt.Sprintf("%d.%d", p.Process, p.Seq) }

// parsePlace parses a place in the format of String.
func parsePlace(text string) (p webPlace, err error) {
	if text == "" {
		return p, nil
	}
	_, err = fmt.Sscanf(text, "%d.%d", &p.Process, &p.Seq)
	if err != nil || p.String() != text {
		return webPlace{}, fmt.Errorf("%.40q is not a position", text)
	}
	p.Set = true
	return p, nil
}

// seqOf returns the seq of a line; 0: it has none.
func seqOf(line []byte) uint64 {
	var l struct {
		Seq uint64 `json:"seq"`
	}
	if json.Unmarshal(line, &l) != nil {
		return 0
	}
	return l.Seq
}

// catchUp brings the page to the point from which the current process can continue: it sends the events of earlier
// processes.
func (f *webFollower) catchUp(ctx context.Context, st control.Status) error {
	switch {
	case f.at.Set && f.at.Process == st.LogLines: // the connection was lost, not the process
		return nil
	case !f.at.Set && st.Seq >= mostPast:
		f.at = webPlace{Process: st.LogLines, Seq: st.Seq - mostPast, Set: true}
		f.out.send(partSkipped, "", skippedPart{f.at.Seq})
		return nil
	}
	if st.LogLines > 0 {
		if err := f.past(ctx, st.LogLines); err != nil {
			return err
		}
	}
	f.at = webPlace{Process: st.LogLines, Set: true}
	return nil
}

// past sends the events after the page's place in the first upTo lines of the event log, but not more than a page
// can show. It moves the place after them.
func (f *webFollower) past(ctx context.Context, upTo uint64) error {
	log, err := f.server.runs.Log(f.server.run)
	if err != nil {
		return err
	}
	defer log.Close()
	lines, left, err := f.behind(ctx, log, upTo)
	if err != nil {
		return err
	}
	if left {
		f.out.send(partSkipped, "", skippedPart{})
	}
	var list portion
	for _, line := range lines {
		list.add(f, line.raw, line.place)
	}
	list.send(f)
	return nil
}

// portion is a list of events that is sent at once. It is small, because a browser with a slow connection must
// receive it completely in time; otherwise it would make no progress.
type portion struct {
	lines []json.RawMessage
	bytes int
}

// add adds an event and moves the place after it; raw is nil for an event that the page does not show. add sends
// the portion when it is large enough.
func (p *portion) add(f *webFollower, raw json.RawMessage, at webPlace) {
	if f.at = at; raw == nil {
		return
	}
	p.lines, p.bytes = append(p.lines, raw), p.bytes+len(raw)
	if p.bytes >= enough {
		p.send(f)
	}
}

// send sends the collected events.
func (p *portion) send(f *webFollower) {
	if len(p.lines) > 0 {
		f.out.send(partEvents, f.at.String(), p.lines)
	}
	*p = portion{}
}

// pastLine is an event of the log, prepared for the page, with the place after it.
type pastLine struct {
	raw   json.RawMessage
	place webPlace
}

// behind returns the last events of the log after the page's place. left reports that there are more.
func (f *webFollower) behind(ctx context.Context, log *journal.EventLog,
	upTo uint64) (lines []pastLine, left bool, err error) {
	at, found := webPlace{Set: true}, false // the current place; whether the page's process was found
	_, err = log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.N > upTo {
			return journal.Enough
		}
		if e.Line == nil {
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			at.Process = e.N - 1
			if f.at.Set && !found && e.N > f.at.Process { // records may come before it
				at.Process, found = f.at.Process, true
			}
		}
		at.Seq = seqOf(e.Line)
		if f.at.Set && !at.after(f.at) {
			return nil
		}
		raw := pageLine(e.Line)
		if raw == nil {
			return nil
		}
		lines = append(lines, pastLine{raw, at})
		if len(lines) >= 2*mostPast {
			lines, left = slices.Delete(lines, 0, mostPast), true
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("read the event log: %w", err)
	}
	if extra := len(lines) - mostPast; extra > 0 {
		lines, left = lines[extra:], true
	}
	return lines, left, nil
}

// after reports whether a place is after another.
func (p webPlace) after(q webPlace) bool {
	return p.Process > q.Process || p.Process == q.Process && p.Seq > q.Seq
}
