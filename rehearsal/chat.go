package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// chatRequest holds the fields that are read from a Chat Completions request. This path neither streams nor
// calls tools: it serves clients with single questions.
type chatRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []wireMessage     `json:"messages"`
}

// readChat converts a Chat Completions request to a call: system and developer messages become its system
// prompt. Each request is a conversation of its own.
func readChat(body []byte) (*call, error) {
	var r chatRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	c := &call{size: len(body), chat: true, direct: true, session: newID("chat_")}
	c.Model = r.Model
	for _, m := range r.Messages {
		switch m.Role {
		case "system", "developer":
			c.System = append(c.System, m.Content...)
		case "user", "assistant":
			c.Messages = append(c.Messages, m)
		default:
			return nil, fmt.Errorf("read request: messages of role %q are not played here", m.Role)
		}
	}
	switch {
	case c.Model == "" || len(c.Messages) == 0:
		return nil, errors.New("read request: model and messages are required")
	case r.Stream:
		return nil, errors.New("read request: Chat Completions are not streamed here: leave out stream")
	case len(r.Tools) > 0:
		return nil, errors.New("read request: Chat Completions have no tools here: leave out tools")
	}
	c.readMessages()
	c.role = c.readRole()
	return c, nil
}

// asksForObject reports whether a request without tools requires an answer that matches a JSON Schema.
func (c *call) asksForObject() bool {
	var o struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	}
	return len(c.Tools) == 0 && json.Unmarshal(c.OutputConfig, &o) == nil && len(o.Format.Schema) > 0
}

// plain makes a verdict the text of the answer, because a client that offers no tools cannot handle a call.
func (r reply) plain() reply {
	for i, b := range r.blocks {
		if b.name == structuredOutput {
			r.blocks[i] = outBlock{kind: "text", text: string(b.input)}
		}
	}
	return r
}

func (r reply) chatAnswer(model string) object {
	var text []string
	for _, b := range r.blocks {
		if b.kind == "text" {
			text = append(text, b.text)
		}
	}
	finish := "stop"
	if r.stop == "max_tokens" {
		finish = "length"
	}
	u := r.usage
	return object{
		"id": newID("chatcmpl-"), "object": "chat.completion", "created": time.Now().Unix(), "model": model,
		"choices": []object{{"index": 0, "finish_reason": finish, "logprobs": nil,
			"message": object{"role": "assistant", "content": strings.Join(text, "\n"), "refusal": nil}}},
		"usage": object{"prompt_tokens": u.Context(), "completion_tokens": u.Output,
			"total_tokens":          u.Context() + u.Output,
			"prompt_tokens_details": object{"cached_tokens": u.CacheRead}},
	}
}

// understand parses a request for the API that its path names.
func understand(r *http.Request, body []byte) (*call, error) {
	if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), chatPath) {
		return readChat(body)
	}
	return readCall(r.Header, body)
}

const chatPath = "/v1/chat/completions"
