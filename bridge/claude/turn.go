package claude

import (
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
)

// turns tracks the messages whose turn has not ended. A turn runs while any message is open. Results name
// the messages they end: with steering, one result may end several messages, or leave one open that the CLI
// makes the first of the next turn.
type turns struct {
	mu     sync.Mutex
	open   []*sent         // in the order they were sent
	over   map[string]bool // ids whose turn has ended: the CLI drops repeats of them silently
	closed string          // why no more messages are accepted
	idle   chan struct{}   // closed while no message is open
	// entered is closed unless the first open message has not entered the conversation yet.
	entered chan struct{}
}

// sent is a message whose turn has not ended.
type sent struct {
	id        string
	delivered bool
	through   bool // the CLI reports that it has finished it; the result may still come
}

func newTurns() *turns {
	t := &turns{over: map[string]bool{}, idle: make(chan struct{}), entered: make(chan struct{})}
	close(t.idle)
	close(t.entered)
	return t
}

// begin records a message before it is written: its result may come before the write returns. repeat
// reports that the message is open already.
func (t *turns) begin(id string, steer bool) (repeat bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed != "":
		return false, &bridge.RPCError{Code: bridge.CodeEnded, Message: t.closed}
	case id == "":
		return false, &bridge.RPCError{Code: jsonrpc.CodeInvalidParams, Message: "a message needs an id"}
	case t.find(id) != nil:
		return true, nil
	case t.over[id]:
		return false, &bridge.RPCError{Code: bridge.CodeRefused,
			Message: fmt.Sprintf("message %s has had its turn", id)}
	case len(t.open) > 0 && !steer:
		return false, &bridge.RPCError{Code: bridge.CodeBusy, Message: "a turn is running"}
	}
	if len(t.open) == 0 {
		t.idle, t.entered = make(chan struct{}), make(chan struct{})
	}
	t.open = append(t.open, &sent{id: id})
	return false, nil
}

// withdraw removes a message that could not be written. It fails if the turn has been reported already.
func (t *turns) withdraw(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := t.find(id) != nil
	t.remove(id)
	return had
}

// deliver records proof that the CLI accepted a message. It returns true the first time.
func (t *turns) deliver(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.find(id)
	if m == nil || m.delivered {
		return false
	}
	m.delivered = true
	return true
}

// drop ends a message that the CLI discarded without starting it. A delivered message still gets its
// result, or becomes resultless.
func (t *turns) drop(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.find(id)
	if m == nil {
		return false
	}
	if m.delivered {
		m.through = true
		return false
	}
	t.end(id)
	return true
}

// resultless ends and returns the messages that the CLI has finished without a result.
func (t *turns) resultless() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endWhere(func(m *sent) bool { return m.through })
}

// finish closes the messages that a result ends and returns their ids; if there are none, the result is not
// ours. A result without ids and without an origin of its own ends all delivered messages: a dialogue must
// not wait forever for a missing field.
func (t *turns) finish(f resultFrame) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.endWhere(func(m *sent) bool {
		unnamed := len(f.MessageUUIDs) == 0 && f.Origin == nil && m.delivered
		return unnamed || slices.Contains(f.MessageUUIDs, m.id)
	})
}

// close refuses further messages from now on.
func (t *turns) close(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = why
}

// lose ends all open messages and returns them.
func (t *turns) lose() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = "the agent has ended"
	return t.endWhere(func(*sent) bool { return true })
}

// enter records that a turn of the CLI has begun: the messages delivered to it are part of the conversation
// from now on.
func (t *turns) enter() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if slices.ContainsFunc(t.open, func(m *sent) bool { return m.delivered }) {
		t.closeEntered()
	}
}

// whenEntered returns a channel that is closed as soon as the first open message has entered the
// conversation, or if no message is open.
func (t *turns) whenEntered() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entered
}

// whenIdle returns a channel that is closed as soon as no turn runs.
func (t *turns) whenIdle() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idle
}

func (t *turns) isOpen(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(id) != nil
}

func (t *turns) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open) > 0
}

// The remaining methods are called with the lock held.

func (t *turns) find(id string) *sent {
	for _, m := range t.open {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (t *turns) endWhere(over func(*sent) bool) (ids []string) {
	for _, m := range slices.Clone(t.open) {
		if over(m) {
			ids = append(ids, m.id)
			t.end(m.id)
		}
	}
	return ids
}

func (t *turns) end(id string) {
	t.over[id] = true
	t.remove(id)
}

func (t *turns) remove(id string) {
	before := len(t.open)
	t.open = slices.DeleteFunc(t.open, func(m *sent) bool { return m.id == id })
	if before > 0 && len(t.open) == 0 {
		close(t.idle)
		t.closeEntered()
	}
}

func (t *turns) closeEntered() {
	if !driver.IsClosed(t.entered) {
		close(t.entered)
	}
}
