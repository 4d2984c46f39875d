package fakecli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// message is a user message from the host.
type message struct {
	uuid    string            // "" if the host gave none
	merged  []string          // uuids of messages that became one with this one
	blocks  []json.RawMessage // its content as blocks
	content json.RawMessage   // its content as it was sent, for the replay
}

func (m message) text() string { return textOf(m.blocks) }

// mergeMessages makes one message of a batch: texts joined by newlines, named by the last
// uuid.
func mergeMessages(batch []message) message {
	m := batch[len(batch)-1]
	if len(batch) == 1 {
		return m
	}
	var texts []string
	for i, part := range batch {
		texts = append(texts, part.text())
		if i < len(batch)-1 && part.uuid != "" {
			m.merged = append(m.merged, part.uuid)
		}
	}
	joined := strings.Join(texts, "\n")
	m.blocks, m.content = []json.RawMessage{textBlock(joined)}, encode(joined)
	return m
}

func uuidsOf(messages []message) []string {
	ids := []string{}
	for _, m := range messages {
		if m.uuid != "" {
			ids = append(ids, m.uuid)
		}
	}
	return ids
}

// arrival is how a message that came is to be treated.
type arrival int

const (
	fresh          arrival = iota
	repeated               // same uuid again: dropped, at most replayed
	queuedTwice            // same uuid, and the first one still waits: dropped
	answeredBefore         // by an earlier process: only `completed`
)

// inbox is the queue of user messages.
type inbox struct {
	mu       sync.Mutex
	queue    []message
	seen     map[string]bool
	answered map[string]bool // before this process started
	closed   bool
	wake     chan struct{} // capacity 1: a hint to look again
}

func newInbox(answered []string) *inbox {
	b := &inbox{seen: map[string]bool{}, answered: map[string]bool{}, wake: make(chan struct{}, 1)}
	b.markAnswered(answered)
	return b
}

func (b *inbox) markAnswered(uuids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range uuids {
		b.answered[id] = true
	}
}

// push queues a message, unless its uuid is known. announce only appends to the queue of
// stdout; it runs under the lock, so that no turn takes a message before the host has been
// told that it is queued.
func (b *inbox) push(m message, announce func()) arrival {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case m.uuid == "":
	case slices.ContainsFunc(b.queue, func(q message) bool { return q.uuid == m.uuid }):
		return queuedTwice
	case b.seen[m.uuid]:
		return repeated
	case b.answered[m.uuid]:
		return answeredBefore
	}
	b.seen[m.uuid] = true
	announce()
	b.queue = append(b.queue, m)
	b.hint()
	return fresh
}

func (b *inbox) hint() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take empties the queue. None of it is left, and closed is true, when no more can come.
func (b *inbox) take() (batch []message, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch, b.queue = b.queue, nil
	return batch, b.closed
}

// next waits for the messages of the next turn: all that are queued become one. It returns
// nil when no more can come.
func (b *inbox) next(ctx context.Context) []message {
	for ctx.Err() == nil {
		if batch, closed := b.take(); len(batch) > 0 || closed {
			return batch
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
		}
	}
	return nil
}

// waiting lists the uuids in the queue.
func (b *inbox) waiting() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return uuidsOf(b.queue)
}

func (b *inbox) empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) == 0
}

// close announces that no more messages will come.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.hint()
}
