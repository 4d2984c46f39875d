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

// reply is the host's answer, or the text with which it refused.
type reply struct {
	body    json.RawMessage
	refused string
}

// errStreamClosed: stdin ended, so no answer can come.
var errStreamClosed = errors.New("stream closed")

// refusal is a control_response of subtype error.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// ask sends a request and waits for its answer. When ctx ends first, a
// control_cancel_request withdraws it.
func (h *host) ask(ctx context.Context, request obj) (json.RawMessage, error) {
	body, id, err := h.await(ctx, request)
	if err != nil && ctx.Err() != nil {
		h.emit(obj{"type": "control_cancel_request", "request_id": id})
	}
	return body, err
}

// await is ask without the withdrawal.
func (h *host) await(ctx context.Context, request obj) (body json.RawMessage, id string, err error) {
	id = newUUID()
	answer := make(chan reply, 1) // one answer at most, so resolve never blocks
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, id, errStreamClosed
	}
	h.pending[id] = answer
	h.mu.Unlock()
	h.emit(obj{"type": "control_request", "request_id": id, "request": request})
	select {
	case r, open := <-answer:
		switch {
		case !open:
			return nil, id, errStreamClosed
		case r.refused != "":
			return nil, id, &refusal{r.refused}
		}
		return r.body, id, nil
	case <-ctx.Done():
		h.mu.Lock()
		delete(h.pending, id)
		h.mu.Unlock()
		return nil, id, context.Cause(ctx)
	}
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
