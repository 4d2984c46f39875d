// Package history keeps all events that the frontends of a run received, in bounded memory, and lets a
// screen read any part of them: every event in order, the conversation, the stream of one agent, what a
// filter picks, and the text that is arriving at the moment.
//
// The events are in the run's event log: of each, only a small record with its position is kept here, and the
// event is read when it is shown. Events of earlier processes are added from the log ([Store.Recall]). New
// events stay in memory until they are found in the log ([Store.Past]); they are compared, so that no entry is
// ever confused with another. Events that no log has stay in memory, up to a limit: then the oldest are lost,
// and [Store.Lost] reports it.
//
// One goroutine, the writer, calls [Store.Add]. Any goroutine may read at the same time; readers see only
// whole entries. No lock is held while a log is read.
//
// Events are sanitised here: every string of an event passes package sanitize on its way in, whatever the
// event. Only json.RawMessage stays unchanged; code that decodes it sanitises the result.
//
// The package starts no goroutine.
package history

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const (
	// Memory is how many bytes of events a store usually keeps that no log has.
	Memory = 32 << 20

	maxAgents = 4096

	// maxEdits bounds the messages that are remembered as changed. A further change is shown as a separate
	// message.
	maxEdits = 4096
)

// Store holds all events.
type Store struct {
	memory  int // bytes of events that no log has, at most
	live    *liveTexts
	version atomic.Uint64

	// Owned by the writer.
	open  map[key][]int // the entries that wait for an outcome, the oldest first
	bytes int           // of the events in held
	fresh int           // of those that were added since the logs were searched

	mu       sync.RWMutex // the writer needs it only to change what follows
	records  []record
	held     []heldEvent // what is not known to be in a log, by number
	logs     []source
	kinds    map[string]uint16 // numbers of the names of events, from 1
	parties  map[string]uint16 // numbers of their parties, from 1
	talk     *Thread
	agents   map[string]*Thread
	progress map[int]progress  // of running subagents, by their entry
	edits    map[int]edit      // of messages, by their first entry
	parents  map[string]string // the subagents that another one started, by their calls
	lost     int
	problem  error // the last one of reading a log
}

// record is what is always in memory of an event: small, since there may be millions.
type record struct {
	off         int64  // of its line in the log
	sum         uint32 // of the line before it
	log         uint16 // the number of its log, from 1; 0: the event is held, or lost
	kind        uint16
	agent, peer uint16 // its parties; 0: none
	link        int32  // the number of its outcome plus one; isOutcome, wasCut
}

const (
	isOutcome = -1 // the link of an outcome, which is shown with the entry that it ended
	wasCut    = -2 // the link of an entry that will have no outcome
)

// heldEvent is an event that is in memory.
type heldEvent struct {
	n     int
	at    time.Time
	event contract.Event
	size  int
}

// progress is the latest progress of a running subagent.
type progress struct {
	serial uint64
	event  contract.SubagentProgress
}

// edit is the latest text of a message that was changed before it was sent.
type edit struct {
	serial uint64 // how often it was changed
	entry  int    // the entry with the latest text
}

// New returns an empty store. It keeps so many bytes of events that no log has.
func New(memory int) *Store {
	c := &Store{
		memory: memory, live: &liveTexts{}, open: make(map[key][]int), kinds: make(map[string]uint16),
		parties: make(map[string]uint16),
		agents:  make(map[string]*Thread), progress: make(map[int]progress), edits: make(map[int]edit),
		parents: make(map[string]string),
	}
	c.talk = c.newThread()
	return c
}

// Version grows with every event, including text that is arriving.
func (c *Store) Version() uint64 { return c.version.Load() }

// Live returns the text of an agent that is arriving, until the event that contains it comes: at most about most bytes
// of its end.
func (c *Store) Live(agent string, most int) (Live, bool) { return c.live.end(agent, most) }

// LiveMessages returns the messages of agents that are arriving, without other text of them.
func (c *Store) LiveMessages(agents []string) []Live { return c.live.messages(agents) }

// Lost returns how many entries could not be kept, and the last error of reading a log.
func (c *Store) Lost() (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.lost, c.problem
}

// Parent returns the subagent that started a subagent; empty: an agent itself did, or too many are known.
func (c *Store) Parent(subagent string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.parents[subagent]
}

// Add adds an event. Only one goroutine may call it. It may read the log.
func (c *Store) Add(at time.Time, e contract.Event) {
	if e.Body == nil {
		return
	}
	defer c.version.Add(1)
	if d, ok := e.Body.(contract.Delta); ok {
		c.live.delta(at, lineID(e.ID), d)
		return
	}
	e, size := fit(e)
	c.keep(record{}, at, e, size)
	c.live.endTexts(e)
}

// keep adds an event that is fit for a screen. One that is in no log needs so many bytes.
func (c *Store) keep(r record, at time.Time, e contract.Event, size int) {
	c.link(r, at, e, size)
	if c.fresh >= min(locateAfter, c.memory/8) || c.bytes > c.memory {
		c.locate()
	}
	if c.bytes <= c.memory {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := 0
	for ; c.bytes > c.memory/8*7; gone++ { // more than is needed, since it takes time
		c.bytes -= c.held[gone].size
	}
	c.held = slices.Delete(c.held, 0, gone)
	c.lost += gone
}

// link adds an entry, and links it to what it ends.
func (c *Store) link(r record, at time.Time, e contract.Event, size int) {
	all := parties(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.records)
	r.kind, r.agent = number(c.kinds, eventName(e)), number(c.parties, all[0])
	if len(all) > 1 {
		r.peer = number(c.parties, all[1])
	}
	if k, ok := closes(e); ok {
		for _, owner := range c.open[k] {
			c.records[owner].link = int32(n + 1)
			delete(c.progress, owner)
			r.link = isOutcome
		}
		delete(c.open, k)
	}
	c.cut(e)
	c.records = append(c.records, r)
	if r.log == 0 {
		c.held = append(c.held, heldEvent{n, at, e, size})
		c.bytes += size
		c.fresh += size
	}
	if r.link != isOutcome && !c.edited(e, n) {
		c.enter(e, all, n)
	}
	if use, ok := e.Body.(contract.ToolUse); ok && use.Subagent != "" && (use.Tool == "Agent" || use.Tool == "Task") &&
		len(c.parents) < maxAgents {
		c.parents[strings.Clone(use.ToolUse)] = strings.Clone(use.Subagent)
	}
	if p, ok := e.Body.(contract.SubagentProgress); ok {
		if entries := c.open[key{subagents, e.ID, subagentID(p.ToolUse, p.Description)}]; len(entries) > 0 {
			owner := entries[len(entries)-1]
			c.progress[owner] = progress{c.progress[owner].serial + 1, p}
		}
	}
	if k, ok := opens(e); ok && !reworded(e) {
		k.agent, k.id = strings.Clone(k.agent), strings.Clone(k.id) // copies, to free the event's text
		c.open[k] = append(c.open[k], n)
	}
}

// cut ends the calls and subagents to which an event leaves no process, or no turn.
func (c *Store) cut(e contract.Event) {
	whole := false
	switch e.Body.(type) {
	case contract.Session, contract.Result:
		whole = true
	case contract.Turn, contract.Done:
	default:
		return
	}
	for k, owners := range c.open {
		if k.class > subagents || !whole && k.agent != e.ID {
			continue
		}
		for _, owner := range owners {
			c.records[owner].link = wasCut
			delete(c.progress, owner)
		}
		delete(c.open, k)
	}
}

// Cut ends what runs, and what is arriving, as an event would that is not added. Nothing may be added at the same time.
func (c *Store) Cut(e contract.Event) {
	defer c.version.Add(1)
	c.live.endTexts(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut(e)
}

// eventName returns the name by which a filter picks an event.
func eventName(e contract.Event) string {
	if _, ok := e.Body.(contract.Unknown); ok {
		return "unknown"
	}
	return e.Body.EventName()
}

// number returns the number of a name, 0 if there are too many.
func number(numbers map[string]uint16, name string) uint16 {
	n, ok := numbers[name]
	if !ok && len(numbers) < maxAgents && len(name) <= maxID {
		n = uint16(len(numbers) + 1)
		numbers[strings.Clone(name)] = n // a copy, because it may be a part of its event's text
	}
	return n
}

// enter adds an entry to its threads.
func (c *Store) enter(e contract.Event, all []string, n int) {
	if inTalk(e) {
		c.talk.list = append(c.talk.list, int32(n))
	}
	if !inStream(e) {
		return
	}
	for _, id := range all {
		if id != "" && id != contract.Human && id != contract.Supervisor {
			t := c.agent(id)
			t.list = append(t.list, int32(n))
		}
	}
}

// reworded reports whether an event changes the text of an earlier message.
func reworded(e contract.Event) bool {
	m, ok := e.Body.(contract.Message)
	return ok && m.Edited
}

// edited gives a waiting message the text of the entry n, and reports whether there is such a message: the
// conversation shows it once, at its first place.
func (c *Store) edited(e contract.Event, n int) bool {
	if !reworded(e) {
		return false
	}
	first := c.open[key{class: messages, id: e.Body.(contract.Message).MessageID}]
	if len(first) == 0 || len(c.edits)+len(first) > maxEdits {
		return false
	}
	for _, owner := range first {
		c.edits[owner] = edit{c.edits[owner].serial + 1, n}
	}
	return true
}

// len returns how many entries there are.
func (c *Store) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.records)
}

// record returns the record of an entry, and its event if that is in memory.
func (c *Store) record(n int) (r record, h heldEvent, held bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if n < 0 || n >= len(c.records) {
		return r, h, false
	}
	if r = c.records[n]; r.log > 0 {
		return r, h, false
	}
	i, held := slices.BinarySearchFunc(c.held, n, func(h heldEvent, n int) int { return h.n - n })
	if held {
		h = c.held[i]
	}
	return r, h, held
}

// event returns the event of an entry, which it may read from its log; false if it is lost.
func (c *Store) event(n int) (time.Time, contract.Event, bool) {
	r, h, held := c.record(n)
	if r.log > 0 {
		return c.logged(r)
	}
	return h.at, h.event, held
}

// entry reads an entry. If it was lost, it returns false, with what is known of it.
func (c *Store) entry(n int) (Entry, bool) {
	at, event, ok := c.event(n)
	e := Entry{N: n, At: at, Event: event}
	if !ok {
		return e, false
	}
	c.mu.RLock()
	link, latest := c.records[n].link, c.edits[n]
	if p, ok := c.progress[n]; ok {
		e.Progress = &p.event
	}
	e.Cut = link == wasCut
	c.mu.RUnlock()
	if link > 0 {
		if at, event, ok := c.event(int(link - 1)); ok {
			e.Outcome, e.OutcomeAt = event.Body, at
		}
	}
	if latest.serial > 0 {
		if _, event, ok := c.event(latest.entry); ok {
			if m, ok := event.Body.(contract.Message); ok {
				e.Edited = &m
			}
		}
	}
	return e, true
}

// serialBits are the bits of a stamp that count the progress reports of a running subagent, or the changes
// of a message.
const serialBits = 20

// stamp returns a value that changes whenever the entry does.
func (c *Store) stamp(n int) uint64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return uint64(c.records[n].link+3)<<serialBits | (c.progress[n].serial+c.edits[n].serial)&(1<<serialBits-1)
}

// Entry is an event as it was reported, with what happened to it.
type Entry struct {
	N     int // its number among all events, from 0
	At    time.Time
	Event contract.Event
	// Outcome is the event that ended this one: a tool_result, a subagent_stop, a permission, a delivered,
	// the answer to a question. It is nil until that event comes.
	Outcome   contract.Body
	OutcomeAt time.Time
	Cut       bool // its process, or its turn, is over, and no such event comes
	// Edited is the message after it was changed, nil if it was not.
	Edited *contract.Message
	// Progress is the latest progress of a running subagent, on its subagent_start.
	Progress *contract.SubagentProgress
}

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
