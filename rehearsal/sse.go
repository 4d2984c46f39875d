package rehearsal

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// object is a JSON object being written. (Keys come out sorted; no client of
// the API may depend on their order.)
type object map[string]any

// event is one server-sent event. gap asks for the step's chunk_delay after it.
type event struct {
	name string
	data object
	gap  bool
}

func (r reply) events(model string) []event {
	first := r.usage
	first.Output = 1
	evs := []event{
		{name: "message_start", data: object{"type": "message_start", "message": r.message(model, first, nil, nil)}},
		{name: "ping", data: object{"type": "ping"}},
	}
	for i, b := range r.blocks {
		evs = append(evs, event{name: "content_block_start", data: object{
			"type": "content_block_start", "index": i, "content_block": b.opening(),
		}})
		for _, d := range b.deltas() {
			evs = append(evs, event{name: "content_block_delta", gap: true, data: object{
				"type": "content_block_delta", "index": i, "delta": d,
			}})
		}
		evs = append(evs, event{name: "content_block_stop", data: object{"type": "content_block_stop", "index": i}})
	}
	return append(evs,
		event{name: "message_delta", data: object{
			"type":  "message_delta",
			"delta": object{"stop_reason": r.stopReason(), "stop_sequence": nil},
			"usage": r.usage,
		}},
		event{name: "message_stop", data: object{"type": "message_stop"}},
	)
}

// message returns the envelope of message_start, and the complete answer if it is not streamed.
func (r reply) message(model string, u Figures, blocks []object, stop any) object {
	if blocks == nil {
		blocks = []object{}
	}
	return object{
		"id": newID("msg_"), "type": "message", "role": "assistant", "model": model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": u,
	}
}

// whole returns the answer to a request with stream:false.
func (r reply) whole(model string) object {
	var blocks []object
	for _, b := range r.blocks {
		o := b.opening()
		switch b.kind {
		case "text":
			o["text"] = b.text
		case "thinking":
			o["thinking"], o["signature"] = b.text, signature
		case "tool_use":
			o["input"] = b.input
		}
		blocks = append(blocks, o)
	}
	return r.message(model, r.usage, blocks, r.stopReason())
}

// signature replaces the proof that the real API adds to thinking.
const signature = "cmVoZWFyc2Fs"

func (b outBlock) opening() object {
	switch b.kind {
	case "thinking":
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case "tool_use":
		return object{"type": "tool_use", "id": b.id, "name": b.name, "input": object{}}
	}
	return object{"type": "text", "text": ""}
}

func (b outBlock) deltas() []object {
	var out []object
	switch b.kind {
	case "thinking":
		for _, s := range pieces(b.text) {
			out = append(out, object{"type": "thinking_delta", "thinking": s})
		}
		return append(out, object{"type": "signature_delta", "signature": signature})
	case "tool_use":
		for _, s := range pieces(string(b.input)) {
			out = append(out, object{"type": "input_json_delta", "partial_json": s})
		}
		return out
	}
	for _, s := range pieces(b.text) {
		out = append(out, object{"type": "text_delta", "text": s})
	}
	return out
}

// pieces cuts a text into at most 64 parts of at least 24 characters.
func pieces(s string) []string {
	r := []rune(s)
	size := max(24, (len(r)+63)/64)
	var out []string
	for len(r) > 0 {
		n := min(size, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

// stream writes events until they end, the client disconnects or the server closes.
type stream struct {
	ctx context.Context
	w   http.ResponseWriter
	rc  *http.ResponseController
}

func newStream(ctx context.Context, w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return &stream{ctx: ctx, w: w, rc: http.NewResponseController(w)}
}

func (s *stream) send(e event) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		return fmt.Errorf("write event %s: %w", e.name, err)
	}
	return s.raw(fmt.Sprintf("event: %s\ndata: %s\n\n", e.name, data))
}

func (s *stream) raw(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

// wait sleeps unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
