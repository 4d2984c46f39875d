package history

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// Filter picks events. An empty field picks all.
type Filter struct {
	Agent string   // id of a party to the event
	Kinds []string // names of events; "unknown" stands for those that this version does not know
	Text  string   // contained in it, ignoring case
}

// picker fills the thread of a filter. The result is on the disk like any thread.
type picker struct {
	filter Filter
	needle needle

	mu   sync.Mutex // one caller of Follow at a time; readers do not need it
	next int        // the first entry not examined
}

// Filter returns the thread of what a filter picks. It is empty until Follow is called.
func (c *Store) Filter(f Filter) *Thread {
	if f.Agent == "" && len(f.Kinds) == 0 && f.Text == "" {
		return c.All()
	}
	f.Kinds = slices.Clone(f.Kinds)
	t := c.newThread()
	t.picker = &picker{filter: f, needle: newNeedle(f.Text)}
	if s, ok := t.list.disk.(*strip); ok {
		runtime.AddCleanup(t, func(s *strip) { s.release() }, s)
	}
	return t
}

// looks is how many entries are examined between two checks of the context.
const looks = 256

func (p *picker) follow(ctx context.Context, t *Thread) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := t.c.len() // before the lookup, so that the result of the lookup is valid for all of them
	party, kinds := t.c.numbers.lookup(p.filter)
	for s := newScanner(t.c, false); p.next < end; p.next++ {
		if p.next%looks == 0 && ctx.Err() != nil {
			return false
		}
		r, ok := s.record(p.next)
		if !ok {
			continue
		}
		if p.filter.Agent != "" && (party == 0 || r.agent != party && r.peer != party) {
			continue
		}
		if len(p.filter.Kinds) > 0 && !kinds[r.kind] {
			continue
		}
		if p.filter.Text != "" && !s.matches(r, &p.needle) {
			continue
		}
		t.add(p.next)
	}
	return true
}
