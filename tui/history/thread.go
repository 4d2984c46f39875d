package history

import (
	"sort"
	"strings"
	"sync"
)

// Thread is a sequence of entries, in the order in which they were reported.
type Thread struct {
	c    *Store
	list []int32 // the numbers of its entries; nil: it has all

	filter *Filter    // nil: none
	mu     sync.Mutex // one caller of Follow at a time; readers do not need it
	next   int        // the first entry that was not examined
}

func (c *Store) newThread() *Thread { return &Thread{c: c, list: []int32{}} }

// All returns the thread of all events except text that is arriving.
func (c *Store) All() *Thread { return &Thread{c: c} }

// Talk returns the conversation.
func (c *Store) Talk() *Thread { return c.talk }

// Agent returns the stream of one agent: what it does and says, and what is said to it. It is empty as long
// as there is nothing.
func (c *Store) Agent(id string) *Thread {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.agent(id)
}

// agent finds or begins the thread of an agent. If there are too many, it is not kept.
func (c *Store) agent(id string) *Thread {
	t, ok := c.agents[id]
	if !ok {
		t = c.newThread()
		if len(c.agents) < maxAgents && len(id) <= maxID {
			c.agents[strings.Clone(id)] = t
		}
	}
	return t
}

// Number returns the number of the entry i among all events.
func (t *Thread) Number(i int) (int, bool) {
	t.c.mu.RLock()
	defer t.c.mu.RUnlock()
	switch {
	case i < 0 || i >= t.len():
		return 0, false
	case t.list == nil:
		return i, true
	}
	return int(t.list[i]), true
}

// Place returns the first entry that is the event n or later; Len if there is none.
func (t *Thread) Place(n int) int {
	return sort.Search(t.Len(), func(i int) bool {
		at, ok := t.Number(i)
		return ok && at >= n
	})
}

// Len returns how many entries there are. It only grows.
func (t *Thread) Len() int {
	t.c.mu.RLock()
	defer t.c.mu.RUnlock()
	return t.len()
}

func (t *Thread) len() int {
	if t.list == nil {
		return len(t.c.records)
	}
	return len(t.list)
}

// Entry reads an entry, from the log if it is not in memory. It returns false if it could not be kept.
func (t *Thread) Entry(i int) (Entry, bool) {
	n, ok := t.Number(i)
	if !ok {
		return Entry{}, false
	}
	return t.c.entry(n)
}

// Stamp changes when the entry does: its outcome came, or a subagent made progress. It is 0 if there is no
// such entry.
func (t *Thread) Stamp(i int) uint64 {
	n, ok := t.Number(i)
	if !ok {
		return 0
	}
	return t.c.stamp(n)
}
