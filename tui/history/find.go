package history

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Find looks for an entry of a thread that contains a text, ignoring case, starting with the entry from,
// forwards or back. The outcome of an entry counts as part of it. The time is proportional to the entries
// it examines; it gives up when ctx ends.
func (c *Store) Find(ctx context.Context, t *Thread, text string, from int, back bool) (i int, ok bool) {
	if text == "" {
		return 0, false
	}
	needle := newNeedle(text)
	step, end := 1, t.Len()
	if back {
		step, end = -1, -1
		from = min(from, t.Len()-1)
	} else {
		from = max(from, 0)
	}
	s, outcomes := newScanner(c, back), newScanner(c, false)
	for i := from; (i-end)*step < 0; i += step {
		if i%looks == 0 && ctx.Err() != nil {
			return 0, false
		}
		n, ok := t.number(i)
		if !ok {
			continue
		}
		r, ok := s.record(n)
		if !ok {
			continue
		}
		if s.matches(r, &needle) {
			return i, true
		}
		if t.list == nil || r.link == 0 || r.outcome {
			continue // in the thread of all entries, an outcome is an entry of its own
		}
		if r, ok := outcomes.record(int(r.link - 1)); ok && outcomes.matches(r, &needle) {
			return i, true
		}
	}
	return 0, false
}

// needle is the text of a search.
type needle struct {
	lower   string
	escaped string // in its JSON form, if that is different
	ascii   bool
	scratch []byte
}

func newNeedle(text string) needle {
	n := needle{lower: strings.ToLower(text), ascii: true}
	if quoted, err := jsonl.Marshal(n.lower); err == nil {
		if inner := string(quoted[1 : len(quoted)-1]); inner != n.lower {
			n.escaped = inner
		}
	}
	for i := range len(text) {
		n.ascii = n.ascii && text[i] < utf8.RuneSelf
	}
	return n
}

// maybe reports whether a payload may contain the text. It is quick, and reliable if it returns false.
func (n *needle) maybe(payload []byte) bool {
	if n.ascii {
		n.scratch = append(n.scratch[:0], payload...)
		for i, b := range n.scratch {
			if b-'A' < 26 {
				n.scratch[i] = b | 0x20
			}
		}
	} else {
		n.scratch = append(n.scratch[:0], bytes.ToLower(payload)...)
	}
	return bytes.Contains(n.scratch, []byte(n.lower)) || n.escaped != "" && bytes.Contains(n.scratch, []byte(n.escaped))
}

// in reports whether an event contains the text.
func (n *needle) in(e contract.Event) bool {
	return eachText(reflect.ValueOf(e.Body), func(s string, raw bool) bool {
		s = strings.ToLower(s)
		return strings.Contains(s, n.lower) || raw && n.escaped != "" && strings.Contains(s, n.escaped)
	})
}

// scanner reads many entries in order.
type scanner struct {
	c      *Store
	index  window
	events window
	past   window
}

func newScanner(c *Store, back bool) *scanner {
	s := &scanner{c: c, index: window{tape: c.index, back: back}, events: window{tape: c.events, back: back}}
	if c.past != nil {
		s.past = window{tape: logBytes{c.past}, back: back}
	}
	return s
}

func (s *scanner) record(n int) (record, bool) {
	if b, err := s.index.at(int64(n)*recordSize, recordSize); err == nil {
		if r, ok := decodeRecord(b); ok {
			return r, true
		}
	}
	return s.c.record(n)
}

func (s *scanner) matches(r record, n *needle) bool {
	if r.past {
		// A line with escapes must be decoded: the raw bytes may differ from its text.
		line, err := s.past.at(r.off, r.size)
		if err != nil || !n.maybe(line) && !bytes.Contains(line, []byte(`\u`)) {
			return false
		}
		e, err := s.c.decodePast(r, line)
		return err == nil && n.in(e)
	}
	payload, err := s.events.at(r.off, r.size)
	if err != nil || !n.maybe(payload) {
		return false
	}
	e, err := s.c.decodeRecorded(r, payload)
	return err == nil && n.in(e)
}

// Sizes of a window, for jumps and for sequential reading.
const (
	leastWindow = 8 << 10
	mostWindow  = 256 << 10
)

// window reads a tape in order, forwards or back, in large pieces if it pays.
type window struct {
	tape interface {
		len() int64
		readAt(p []byte, off int64) error
	}
	back bool
	buf  []byte
	off  int64 // of buf
	size int
}

// at returns n bytes at off, valid until the next call.
func (w *window) at(off int64, n int) ([]byte, error) {
	end := off + int64(n)
	if off >= w.off && end <= w.off+int64(len(w.buf)) {
		return w.buf[off-w.off:][:n], nil
	}
	// Near the previous window: sequential reading.
	if near := int64(len(w.buf)); near > 0 && end > w.off-near && off < w.off+2*near {
		w.size = min(2*w.size, mostWindow)
	} else {
		w.size = leastWindow
	}
	from, to := off, end
	if w.back {
		from = max(min(from, end-int64(w.size)), 0)
	} else {
		to = min(max(to, off+int64(w.size)), w.tape.len())
	}
	if to >= end {
		if err := w.load(from, to); err == nil {
			return w.buf[off-w.off:][:n], nil
		}
	}
	if err := w.load(off, end); err != nil { // a part of the rest was lost
		return nil, err
	}
	return w.buf, nil
}

func (w *window) load(from, to int64) error {
	n := int(to - from)
	if cap(w.buf) < n {
		w.buf = make([]byte, n)
	}
	w.buf, w.off = w.buf[:n], from
	err := w.tape.readAt(w.buf, from)
	if err != nil {
		w.buf = w.buf[:0]
	}
	return err
}
