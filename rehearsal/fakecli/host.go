package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// host sends control requests to the program that started the CLI: permissions, hooks and
// MCP calls. The reader of stdin delivers the answers.
type host struct {
	emit func(obj)

	mu      sync.Mutex
	pending map[string]chan reply
	closed  bool
}

// reply is the host's answer, or a refusal with its reason.
type reply struct {
	body    json.RawMessage
	refused bool
	reason  string
}

// errStreamClosed: stdin ended, so no answer can come.
var errStreamClosed = errors.New("stream closed")

// ask sends a request and waits for its answer. When ctx ends first, withdraw is called with
// the request's id.
func (h *host) ask(ctx context.Context, request obj, withdraw func(id string)) (json.RawMessage, error) {
	id := newUUID()
	answer := make(chan reply, 1) // one answer at most, so resolve never blocks
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, errStreamClosed
	}
	h.pending[id] = answer
	h.mu.Unlock()
	h.emit(obj{"type": "control_request", "request_id": id, "request": request})
	select {
	case r, open := <-answer:
		switch {
		case !open:
			return nil, errStreamClosed
		case r.refused:
			return nil, errors.New(r.reason)
		}
		return r.body, nil
	case <-ctx.Done():
		h.resolve(id, reply{})
		withdraw(id)
		return nil, context.Cause(ctx)
	}
}

// withdraw takes a request back.
func (h *host) withdraw(id string) {
	h.emit(obj{"type": "control_cancel_request", "request_id": id})
}

// resolve delivers an answer. One to a request that is not pending is ignored.
func (h *host) resolve(id string, r reply) {
	h.mu.Lock()
	answer, ok := h.pending[id]
	delete(h.pending, id)
	h.mu.Unlock()
	if ok {
		answer <- r
	}
}

// close fails all requests, pending and future.
func (h *host) close() {
	h.mu.Lock()
	pending := h.pending
	h.pending, h.closed = nil, true
	h.mu.Unlock()
	for _, answer := range pending {
		close(answer)
	}
}
