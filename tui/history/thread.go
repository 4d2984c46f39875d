package history

import (
	"context"
	"encoding/binary"
	"runtime"
	"sort"
	"strings"
)

// Thread is a sequence of entries, in the order in which they were reported.
type Thread struct {
	c      *Store
	list   *tape   // the numbers of its entries; nil: it has all
	picker *picker // of a filter, otherwise nil
}

func (c *Store) newThread() *Thread {
	var f file
	if c.area.disk != nil {
		f = &strip{area: c.area}
	}
	return &Thread{c: c, list: newTape(f, c.health, listChunk, listMemory)}
}

// All returns the thread of all events except text that is arriving.
func (c *Store) All() *Thread { return &Thread{c: c} }

// Talk returns the conversation.
func (c *Store) Talk() *Thread { return c.talk }

// Agent returns the stream of one agent: what it does and says, and what is said to it. It is empty as long
// as there is nothing.
func (c *Store) Agent(id string) *Thread {
	if t := c.agent(id); t != nil {
		return t
	}
	return c.newThread()
}

// agent finds or begins the thread of an agent; nil if there are too many.
func (c *Store) agent(id string) *Thread {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.agents[id]
	if !ok && len(c.agents) < maxAgents && len(id) <= maxID {
		t = c.newThread()
		c.agents[strings.Clone(id)] = t
	}
	return t
}

func (t *Thread) add(n int) {
	var b [numberSize]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	t.list.append(b[:])
}

// number returns the number of the entry i among all events.
func (t *Thread) number(i int) (int, bool) {
	if i < 0 || i >= t.Len() {
		return 0, false
	}
	if t.list == nil {
		return i, true
	}
	var b [numberSize]byte
	err := t.list.readAt(b[:], int64(i)*numberSize)
	runtime.KeepAlive(t) // the thread of a filter frees its room on the disk when it is no longer referenced
	return int(binary.LittleEndian.Uint64(b[:])), err == nil
}

// Number returns the number of the entry i among all events.
func (t *Thread) Number(i int) (int, bool) { return t.number(i) }

// Place returns the first entry that is the event n or later; Len if there is none.
func (t *Thread) Place(n int) int {
	return sort.Search(t.Len(), func(i int) bool {
		at, ok := t.number(i)
		return ok && at >= n
	})
}

// Len returns how many entries there are. It only grows.
func (t *Thread) Len() int {
	if t.list == nil {
		return t.c.len()
	}
	return int(t.list.len() / numberSize)
}

// Entry reads an entry, from the disk if it is an old one. It returns false if it could not be kept.
func (t *Thread) Entry(i int) (Entry, bool) {
	n, ok := t.number(i)
	if !ok {
		return Entry{}, false
	}
	return t.c.entry(n)
}

// Stamp changes when the entry does: its outcome came, or a subagent made progress. It is 0 if nothing is
// known of it.
func (t *Thread) Stamp(i int) uint64 {
	n, ok := t.number(i)
	if !ok {
		return 0
	}
	return t.c.stamp(n)
}

// Follow brings the thread of a filter up to date and reports whether it is; other threads always are. It
// may take time, so a screen calls it on a worker; afterwards there may be more entries. It stops early
// when ctx ends.
func (t *Thread) Follow(ctx context.Context) bool {
	if t.picker == nil {
		return true
	}
	defer runtime.KeepAlive(t)
	return t.picker.follow(ctx, t)
}
