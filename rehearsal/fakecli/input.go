package fakecli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// inbound is a line from the host.
type inbound struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   *controlRequest `json:"request"`
	Response  *struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	UUID    string `json:"uuid"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// read takes lines from stdin until it ends or one is malformed. It never waits for a turn.
func (s *session) read(stdin io.Reader) {
	r := bufio.NewReader(deafReader{stdin, s.faults}) // lines are unbounded: 120 MB were seen to work
	for {
		line, err := r.ReadBytes('\n')
		if s.faults.deafened.Load() {
			hang()
		}
		if s.faults.deaf() {
			<-s.ctx.Done()
			return
		}
		if len(line) > 0 {
			s.receive(line)
		}
		if err != nil {
			// End of input is not a stop: what is queued still runs, without a host to ask.
			s.host.close()
			s.inbox.close()
			return
		}
	}
}

// receive handles one line. What is not understood is passed over.
func (s *session) receive(line []byte) {
	var in inbound
	_ = json.Unmarshal(line, &in) // another shape has no type
	switch r := in.Response; {
	case in.Type == "control_request" && in.Request != nil:
		s.control(in.RequestID, *in.Request)
	case in.Type == "control_response" && r != nil:
		s.host.resolve(r.RequestID, reply{r.Response, r.Subtype == "error", r.Error})
	case in.Type == "user":
		s.userMessage(in)
	}
}

func (s *session) userMessage(in inbound) {
	blocks, _ := contentBlocks(in.Message.Content) // another shape says nothing
	m := message{uuid: in.UUID, blocks: blocks, content: in.Message.Content}
	if s.faults.swallows() {
		return
	}
	repeat, answered := s.inbox.push(m, func() { s.lifecycle(m.uuid, "queued") })
	if !repeat {
		return
	}
	s.ledger.message("dropped", s.id, m)
	if !s.inbox.waits(m.uuid) {
		s.replay(m)
	}
	if answered {
		s.lifecycle(m.uuid, "completed")
	}
}

// message is a user message from the host.
type message struct {
	uuid    string            // "" if the host gave none
	merged  []string          // uuids of messages that became one with this one
	blocks  []json.RawMessage // its content as blocks
	content json.RawMessage   // its content as it was sent, for the replay
}

func (m message) text() string { return textOf(m.blocks) }

// mergeMessages makes one message of a batch: texts joined by newlines, named by the last uuid.
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

// inbox is the queue of user messages. The reader of stdin fills it.
type inbox struct {
	queue  *backlog.Queue[message]
	closed context.Context // done: no more messages will come
	close  context.CancelFunc

	mu       sync.Mutex
	known    map[string]bool // uuids that came
	answered map[string]bool // uuids that an earlier process answered
}

func newInbox(answered []string) *inbox {
	b := &inbox{queue: backlog.New[message](), known: map[string]bool{}, answered: map[string]bool{}}
	b.closed, b.close = context.WithCancel(context.Background())
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

// push queues a message. One whose uuid came before, here or to an earlier process, is a repeat and
// is dropped. announce is called before a turn can take the message.
func (b *inbox) push(m message, announce func()) (repeat, answered bool) {
	b.mu.Lock()
	repeat, answered = b.known[m.uuid] || b.answered[m.uuid], b.answered[m.uuid]
	b.known[m.uuid] = m.uuid != ""
	b.mu.Unlock()
	if !repeat {
		announce()
		b.queue.Put(m, len(m.content), backlog.Limit{})
	}
	return repeat, answered
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

// waits reports whether a message is in the queue.
func (b *inbox) waits(uuid string) bool { return slices.Contains(b.waiting(), uuid) }

// waiting lists the uuids in the queue.
func (b *inbox) waiting() []string { return uuidsOf(b.queue.All()) }
