package standin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// message is a user message from the host.
type message struct {
	uuid     string   // "" if the host gave none
	merged   []string // uuids of messages that became one with this one
	blocks   []json.RawMessage
	content  json.RawMessage // as it was sent, for the replay
	composed bool            // client_composed:true: no commands in it
}

// text joins the message's text blocks.
func (m message) text() string {
	var parts []string
	for _, b := range m.blocks {
		var t struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(b, &t) == nil && t.Text != "" {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// arrival is what to do with a message that was sent.
type arrival int

const (
	welcome  arrival = iota
	repeated         // same uuid again: dropped, at most replayed
	inQueue          // same uuid, and the first one still waits: dropped
	pastDone         // answered before this process was started: only `completed`
)

// inbox is the queue of user messages.
type inbox struct {
	mu    sync.Mutex
	queue []message
	seen  map[string]bool
	past  map[string]bool
	// arriving counts messages that the host is told of and that are not in the queue yet:
	// no turn begins or goes on without them.
	arriving int
	closed   bool
	wake     chan struct{} // capacity 1: a hint to look again
}

func newInbox(past map[string]bool) *inbox {
	if past == nil {
		past = map[string]bool{}
	}
	return &inbox{seen: map[string]bool{}, past: past, wake: make(chan struct{}, 1)}
}

func (b *inbox) hint() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// admit looks at a message's uuid and remembers it. One that is welcome has to be pushed.
func (b *inbox) admit(uuid string) arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case uuid == "": // nobody can say that it came before
	case slices.ContainsFunc(b.queue, func(m message) bool { return m.uuid == uuid }):
		return inQueue
	case b.seen[uuid]:
		return repeated
	case b.past[uuid]:
		return pastDone
	default:
		b.seen[uuid] = true
	}
	b.arriving++
	return welcome
}

// push queues an admitted message.
func (b *inbox) push(m message) {
	b.mu.Lock()
	b.queue = append(b.queue, m)
	b.arriving--
	b.mu.Unlock()
	b.hint()
}

// settle waits until what is welcome is in the queue, and locks the inbox. Who takes
// messages calls it.
func (b *inbox) settle(ctx context.Context) {
	for {
		b.mu.Lock()
		if b.arriving == 0 || ctx.Err() != nil {
			return
		}
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
}

// answered marks a message of an earlier process that a resume has closed.
func (b *inbox) answered(uuid string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.past[uuid] = true
}

// next waits for the messages of the next turn; none are left when it returns
// nil. Messages that queued up while a turn ran are merged into one turn, except
// commands.
func (b *inbox) next(ctx context.Context) []message {
	for {
		b.settle(ctx)
		batch, closed := b.take(), b.closed
		b.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil
		case batch != nil || closed:
			return batch
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *inbox) take() []message {
	if len(b.queue) == 0 {
		return nil
	}
	n := 1
	if b.queue[0].merges() {
		for n < len(b.queue) && b.queue[n].merges() {
			n++
		}
	}
	batch := b.queue[:n:n]
	b.queue = b.queue[n:]
	return batch
}

// merges: only plain messages share a turn.
func (m message) merges() bool { return m.command() == "" }

// fold takes the messages that join the running turn after a tool.
func (b *inbox) fold(ctx context.Context) []message {
	b.settle(ctx)
	defer b.mu.Unlock()
	var in []message
	b.queue = slices.DeleteFunc(b.queue, func(m message) bool {
		if m.merges() {
			in = append(in, m)
			return true
		}
		return false
	})
	return in
}

// empty reports whether nothing waits.
func (b *inbox) empty(ctx context.Context) bool {
	b.settle(ctx)
	defer b.mu.Unlock()
	return len(b.queue) == 0
}

// waiting lists the uuids in the queue.
func (b *inbox) waiting() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := []string{}
	for _, m := range b.queue {
		if m.uuid != "" {
			ids = append(ids, m.uuid)
		}
	}
	return ids
}

// cancel empties the queue and returns the uuids that were in it.
func (b *inbox) cancel() []string {
	gone := b.waiting()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = slices.DeleteFunc(b.queue, func(m message) bool { return m.uuid == "" || slices.Contains(gone, m.uuid) })
	return gone
}

// close: no more will come.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.hint()
}
