package history

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

// Options set where a store is kept.
type Options struct {
	Dir    string // for the scratch files; empty: memory only
	Memory int    // bytes in memory, at least 2 MiB; 0: 4 MiB
	Disk   int64  // most bytes of events in the files, after which the disk counts as full; 0: 4 GiB
}

const (
	leastMemory   = 2 << 20
	defaultMemory = 4 << 20
	defaultDisk   = 4 << 30

	eventsChunk = 256 << 10
	indexChunk  = 512 * recordSize
	listChunk   = 512 * numberSize
	listMemory  = 4096 * numberSize

	numberSize = 8 // of an entry's number in a thread
	maxAgents  = 4096
)

// Store holds all events.
type Store struct {
	disk    disk
	health  *health
	events  *tape // payloads
	index   *tape // records
	area    *area // of the threads
	talk    *Thread
	past    *eventlog.Log // of the run and its earlier processes; nil: there is none
	live    *liveTexts
	numbers numbers
	version atomic.Uint64

	// Owned by the writer.
	buf    []byte
	line   []byte
	open   openSet
	oldest int   // entries before it are not only in memory, and the lost ones are counted
	hole   int64 // the end of the lost events, when it was last checked
	follow follower

	mu       sync.Mutex
	closed   bool
	agents   map[string]*Thread
	progress map[int]progress // of running subagents, by their entry
	edits    map[int]edit     // of messages, by their first entry
	lost     int
}

// progress is the latest progress of a running subagent.
type progress struct {
	serial uint64
	event  contract.SubagentProgress
}

// Open opens a store. If a directory cannot be used, that is not an error: everything is then kept in memory,
// as on a full disk.
func Open(o Options) (*Store, error) {
	if o.Memory < 0 || o.Disk < 0 {
		return nil, fmt.Errorf("open the history: %d bytes of memory, %d of disk", o.Memory, o.Disk)
	}
	d, err := scratch(o.Dir)
	if d.events != nil {
		d.events = capped{d.events, cmp.Or(o.Disk, defaultDisk)}
	}
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	return begin(d, err, max(o.Memory, leastMemory)), nil
}

func begin(d disk, startErr error, memory int) *Store {
	h := &health{write: startErr}
	c := &Store{
		disk: d, health: h,
		events: newTape(d.events, h, eventsChunk, memory/4*3),
		index:  newTape(d.index, h, indexChunk, memory/4),
		area:   &area{disk: d.lists}, live: &liveTexts{},
		numbers: numbers{types: []reflect.Type{nil}, kinds: make(map[reflect.Type]uint8), ids: make(map[string]uint16)},
		agents:  make(map[string]*Thread), progress: make(map[int]progress), edits: make(map[int]edit),
	}
	c.talk = c.newThread()
	return c
}

// Close closes the files. Nothing can be read afterwards.
func (c *Store) Close() error {
	c.mu.Lock()
	done := c.closed
	c.closed = true
	c.mu.Unlock()
	if done || c.disk.close == nil {
		return nil
	}
	if err := c.disk.close(); err != nil {
		return fmt.Errorf("close the history: %w", err)
	}
	return nil
}

// Version grows with every event, including text that is arriving.
func (c *Store) Version() uint64 { return c.version.Load() }

// Live returns the text of an agent that is arriving, until the event that contains it comes.
func (c *Store) Live(agent string) (Live, bool) { return c.live.get(agent) }

// LiveEnd is Live with at most about most bytes of each text: its end.
func (c *Store) LiveEnd(agent string, most int) (Live, bool) { return c.live.end(agent, most) }

// Lost returns how many entries could not be kept, and the current error of the disk.
func (c *Store) Lost() (int, error) {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	return lost, c.health.err()
}

// Add adds an event. Only one goroutine may call it. It may wait for the disk.
func (c *Store) Add(at time.Time, e contract.Event) {
	v := reflect.Indirect(reflect.ValueOf(e.Body))
	if !v.IsValid() || c.over() {
		return
	}
	defer c.version.Add(1)
	if d, ok := v.Interface().(contract.Delta); ok {
		c.live.delta(at, lineID(e.ID), d)
		return
	}
	c.buf = encodeEvent(c.buf[:0], e.ID, v)
	// Links and threads are made from the kept form, not from the original event.
	if decoded, err := c.decode(v.Type(), string(c.buf)); err == nil {
		c.keep(record{at: at, sum: crc32.Checksum(c.buf, castagnoli()), size: len(c.buf)}, decoded, v.Type())
		c.live.endTexts(decoded)
	}
}

func (c *Store) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// keep adds an event to the index. An event that is not in the log is in buf, and is stored.
func (c *Store) keep(r record, e contract.Event, typ reflect.Type) {
	n := int(c.index.end / recordSize)
	r.kind = c.numbers.kind(typ)
	all := parties(e)
	r.agent = c.numbers.party(all[0])
	if len(all) > 1 {
		r.peer = c.numbers.party(all[1])
	}
	var ended []int
	if k, ok := closes(e); ok {
		ended = c.open.end(k)
	}
	_, isMessage := e.Body.(contract.Message) // an answer is read for itself, too
	if r.outcome = len(ended) > 0 && !isMessage; r.outcome {
		r.link = int64(ended[0]) + 1
	}
	if !r.past {
		if c.events.full(len(c.buf)) {
			c.locate()
		}
		r.off = c.events.append(c.buf)
	}
	b := r.encode()
	c.index.append(b[:])
	if c.events.flushed == c.events.end {
		c.index.flush() // an event on disk that the index does not know is lost as well
	}
	for _, owner := range ended {
		c.conclude(owner, n)
	}
	if !r.outcome && !c.edited(e, n) {
		c.enter(e, all, n)
	}
	if p, ok := e.Body.(contract.SubagentProgress); ok {
		c.progressed(e.ID, p)
	}
	if k, ok := opens(e); ok && !reworded(e) {
		c.forget(c.open.add(k, n))
	}
	c.count(n)
}

// enter adds an entry to its threads.
func (c *Store) enter(e contract.Event, all []string, n int) {
	if inTalk(e) {
		c.talk.add(n)
	}
	if !inStream(e) {
		return
	}
	for _, id := range all {
		if agentic(id) {
			if t := c.agent(id); t != nil {
				t.add(n)
			}
		}
	}
}

// conclude links an entry to its outcome.
func (c *Store) conclude(owner, outcome int) {
	r, ok := c.record(owner)
	if !ok {
		return // lost
	}
	r.link = int64(outcome) + 1
	b := r.encode()
	c.index.rewrite(int64(owner)*recordSize, b[:])
	c.forget([]int{owner})
}

func (c *Store) progressed(agent string, p contract.SubagentProgress) {
	entries := c.open.waiting(key{subagents, agent, subagentID(p.ToolUse, p.Description)})
	if len(entries) == 0 {
		return
	}
	n := entries[len(entries)-1]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress[n] = progress{c.progress[n].serial + 1, p}
}

func (c *Store) forget(entries []int) {
	if len(entries) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range entries {
		delete(c.progress, n)
	}
}

// count determines what was lost with the entry n.
func (c *Store) count(n int) {
	if c.events.whole() && c.index.whole() && c.events.holeTo == c.hole {
		if c.events.flushed == c.events.end {
			c.oldest = n + 1
		}
		return
	}
	c.hole = c.events.holeTo
	lost := 0
	for ; c.oldest < n; c.oldest++ {
		r, ok := c.record(c.oldest)
		on := gone
		if ok && r.past {
			on = onDisk
		} else if ok {
			on = c.events.where(r.off, int64(r.size))
		}
		if on == inMemory {
			break
		}
		if on == gone {
			lost++
		}
	}
	if lost > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lost += lost
	}
}
