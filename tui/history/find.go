package history

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Filter picks events. An empty field picks all.
type Filter struct {
	Agent string   // id of a party to the event
	Kinds []string // names of events; "unknown" stands for those that this version does not know
	Text  string   // contained in it, ignoring case
}

// Filter returns the thread of what a filter picks. It is empty until Follow is called.
func (c *Store) Filter(f Filter) *Thread {
	if f.Agent == "" && len(f.Kinds) == 0 && f.Text == "" {
		return c.All()
	}
	t := c.newThread()
	t.filter = &f
	return t
}

// Follow brings the thread of a filter up to date and reports whether it is; other threads always are. It
// may take time, so a screen calls it on a worker; afterwards there may be more entries. It stops early
// when ctx ends.
func (t *Thread) Follow(ctx context.Context) bool {
	if t.filter == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := newScanner(t.c, t.filter.Text, false)
	t.c.mu.RLock()
	end := len(t.c.records)
	party := t.c.parties[t.filter.Agent]
	var kinds []uint16
	for _, name := range t.filter.Kinds {
		kinds = append(kinds, t.c.kinds[name])
	}
	t.c.mu.RUnlock()
	for ; t.next < end; t.next++ {
		if ctx.Err() != nil {
			return false
		}
		r, _, _ := t.c.record(t.next)
		if t.filter.Agent != "" && (party == 0 || r.agent != party && r.peer != party) ||
			len(kinds) > 0 && (r.kind == 0 || !slices.Contains(kinds, r.kind)) ||
			t.filter.Text != "" && !s.matches(t.next) {
			continue
		}
		t.c.mu.Lock()
		t.list = append(t.list, int32(t.next))
		t.c.mu.Unlock()
	}
	return true
}

// Find looks for an entry of a thread that contains a text, ignoring case, starting with the entry from,
// forwards or back. The outcome of an entry counts as part of it. The time is proportional to the entries
// it examines; it gives up when ctx ends.
func (c *Store) Find(ctx context.Context, t *Thread, text string, from int, back bool) (i int, ok bool) {
	if text == "" {
		return 0, false
	}
	step := 1
	if back {
		step = -1
		from = min(from, t.Len()-1)
	} else {
		from = max(from, 0)
	}
	s, outcomes := newScanner(c, text, back), newScanner(c, text, false)
	for i := from; ctx.Err() == nil; i += step {
		n, ok := t.Number(i)
		if !ok {
			break
		}
		if s.matches(n) {
			return i, true
		}
		// In the thread of all entries, an outcome is an entry of its own.
		if r, _, _ := c.record(n); t.list != nil && r.link > 0 && outcomes.matches(int(r.link-1)) {
			return i, true
		}
	}
	return 0, false
}

// scanner looks for a text in many entries, in order.
type scanner struct {
	c       *Store
	lower   string
	escaped string // in its JSON form, if that is different
	back    bool

	buf []byte // of a log, for the next lines
	log *journal.EventLog
	off int64
}

func newScanner(c *Store, text string, back bool) *scanner {
	s := &scanner{c: c, lower: strings.ToLower(text), back: back}
	if quoted, err := jsonl.Marshal(s.lower); err == nil {
		if inner := string(quoted[1 : len(quoted)-1]); inner != s.lower {
			s.escaped = inner
		}
	}
	return s
}

// matches reports whether an entry contains the text. It decodes only lines that may contain it.
func (s *scanner) matches(n int) bool {
	if r, _, _ := s.c.record(n); r.log > 0 {
		line := s.line(r)
		// A line with escapes must be decoded: its bytes may differ from its text.
		if line != nil && !s.in(string(bytes.ToLower(line)), true) && !bytes.Contains(line, []byte(`\u`)) {
			return false
		}
	}
	_, e, ok := s.c.event(n)
	return ok && eachText(reflect.ValueOf(e.Body), func(text string, raw bool) bool {
		return s.in(strings.ToLower(text), raw)
	})
}

func (s *scanner) in(lower string, raw bool) bool {
	return strings.Contains(lower, s.lower) || raw && s.escaped != "" && strings.Contains(lower, s.escaped)
}

// scanBuffer is how much of a log is read at once.
const scanBuffer = 64 << 10

// line returns the line of an event in the log, valid until the next call; nil if it is longer than the
// buffer, or cannot be read.
func (s *scanner) line(r record) []byte {
	log := s.c.log(r)
	for range 2 {
		if at := r.off - s.off; log == s.log && at >= 0 && at < int64(len(s.buf)) {
			if end := bytes.IndexByte(s.buf[at:], '\n'); end >= 0 {
				return s.buf[at:][:end]
			}
		}
		s.log, s.off = log, r.off
		if s.back {
			s.off = max(r.off-scanBuffer/4*3, 0)
		}
		s.buf = slices.Grow(s.buf[:0], scanBuffer)[:scanBuffer]
		n, _ := log.ReadAt(s.buf, s.off) // an error is reported when the line is decoded
		s.buf = s.buf[:n]
	}
	return nil
}
