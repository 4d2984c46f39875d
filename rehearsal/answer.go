package rehearsal

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
)

// deliver writes the reply of a step, or its fault. If the real connection would be cut, it aborts the
// connection (http.ErrAbortHandler).
func (r reply) deliver(ctx context.Context, w http.ResponseWriter, c *call) error {
	f := cmp.Or(r.fault, &fault{})
	if err := wait(ctx, r.delay+f.stall); err != nil {
		return err
	}
	if f.status != 0 {
		setHeaders(w, f.headers)
		writeError(w, c.chat, f.status, cmp.Or(f.errorType, errorType(f.status)), r.faultText)
		return nil
	}
	setHeaders(w, r.headers)
	if c.Stream {
		return r.deliverStream(ctx, w, c.Model, f)
	}
	return r.deliverWhole(ctx, w, c, f)
}

func setHeaders(w http.ResponseWriter, headers map[string]string) {
	for k, v := range headers {
		w.Header().Set(k, v)
	}
}

func (r reply) deliverStream(ctx context.Context, w http.ResponseWriter, model string, f *fault) error {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	send := func(text string) error {
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	}
	for i, e := range r.message(model).Events() {
		if f.cutAfter > 0 && i == f.cutAfter {
			panic(http.ErrAbortHandler)
		}
		if err := send(e.String()); err != nil {
			return err
		}
		pause := time.Duration(0)
		switch begun := i == 1; { // after message_start and the ping: the client knows that a stream has begun
		case begun && f.garbage:
			return send("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\n\n" +
				"event: content_block_delta\ndata: not json at all\n\n")
		case begun && f.errorEvent != "":
			return send(Event(errorBody(f.errorEvent, r.faultText)).String())
		case begun:
			pause = f.stallMid
		case e["type"] == "content_block_delta":
			pause = r.chunkDelay
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// deliverWhole writes the reply without streaming. The CLI requests that after a stream failed, so every
// fault has its counterpart here.
func (r reply) deliverWhole(ctx context.Context, w http.ResponseWriter, c *call, f *fault) error {
	switch {
	case f.cutAfter > 0:
		panic(http.ErrAbortHandler)
	case f.garbage:
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"type":"message",`))
		return err
	case f.errorEvent != "":
		status := http.StatusInternalServerError
		for s, kind := range errorTypes {
			if kind == f.errorEvent {
				status = s
			}
		}
		writeError(w, false, status, f.errorEvent, r.faultText)
		return nil
	}
	if err := wait(ctx, f.stallMid); err != nil {
		return err
	}
	if c.chat {
		return writeJSON(w, http.StatusOK, r.chatAnswer(c.Model))
	}
	return writeJSON(w, http.StatusOK, r.message(c.Model))
}

var errorTypes = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	403: "permission_error",
	404: "not_found_error",
	413: "request_too_large",
	429: "rate_limit_error",
	500: "api_error",
	504: "timeout_error",
	529: "overloaded_error",
}

func errorType(status int) string { return cmp.Or(errorTypes[status], errorTypes[status/100*100]) }

func errorBody(kind, message string) object {
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

// writeError writes an error in the format of the Messages API, or of Chat Completions.
func writeError(w http.ResponseWriter, chat bool, status int, kind, message string) {
	body := errorBody(kind, message)
	body["request_id"] = w.Header().Get("Request-Id")
	if chat {
		body = object{"error": object{"message": message, "type": kind, "param": nil, "code": nil}}
	}
	// The client may have gone; then the error cannot be reported.
	_ = writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}

// object is a JSON object being written. (Keys come out sorted; no client of
// the API may depend on their order.)
type object map[string]any

// Event is one server-sent event, named by its type.
type Event object

func (e Event) String() string {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is made of texts, numbers and JSON that was parsed
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", e["type"], data)
}

// Message is a complete answer of a model, in the form of the Messages API.
type Message struct {
	ID, Model string
	Blocks    []transcript.Block // text, thinking or tool_use
	Usage     transcript.Usage
	Stop      string
}

// Events returns the message as it is streamed.
func (m Message) Events() []Event {
	first := Message{ID: m.ID, Model: m.Model, Usage: m.Usage}
	first.Usage.Output = 1
	evs := []Event{{"type": "message_start", "message": first}, {"type": "ping"}}
	for i, b := range m.Blocks {
		opening := transcript.Block{Type: b.Type, ID: b.ID, Name: b.Name, Input: json.RawMessage("{}")}
		evs = append(evs, Event{"type": "content_block_start", "index": i, "content_block": block(opening)})
		for _, d := range deltas(b) {
			evs = append(evs, Event{"type": "content_block_delta", "index": i, "delta": d})
		}
		evs = append(evs, Event{"type": "content_block_stop", "index": i})
	}
	return append(evs,
		Event{"type": "message_delta", "usage": m.Usage, "delta": object{"stop_reason": m.Stop, "stop_sequence": nil}},
		Event{"type": "message_stop"})
}

// MarshalJSON renders the message as it is if it is not streamed, and at its start.
func (m Message) MarshalJSON() ([]byte, error) {
	o := object{"id": m.ID, "type": "message", "role": "assistant", "model": m.Model, "stop_reason": nil,
		"stop_sequence": nil, "usage": m.Usage}
	if m.Stop != "" {
		o["stop_reason"] = m.Stop
	}
	blocks := []object{}
	for _, b := range m.Blocks {
		blocks = append(blocks, block(b))
	}
	o["content"] = blocks
	return json.Marshal(o)
}

// signature replaces the proof that the real API adds to thinking.
const signature = "cmVoZWFyc2Fs"

// block renders a block. The content of text and thinking is in the field with the name of the type.
func block(b transcript.Block) object {
	switch {
	case b.Type == "tool_use":
		return object{"type": b.Type, "id": b.ID, "name": b.Name, "input": b.Input}
	case b.Type == "thinking" && b.Text == "":
		return object{"type": b.Type, b.Type: "", "signature": ""}
	case b.Type == "thinking":
		return object{"type": b.Type, b.Type: b.Text, "signature": signature}
	}
	return object{"type": b.Type, b.Type: b.Text}
}

// deltas cuts the content into at most 64 parts of at least 24 characters.
func deltas(b transcript.Block) (out []object) {
	text, kind, field := b.Text, b.Type+"_delta", b.Type
	if b.Type == "tool_use" {
		text, kind, field = string(b.Input), "input_json_delta", "partial_json"
	}
	r := []rune(text)
	for part := range slices.Chunk(r, max(24, (len(r)+63)/64)) {
		out = append(out, object{"type": kind, field: string(part)})
	}
	if b.Type == "thinking" {
		out = append(out, object{"type": "signature_delta", "signature": signature})
	}
	return out
}

// wait sleeps unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reply is the rendered answer of a step, ready to be written.
type reply struct {
	step
	blocks    []transcript.Block // text, thinking or tool_use
	usage     transcript.Usage
	faultText string
}

func (r reply) message(model string) Message {
	stop := "end_turn"
	if slices.ContainsFunc(r.blocks, func(b transcript.Block) bool { return b.Type == "tool_use" }) {
		stop = "tool_use"
	}
	return Message{newID("msg_"), model, r.blocks, r.usage, cmp.Or(r.stopReason, stop)}
}

// reply renders the step. Parts that fail to render are reported and omitted or shortened: the play
// continues.
func (st *step) reply(s scope, p *part, c *call) (reply, []error) {
	var errs []error
	render := func(t *text) string {
		out, err := t.render(s)
		if err != nil {
			errs = append(errs, err)
		}
		return out
	}
	r := reply{step: *st}
	if t := render(st.think); t != "" {
		r.blocks = append(r.blocks, transcript.Block{Type: "thinking", Text: t})
	}
	if t := render(st.say); t != "" {
		r.blocks = append(r.blocks, transcript.Block{Type: "text", Text: t})
	}
	for _, u := range st.use {
		input, err := json.Marshal(renderTree(u.input, render))
		if err != nil {
			errs = append(errs, err)
		}
		r.blocks = append(r.blocks, transcript.Block{Type: "tool_use", ID: newID("toolu_"), Name: u.tool, Input: input})
	}
	if st.fault != nil {
		r.faultText = cmp.Or(render(st.fault.message), "Rehearsed failure.")
	}
	r.usage = p.account(c)
	errs = append(errs, st.usage.override(&r.usage, s)...)
	r.usage.Output = cmp.Or(r.usage.Output, r.size()/bytesPerToken+1)
	if st.fault.answers() {
		p.context, p.bytes = r.usage.Context(), c.size
	}
	return r, errs
}

func (r reply) size() int {
	n := 0
	for _, b := range r.blocks {
		n += len(b.Text) + len(b.Name) + len(b.Input)
	}
	return n
}

const bytesPerToken = 4

// account makes up the figures of a request: the context grows with the bytes of the conversation; earlier
// content is read from the cache, and new content is written to it. A conversation that became shorter was
// compacted.
func (p *part) account(c *call) transcript.Usage {
	grown := c.size
	base := 0
	if p.context > 0 && c.size >= p.bytes {
		grown, base = c.size-p.bytes, p.context
	}
	return transcript.Usage{Input: 3, CacheRead: base, CacheCreation: grown / bytesPerToken}
}

// override replaces made-up figures by those of the scenario. A context is claimed mostly as cache reads,
// which cost least.
func (u usage) override(f *transcript.Usage, s scope) (errs []error) {
	total := -1
	for name, to := range map[string]*int{"context": &total, "input": &f.Input, "cache_read": &f.CacheRead,
		"cache_creation": &f.CacheCreation, "output": &f.Output} {
		if u[name] == nil {
			continue
		}
		if n, err := u[name].renderAmount(s); err != nil {
			errs = append(errs, err)
		} else {
			*to = n
		}
	}
	if total >= 0 {
		f.Input = min(f.Input, total)
		f.CacheCreation = min(f.CacheCreation, total-f.Input)
		f.CacheRead = total - f.Input - f.CacheCreation
	}
	return errs
}

// newID makes an id that never repeats: the CLI merges messages of one id,
// and a resumed conversation holds ids of an earlier server.
func newID(prefix string) string { return prefix + "01" + rand.Text()[:22] }
