package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Cursor is the reading position of one client. Only one goroutine uses it.
type Cursor struct {
	hub    *Hub
	place  uint64 // in the hub, of the last event read; 0: not kept there
	seq    uint64 // of that event
	pieces bool
	open   func() (*journal.EventLog, error)

	from  journal.LogPosition // where to continue in the event log
	begun bool                // the first event of this process was passed
}

// Cursor returns a cursor that reads the events after number seq, with the pieces of text between them if pieces is
// set. For events that the hub does not keep any more, the cursor opens the log at from, a position before the
// first event of this process.
func (h *Hub) Cursor(
	seq uint64, pieces bool, from journal.LogPosition, open func() (*journal.EventLog, error),
) *Cursor {
	return &Cursor{hub: h, place: h.find(seq), seq: seq, pieces: pieces, from: from, open: open}
}

// Next returns at most most lines, in the form of contract.EncodeLine but without the line feed. skipped is how
// many events before them are lost, because neither the hub nor the log has them. more reports whether there may be
// more to read.
func (c *Cursor) Next(ctx context.Context, most int) (lines []string, skipped uint64, more bool, err error) {
	list, kept, next, gone := c.hub.after(c.place, most)
	if gone && c.seq+1 < next {
		lines, err = c.logLines(ctx, most, next)
		if err != nil || len(lines) > 0 {
			return lines, 0, true, err
		}
		skipped = next - 1 - c.seq
	}
	if gone {
		c.place, c.seq = kept, next-1
		list, _, _, _ = c.hub.after(c.place, most)
	}
	for _, n := range list {
		c.place++
		if n.piece && !c.pieces {
			continue
		}
		line, err := n.line()
		if err != nil {
			return nil, skipped, false, fmt.Errorf("event %d: %w", n.seq, err)
		}
		lines = append(lines, line)
		c.seq = n.seq
	}
	return lines, skipped, len(list) > 0, nil
}

// logLines reads lines after the cursor from the log, up to the oldest event that the hub keeps.
func (c *Cursor) logLines(ctx context.Context, most int, oldest uint64) (lines []string, err error) {
	log, err := c.open()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	health, err := log.Each(ctx, c.from, func(e journal.LogEntry) error {
		if len(lines) == most {
			return journal.ErrEnough
		}
		if e.Line == nil {
			c.from = e.Next()
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			c.begun = true
		}
		switch n := contract.SeqOf(e.Line); {
		case !c.begun:
		case n >= oldest:
			return journal.ErrEnough
		case n > c.seq:
			c.seq = n
			lines = append(lines, string(e.Line))
		}
		c.from = e.Next()
		return nil
	})
	if err == nil {
		c.from = health.Next
	}
	return lines, err
}

// HubKeep is the number of events in a hub: as many as a busy run emits in a few seconds.
const HubKeep = 4096

// Hub numbers the events of one process that plays a run like the event log, starting at 1, and keeps the last
// ones. Pieces of text that is still being written ([contract.Delta]) are not in the log: they have the number of
// the event before them, and a client that is behind does not get them. Its methods are safe for concurrent use and
// never block.
type Hub struct {
	keep int // how many events are kept at most

	mu       sync.Mutex
	events   []numbered // the kept ones; they do not change
	gone     uint64     // how many events came before them: the place of the first one is one more
	last     uint64     // number of the newest event; 0: none
	watchers map[chan struct{}]struct{}
}

type numbered struct {
	seq   uint64
	piece bool
	*hubEncoded
}

// hubEncoded is an event, and its line once a client has asked for it: it is encoded once for all clients.
type hubEncoded struct {
	at    time.Time
	event contract.Event

	once sync.Once
	text string
	err  error
}

// line returns the encoded event without the line feed.
func (n numbered) line() (string, error) {
	n.once.Do(func() {
		line, err := contract.EncodeLine(nil, n.seq, n.at, n.event)
		n.text, n.err = string(bytes.TrimSuffix(line, []byte("\n"))), err
	})
	return n.text, n.err
}

// NewHub makes a hub that keeps keep events.
func NewHub(keep int) *Hub {
	return &Hub{keep: keep, watchers: map[chan struct{}]struct{}{}}
}

// publish is a runloop.Sink: it keeps every event.
func (h *Hub) publish(at time.Time, e contract.Event) {
	defer h.Hint()
	h.mu.Lock()
	defer h.mu.Unlock()
	drop := 0
	if _, session := e.Body.(contract.Session); session {
		drop, h.last = len(h.events), 0 // from here on the log counts the events of this process
	} else if len(h.events) == h.keep {
		drop = 1
	}
	h.events, h.gone = h.events[drop:], h.gone+uint64(drop)
	_, piece := e.Body.(contract.Delta)
	if !piece {
		h.last++
	}
	h.events = append(h.events, numbered{h.last, piece, &hubEncoded{at: at, event: e}})
}

// Hint wakes the watchers without an event, for example when the state has changed.
func (h *Hub) Hint() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.watchers {
		backlog.Hint(c)
	}
}

// Last returns the number of the newest event; 0: none.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// find returns the place after which the events after number seq begin; 0: not all of them are kept.
func (h *Hub) find(seq uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.events, func(n numbered) bool { return !n.piece && n.seq > seq })
	switch {
	case i < 0:
		i = len(h.events)
	case h.events[i].seq > seq+1:
		return 0
	}
	return h.gone + uint64(i)
}

// after returns at most most events after a place. gone reports that the first of them is not kept any more; then
// kept is the place after which the kept events begin, and next is the number of the first kept event.
func (h *Hub) after(place uint64, most int) (list []numbered, kept, next uint64, gone bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if place < h.gone {
		next = h.last + 1
		if i := slices.IndexFunc(h.events, func(n numbered) bool { return !n.piece }); i >= 0 {
			next = h.events[i].seq
		}
		return nil, h.gone, next, true
	}
	list = h.events[place-h.gone:]
	return list[:min(most, len(list))], 0, 0, false
}

// Watch returns a channel that has a value when something has happened since the last receive, and a function that ends
// the watch.
func (h *Hub) Watch() (changed <-chan struct{}, end func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[c] = struct{}{}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, c)
	}
}

// Board passes a run's events to listeners other than the frontend. It never delays the run.
type Board struct {
	listeners sync.Map // for each channel a func(contract.Event) bool: which events it gets
}

// Publishing is a hook with which tests stop a run's goroutine.
var Publishing = func() {}

// publish is a runloop.Sink.
func (b *Board) publish(_ time.Time, e contract.Event) {
	Publishing()
	b.listeners.Range(func(events, match any) bool {
		if match.(func(contract.Event) bool)(e) {
			select {
			case events.(chan contract.Event) <- e:
			default:
			}
		}
		return true
	})
}

// Subscribe returns a channel of the events that match, and a function that ends the subscription. If the buffer of the
// channel is full, events are lost. match is called on the run's goroutine: it must not block.
func (b *Board) Subscribe(match func(contract.Event) bool) (events <-chan contract.Event, end func()) {
	c := make(chan contract.Event, 16)
	b.listeners.Store(c, match)
	return c, func() { b.listeners.Delete(c) }
}

// This part of the package sends the events of a run to the clients that subscribe to it: events in order,
// changes of the state, and finally how the run ended. Each client reads at its own pace, in the goroutine of
// its request.

// lastEvents is how long clients may take to read the last events of a run.
const lastEvents = 2 * time.Second

// Group has all clients that are subscribed to a run. Create one with [NewGroup].
type Group struct {
	openLog  func() (*journal.EventLog, error) // an error: there is no log yet
	snapshot func() *supervisor.State
	log      *slog.Logger
	*Hub
	start journal.LogPosition // end of the event log when this process started

	ended     chan struct{} // closed when end is set
	end       control.RunEnded
	work      sync.WaitGroup
	count     atomic.Int64  // number of clients
	connected chan struct{} // closed with the first client
	first     sync.Once     // for closing it
}

// NewGroup makes a group without clients, and finds where the events of this process start in the run's log.
func NewGroup(
	openLog func() (*journal.EventLog, error), snapshot func() *supervisor.State, log *slog.Logger,
) *Group {
	g := &Group{openLog: openLog, snapshot: snapshot, log: log, Hub: NewHub(HubKeep), ended: make(chan struct{}),
		connected: make(chan struct{})}
	events, err := openLog()
	if err != nil {
		return g // there is no log yet
	}
	defer events.Close()
	err = events.Backward(context.Background(), journal.LogPosition{}, func(e journal.LogEntry) bool {
		g.start = e.Next()
		return false
	})
	if err != nil {
		log.Warn("the end of the event log cannot be read", "err", err)
	}
	return g
}

// Count returns how many clients are currently subscribed.
func (g *Group) Count() int { return int(g.count.Load()) }

// AwaitFirst waits until one client has subscribed, at most within. It calls absent before it waits.
func (g *Group) AwaitFirst(within time.Duration, absent func()) {
	select {
	case <-g.connected:
		return
	default:
		absent()
	}
	select {
	case <-g.connected:
	case <-time.After(within):
	}
}

// End reports to the clients, once, how the run ended, and waits a limited time until they have read it.
func (g *Group) End(end control.RunEnded) {
	g.end = end
	close(g.ended)
	done := make(chan struct{})
	go func() { // ends with the subscriptions, which end at the latest with the connections of their clients
		g.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(lastEvents):
	}
}

// Subscribe sends to one client until ctx ends, send fails or the run has ended: [control.Events],
// [control.StateChange] and finally [control.RunEnded].
func (g *Group) Subscribe(ctx context.Context, p control.SubscribeParams, send func(any) error) {
	g.work.Add(1)
	g.count.Add(1)
	g.first.Do(func() { close(g.connected) })
	defer func() {
		g.count.Add(-1)
		g.work.Done()
	}()
	since := g.Last()
	if p.Since >= 0 {
		since = uint64(p.Since)
	}
	s := subscription{group: g, send: send, state: p.State}
	s.cursor = g.Cursor(since, p.Pieces, g.start, g.openLog)
	changed, end := g.Watch()
	defer end()
	if err := s.follow(ctx, changed); err != nil && ctx.Err() == nil {
		g.log.Warn("a client's subscription ended", "err", err)
	}
}

const (
	// eventBatch is how many events are sent to a client in one message.
	eventBatch = 16
	// clientPause is the minimum time between two messages to a client: the cost of many clients must not grow with
	// the number of events.
	clientPause = 10 * time.Millisecond
)

// subscription is the subscription of one client.
type subscription struct {
	group  *Group
	cursor *Cursor
	send   func(any) error
	state  bool // send the state, too
	sender StateSender
	sent   time.Time // time of the last message
}

// follow sends events and changes until the run has ended.
func (s *subscription) follow(ctx context.Context, changed <-chan struct{}) error {
	for {
		var over bool
		select {
		case <-s.group.ended: // checked first: what is sent afterwards is complete
			over = true
		default:
		}
		more, err := s.pass(ctx)
		switch {
		case err != nil:
			return err
		case more:
			continue
		case over:
			return s.send(s.group.end)
		}
		select {
		case <-changed:
		case <-s.group.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
		if pause := clientPause - time.Since(s.sent); pause > 0 {
			select { // many events and changes become one message
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// pass sends everything available now, and reports whether there may be more. The state that it sends is at least
// as new as the events that follow.
func (s *subscription) pass(ctx context.Context) (more bool, err error) {
	lines, skipped, more, err := s.cursor.Next(ctx, eventBatch)
	if err != nil {
		return false, err
	}
	if s.state {
		change, changed, err := s.sender.Change(s.group.snapshot())
		if err == nil && changed {
			s.sent = time.Now()
			err = s.send(change)
		}
		if err != nil {
			return false, err
		}
	}
	if len(lines) == 0 {
		return more, nil
	}
	s.sent = time.Now()
	return more, s.send(control.Events{Lines: lines, Skipped: skipped})
}

// This file sends the state of a run to its clients: first the complete state, and then the members that
// changed. The format is that of a snapshot of the run.

// agents is the member that is sent agent by agent: it is the largest, and usually only one of many agents changes.
const agents = "Agents"

func agentMember(i int) string { return agents + "/" + strconv.Itoa(i) }

// gone is the value of a member that a state no longer has: it has its zero value, which is omitted.
const gone = "null"

// StateSender remembers what was sent to a client. Only one goroutine uses it.
type StateSender struct {
	state   *supervisor.State
	members map[string]json.RawMessage
}

// Change returns the difference between a state and the one that the client has. It returns false if there is none.
func (s *StateSender) Change(now *supervisor.State) (control.StateChange, bool, error) {
	c := control.StateChange{Version: supervisor.StateVersion, Members: map[string]json.RawMessage{}}
	if now == s.state {
		return c, false, nil
	}
	raw, err := jsonl.Marshal(now)
	if err != nil {
		return c, false, fmt.Errorf("encode state: %w", err)
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return c, false, fmt.Errorf("encode state: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(members[agents], &list); err != nil {
		return c, false, fmt.Errorf("encode state: agents: %w", err)
	}
	delete(members, agents)
	for i, value := range list {
		members[agentMember(i)] = value
	}
	for name, value := range members {
		if !bytes.Equal(value, s.members[name]) {
			c.Members[name] = value
		}
	}
	for name := range s.members {
		if _, there := members[name]; !there {
			c.Members[name] = json.RawMessage(gone)
		}
	}
	changed := s.state == nil || len(c.Members) > 0
	s.state, s.members = now, members
	return c, changed, nil
}

// StateReceiver rebuilds states from what a Sender sent. Only one goroutine uses it.
type StateReceiver struct{ members map[string]json.RawMessage }

// Apply returns the state after a change. It shares no memory with earlier states. An error means that the sender
// has another version of arbiter.
func (r *StateReceiver) Apply(c control.StateChange) (*supervisor.State, error) {
	if c.Version != supervisor.StateVersion {
		return nil, &supervisor.VersionError{Found: c.Version, Known: supervisor.StateVersion}
	}
	if r.members == nil {
		r.members = map[string]json.RawMessage{}
	}
	maps.Copy(r.members, c.Members)
	maps.DeleteFunc(r.members, func(_ string, value json.RawMessage) bool { return string(value) == gone })
	whole, list := maps.Clone(r.members), []json.RawMessage{}
	for value, there := whole[agentMember(0)]; there; value, there = whole[agentMember(len(list))] {
		delete(whole, agentMember(len(list)))
		list = append(list, value)
	}
	var err error
	if whole[agents], err = json.Marshal(list); err != nil {
		return nil, fmt.Errorf("decode state: agents: %w", err)
	}
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	state := new(supervisor.State)
	if err := json.Unmarshal(raw, state); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	return state, nil
}

// NDJSONBacklog is how many lines may wait for a slow reader before purely narrative events are dropped (and counted).
// Events that a script acts on are always kept.
const NDJSONBacklog = 50_000

// Output writes what is put into it, in order, from a goroutine of its own, so that a slow, stuck or closed reader
// never delays the run. Its owner closes it.
type Output[T any] struct {
	options OutputOptions[T]
	queue   *backlog.Queue[T]
	w       *bufio.Writer
	done    chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	closed bool
	err    error
}

// OutputOptions say how an output writes.
type OutputOptions[T any] struct {
	Most   int              // how many items are written at once; 0: all that wait
	Encode func(T) []byte   // called on the goroutine that writes
	Left   func(lost int) T // stands for items that were dropped
	Failed func(error)      // called once, on that goroutine, when writing fails
}

// NewOutput starts an output to w.
func NewOutput[T any](w io.Writer, o OutputOptions[T]) *Output[T] {
	out := &Output[T]{options: o, queue: backlog.New[T](), w: bufio.NewWriterSize(w, 64<<10), done: make(chan struct{})}
	go out.run()
	return out
}

// Put queues an item of about so many bytes, unless the limit is reached. It never blocks.
func (o *Output[T]) Put(item T, bytes int, limit backlog.Limit) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && !o.closed {
		o.queue.Put(item, bytes, limit)
	}
}

func (o *Output[T]) run() {
	defer close(o.done)
	for {
		o.mu.Lock()
		closed := o.closed // read first: all items put in before are then in the queue
		o.mu.Unlock()
		items, lost, _ := o.queue.Take(o.options.Most)
		if lost > 0 {
			items = append(items, o.options.Left(lost))
		}
		for _, item := range items {
			_, _ = o.w.Write(o.options.Encode(item)) // Flush returns the error
		}
		if err := o.w.Flush(); err != nil {
			o.mu.Lock()
			o.err = err
			o.mu.Unlock()
			o.queue.Take(0) // free what will not be written
			o.options.Failed(err)
			return
		}
		switch {
		case len(items) > 0:
		case closed:
			return
		default:
			<-o.queue.Wake()
		}
	}
}

// ErrStuck is the error of Close if the reader does not read.
var ErrStuck = errors.New("the last events were not read in time")

// Close writes the remaining items within a time, and returns an error if that fails. A goroutine that is stuck in a
// write stays until the process ends.
func (o *Output[T]) Close(within time.Duration) error {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.queue.Nudge()
	select {
	case <-o.done:
	case <-time.After(within):
		return ErrStuck
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Writer writes the events of a run for a script, as NDJSON: one JSON object per line, numbered, in order.
type Writer struct {
	*Output[timedEvent]
	limit backlog.Limit // for narrative events
}

type timedEvent struct {
	at time.Time
	e  contract.Event
}

// NewWriter starts the writer; limit is its backlog. failed is called once, on the writer's goroutine, when the output
// fails.
func NewWriter(w io.Writer, limit int, failed func(error)) *Writer {
	var seq uint64
	var line []byte
	return &Writer{NewOutput(w, OutputOptions[timedEvent]{
		Encode: func(t timedEvent) []byte {
			seq++
			var err error
			if line, err = contract.EncodeLine(line[:0], seq, t.at, t.e); err != nil {
				line, _ = contract.EncodeLine(line[:0], seq, t.at, contract.Event{ID: t.e.ID, Body: contract.Error{
					Category:        bridge.CatInternal,
					Message:         fmt.Sprintf("event %s could not be written: %v", t.e.Body.EventName(), err),
					RecoveryOptions: []string{},
				}})
			}
			return line
		},
		Left: func(lost int) timedEvent {
			return timedEvent{time.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Notice{
				Text: words.Count(lost, "event") + " left out here: stdout was not read in time",
			}}}
		},
		Failed: failed,
	}), backlog.Limit{Items: limit}}
}

// Put is a runloop.Sink.
func (w *Writer) Put(at time.Time, e contract.Event) {
	var limit backlog.Limit
	if contract.Narrates(e.Body) {
		limit = w.limit
	}
	w.Output.Put(timedEvent{at, e}, 0, limit)
}
