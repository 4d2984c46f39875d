package standin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// deviceID stands for the machine in metadata.user_id; one per configuration.
func deviceID(env environ) string {
	sum := sha256.Sum256([]byte(env.configDir()))
	return hex.EncodeToString(sum[:])
}

// apiMessage is a message of the API, as message_start and a whole answer hold it.
type apiMessage struct {
	ID         string            `json:"id"`
	Model      string            `json:"model"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      usage             `json:"usage"`
}

// readWhole reads an answer that came in one piece.
func (a *answer) readWhole(r io.Reader, s sink) error {
	var m apiMessage
	raw, err := io.ReadAll(r)
	if err != nil {
		return &apiError{message: "Connection dropped: " + err.Error()}
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return &apiError{garbled: true, message: "JSON Parse error: " + err.Error()}
	}
	a.id, a.model, a.opening, a.usage, a.stopReason = m.ID, m.Model, m.Usage, m.Usage, m.StopReason
	s.opened(a)
	for _, b := range m.Content {
		a.blocks = append(a.blocks, b)
		s.block(b)
	}
	return nil
}

// streamEvent is what is read of an event of the stream.
type streamEvent struct {
	Type    string          `json:"type"`
	Message *apiMessage     `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		JSON       string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	Error struct{ Type, Message string }
}

// readStream reads server-sent events up to message_stop.
func (a *answer) readStream(ctx context.Context, r io.Reader, s sink) error {
	lines := bufio.NewReaderSize(r, 4<<10)
	var open *openBlock
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = bytes.TrimSpace(data)
			var ev streamEvent
			if json.Unmarshal(data, &ev) != nil {
				return &apiError{garbled: true, mid: true, message: "JSON Parse error: could not parse message into JSON"}
			}
			if ev.Type == "error" {
				return &apiError{status: errorStatus(ev.Error.Type), kind: ev.Error.Type, message: ev.Error.Message, mid: true}
			}
			open = a.take(ev, open, s)
			s.event(data)
			if ev.Type == "message_stop" {
				return nil
			}
		}
		if err != nil {
			if text := open.text(); ctx.Err() != nil && text != nil {
				s.partial(text)
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return &apiError{mid: true, message: "Connection dropped mid-response"}
		}
	}
}

// errorStatus is the HTTP status that an error event stands for.
func errorStatus(kind string) int {
	switch kind {
	case "overloaded_error":
		return overload
	case "rate_limit_error":
		return http.StatusTooManyRequests
	}
	return http.StatusInternalServerError
}

// take applies one event and returns the block that is open after it.
func (a *answer) take(ev streamEvent, open *openBlock, s sink) *openBlock {
	switch ev.Type {
	case "message_start":
		if ev.Message != nil {
			a.id, a.model, a.opening, a.usage = ev.Message.ID, ev.Message.Model, ev.Message.Usage, ev.Message.Usage
			s.opened(a)
		}
	case "content_block_start":
		return newOpenBlock(ev.Block)
	case "content_block_delta":
		if open != nil {
			open.prose.WriteString(ev.Delta.Text + ev.Delta.Thinking)
			open.input.WriteString(ev.Delta.JSON)
			open.signature += ev.Delta.Signature
		}
	case "content_block_stop":
		if open != nil {
			b := open.close()
			a.blocks = append(a.blocks, b)
			s.block(b)
		}
		return nil
	case "message_delta":
		a.stopReason = ev.Delta.StopReason
		a.usage = a.usage.merge(ev.Usage)
	}
	return open
}

// openBlock is a content block that still grows.
type openBlock struct {
	kind         string
	start        map[string]json.RawMessage
	prose, input strings.Builder
	signature    string
}

func newOpenBlock(start json.RawMessage) *openBlock {
	b := &openBlock{}
	if json.Unmarshal(start, &b.start) == nil {
		_ = json.Unmarshal(b.start["type"], &b.kind)
	}
	var begun struct{ Text, Thinking string }
	_ = json.Unmarshal(start, &begun) // a block of another kind has neither
	b.prose.WriteString(begun.Text + begun.Thinking)
	return b
}

// close renders the block with all that came.
func (b *openBlock) close() json.RawMessage {
	switch b.kind {
	case "text":
		return textBlock(b.prose.String())
	case "thinking":
		b.start["thinking"], b.start["signature"] = encode(b.prose.String()), encode(b.signature)
	case "tool_use", "server_tool_use":
		if in := []byte(b.input.String()); json.Valid(in) {
			var compact bytes.Buffer
			_ = json.Compact(&compact, in)
			b.start["input"] = compact.Bytes()
		}
		return encode(toolUseBlock{b.kind, b.start["id"], b.start["name"], b.start["input"]})
	}
	return encode(b.start)
}

// text is the block as far as it came, if it is text.
func (b *openBlock) text() json.RawMessage {
	if b == nil || b.kind != "text" || b.prose.Len() == 0 {
		return nil
	}
	return textBlock(b.prose.String())
}

type toolUseBlock struct {
	Type  string          `json:"type"`
	ID    json.RawMessage `json:"id"`
	Name  json.RawMessage `json:"name"`
	Input json.RawMessage `json:"input"`
}
