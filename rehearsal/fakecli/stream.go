package fakecli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
)

// streamEvent is what is read of a server-sent event.
type streamEvent struct {
	Type    string          `json:"type"`
	Message *answer         `json:"message"`
	Block   json.RawMessage `json:"content_block"`
	Delta   struct {
		Text     string `json:"text"`
		JSON     string `json:"partial_json"`
		Thinking string `json:"thinking"`
		Stop     string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
	Error struct{ Type, Message string }
}

// readStream reads the events of an answer up to message_stop.
func readStream(r io.Reader, l *listener) (*answer, error) {
	a := &answer{}
	var open *openBlock
	for lines := bufio.NewReaderSize(r, 4<<10); ; {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			var ev streamEvent
			if json.Unmarshal(data, &ev) != nil {
				return a, &apiError{message: "JSON Parse error: could not parse message into JSON"}
			}
			switch ev.Type {
			case "error":
				return a, streamError(ev)
			case "message_start":
				if ev.Message != nil {
					*a = *ev.Message
					a.opening = a.Usage
				}
				l.opened()
			case "content_block_start":
				open = newOpenBlock(ev.Block)
			case "content_block_delta":
				open.grow(ev)
			case "content_block_stop":
				if open != nil {
					l.block(a, open.close())
				}
				open = nil
			case "message_delta":
				a.Stop, a.Usage.Output = ev.Delta.Stop, ev.Usage.Output
			}
			l.event(a, bytes.TrimSpace(data))
			if ev.Type == "message_stop" {
				return a, nil
			}
		}
		if l.ctx.Err() != nil {
			if open != nil && open.kind == "text" && open.prose.Len() > 0 {
				l.partial(a, open.close())
			}
			return a, context.Cause(l.ctx)
		}
		if err != nil {
			return a, &apiError{message: "Connection dropped mid-response"}
		}
	}
}

// streamError is the failure that an error event stands for.
func streamError(ev streamEvent) *apiError {
	status := 500
	switch ev.Error.Type {
	case "overloaded_error":
		status = 529
	case "rate_limit_error":
		status = 429
	}
	return &apiError{status: status, kind: ev.Error.Type, message: ev.Error.Message}
}

// openBlock is a content block that still grows.
type openBlock struct {
	kind         string
	fields       map[string]json.RawMessage
	prose, input strings.Builder
}

func newOpenBlock(start json.RawMessage) *openBlock {
	b := &openBlock{}
	var begun struct{ Type, Text, Thinking string }
	_ = json.Unmarshal(start, &b.fields) // a block of another shape grows to nothing
	_ = json.Unmarshal(start, &begun)
	b.kind = begun.Type
	b.prose.WriteString(begun.Text + begun.Thinking)
	return b
}

func (b *openBlock) grow(ev streamEvent) {
	if b != nil {
		b.prose.WriteString(ev.Delta.Text + ev.Delta.Thinking)
		b.input.WriteString(ev.Delta.JSON)
	}
}

// close renders the block with all that came.
func (b *openBlock) close() json.RawMessage {
	switch b.kind {
	case "text":
		return textBlock(b.prose.String())
	case "thinking":
		b.fields["thinking"] = encode(b.prose.String())
	case "tool_use":
		var input bytes.Buffer
		if json.Compact(&input, []byte(b.input.String())) == nil && input.Len() > 0 {
			b.fields["input"] = input.Bytes()
		}
	}
	return encode(b.fields)
}
