package fakecli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/internal/backlog"
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
	for _, part := range batch {
		texts = append(texts, part.text())
	}
	joined := strings.Join(texts, "\n")
	m.blocks, m.content = []json.RawMessage{textBlock(joined)}, encode(joined)
	m.merged = uuidsOf(batch[:len(batch)-1])
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
	queuedTwice            // same uuid, and the first one still waits: dropped
	repeated               // same uuid again: dropped, but replayed
	answeredBefore         // by an earlier process: replayed, and `completed`
)

// inbox is the queue of user messages. The reader of stdin fills it.
type inbox struct {
	queue  *backlog.Queue[message]
	closed context.Context // done: no more messages will come
	close  context.CancelFunc

	mu    sync.Mutex
	known map[string]arrival // of a message with that uuid, should it come (again)
}

func newInbox(answered []string) *inbox {
	b := &inbox{queue: backlog.New[message](), known: map[string]arrival{}}
	b.closed, b.close = context.WithCancel(context.Background())
	b.markAnswered(answered)
	return b
}

func (b *inbox) markAnswered(uuids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range uuids {
		b.known[id] = max(b.known[id], answeredBefore)
	}
}

// push queues a message, unless its uuid is known. announce is called before a turn can take
// the message.
func (b *inbox) push(m message, announce func()) arrival {
	b.mu.Lock()
	known := b.known[m.uuid]
	if m.uuid != "" && known == fresh {
		b.known[m.uuid] = repeated
	}
	b.mu.Unlock()
	switch {
	case known == fresh:
		announce()
		b.queue.Put(m, len(m.content), backlog.Limit{})
	case slices.Contains(b.waiting(), m.uuid):
		return queuedTwice
	}
	return known
}

// take empties the queue.
func (b *inbox) take() []message {
	batch, _, _ := b.queue.Take(0)
	return batch
}

// next waits for the messages of the next turn: all that are queued become one. It returns
// nil when no more can come.
func (b *inbox) next(ctx context.Context) []message {
	for ctx.Err() == nil {
		last := b.closed.Err() != nil // asked first: nothing is put in after it
		if batch := b.take(); len(batch) > 0 || last {
			return batch
		}
		select {
		case <-b.queue.Wake():
		case <-b.closed.Done():
		case <-ctx.Done():
		}
	}
	return nil
}

// waiting lists the uuids in the queue.
func (b *inbox) waiting() []string { return uuidsOf(b.queue.All()) }
