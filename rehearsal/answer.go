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
	if err := wait(ctx, r.delay); err != nil {
		return err
	}
	f := cmp.Or(r.fault, &fault{})
	if err := wait(ctx, f.stall); err != nil {
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
	for i, e := range r.events(model) {
		if f.cutAfter > 0 && i == f.cutAfter {
			panic(http.ErrAbortHandler)
		}
		if err := send(e.String()); err != nil {
			return err
		}
		switch {
		case i != 1:
		// After message_start and the ping, the client knows that a stream has begun.
		case f.garbage:
			return send("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\n\n" +
				"event: content_block_delta\ndata: not json at all\n\n")
		case f.errorEvent != "":
			return send(event(errorBody(f.errorEvent, r.faultText)).String())
		default:
			if err := wait(ctx, f.stallMid); err != nil {
				return err
			}
		}
		if e["type"] == "content_block_delta" {
			if err := wait(ctx, r.chunkDelay); err != nil {
				return err
			}
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
	blocks := []object{}
	for _, b := range r.blocks {
		blocks = append(blocks, whole(b))
	}
	return writeJSON(w, http.StatusOK, r.message(c.Model, r.usage, blocks, r.stop()))
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

func errorType(status int) string {
	if status < 500 {
		return cmp.Or(errorTypes[status], errorTypes[400])
	}
	return cmp.Or(errorTypes[status], errorTypes[500])
}

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

func writeJSON(w http.ResponseWriter, status int, body object) error {
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

// event is one server-sent event, named by its type.
type event object

func (e event) String() string {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is made of texts, numbers and JSON that was parsed
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", e["type"], data)
}

func (r reply) events(model string) []event {
	first := r.usage
	first.Output = 1
	evs := []event{
		{"type": "message_start", "message": r.message(model, first, []object{}, nil)},
		{"type": "ping"},
	}
	for i, b := range r.blocks {
		evs = append(evs, event{"type": "content_block_start", "index": i, "content_block": opening(b)})
		for _, d := range deltas(b) {
			evs = append(evs, event{"type": "content_block_delta", "index": i, "delta": d})
		}
		evs = append(evs, event{"type": "content_block_stop", "index": i})
	}
	return append(evs,
		event{"type": "message_delta", "usage": r.usage,
			"delta": object{"stop_reason": r.stop(), "stop_sequence": nil}},
		event{"type": "message_stop"})
}

// message returns the envelope of message_start, and the complete answer if it is not streamed.
func (r reply) message(model string, u transcript.Usage, blocks []object, stop any) object {
	return object{
		"id": newID("msg_"), "type": "message", "role": "assistant", "model": model,
		"content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": u,
	}
}

// signature replaces the proof that the real API adds to thinking.
const signature = "cmVoZWFyc2Fs"

// opening is a block before its content. The content of text and thinking is in the field with the name of the type.
func opening(b transcript.Block) object {
	switch b.Type {
	case "thinking":
		return object{"type": b.Type, b.Type: "", "signature": ""}
	case "tool_use":
		return object{"type": b.Type, "id": b.ID, "name": b.Name, "input": object{}}
	}
	return object{"type": b.Type, b.Type: ""}
}

func whole(b transcript.Block) object {
	o := opening(b)
	switch b.Type {
	case "tool_use":
		o["input"] = b.Input
	case "thinking":
		o["signature"] = signature
		fallthrough
	default:
		o[b.Type] = b.Text
	}
	return o
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

func (r reply) stop() string {
	otherwise := "end_turn"
	if slices.ContainsFunc(r.blocks, func(b transcript.Block) bool { return b.Type == "tool_use" }) {
		otherwise = "tool_use"
	}
	return cmp.Or(r.stopReason, otherwise)
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
