package history

import (
	"hash/crc32"
	"reflect"
	"runtime"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// encodeEvent appends the encoded event, as it is kept.
func encodeEvent(dst []byte, id string, body reflect.Value) []byte {
	e := encoder{out: dst, limit: len(dst) + kept}
	e.text(lineID(id), true)
	e.value(body, true)
	return e.out
}

// lineID returns an id in the form in which it is kept.
func lineID(id string) string { return sanitize.Line(id, maxID/4) }

// decode returns the event of a payload.
func (c *Store) decode(typ reflect.Type, payload string) (contract.Event, error) {
	d := decoder{in: payload}
	e := contract.Event{ID: d.text()}
	v := reflect.New(typ).Elem()
	d.value(v)
	body, ok := v.Interface().(contract.Body)
	if d.bad || d.in != "" || !ok {
		return contract.Event{}, errDamaged
	}
	e.Body = body
	return e, nil
}

// len returns how many entries there are.
func (c *Store) len() int { return int(c.index.len() / recordSize) }

// record reads the record of an entry.
func (c *Store) record(n int) (record, bool) {
	var b [recordSize]byte
	for range 4 {
		if c.index.readAt(b[:], int64(n)*recordSize) != nil {
			return record{}, false
		}
		if r, ok := decodeRecord(b[:]); ok {
			return r, true
		}
		runtime.Gosched() // an outcome is being written at this moment
	}
	c.health.unreadable(errDamaged)
	return record{}, false
}

// event reads the event of a record.
func (c *Store) event(r record) (contract.Event, error) {
	if r.past {
		return c.pastEvent(r)
	}
	payload := make([]byte, r.size)
	if err := c.events.readAt(payload, r.off); err != nil {
		return contract.Event{}, err
	}
	return c.decodeRecorded(r, payload)
}

func (c *Store) decodeRecorded(r record, payload []byte) (contract.Event, error) {
	typ := c.numbers.typ(r.kind)
	if typ == nil || crc32.Checksum(payload, castagnoli()) != r.sum {
		c.health.unreadable(errDamaged)
		return contract.Event{}, errDamaged
	}
	return c.decode(typ, string(payload))
}

// entry reads an entry. If it was lost, it returns false, with what is known of it.
func (c *Store) entry(n int) (Entry, bool) {
	r, ok := c.record(n)
	if !ok {
		return Entry{N: n}, false
	}
	e := Entry{N: n, At: r.at}
	var err error
	if e.Event, err = c.event(r); err != nil {
		return e, false
	}
	if r.link > 0 && !r.outcome {
		if o, ok := c.record(int(r.link - 1)); ok {
			if event, err := c.event(o); err == nil {
				e.Outcome, e.OutcomeAt = &event, o.at
			}
		}
	}
	e.Edited = c.latest(n)
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.progress[n]; ok {
		e.Progress = &p.event
	}
	return e, true
}

// serialBits are the bits of a stamp that count the progress reports of a running subagent, or the changes
// of a message.
const serialBits = 20

// stamp returns a value that changes whenever the entry does.
func (c *Store) stamp(n int) uint64 {
	r, ok := c.record(n)
	if !ok {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return uint64(r.link+1)<<serialBits | (c.progress[n].serial+c.edits[n].serial)&(1<<serialBits-1)
}
