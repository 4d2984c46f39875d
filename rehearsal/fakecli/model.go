package fakecli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// modelRequest is the body of a Messages API request.
type modelRequest struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
	System    []json.RawMessage `json:"system"`
	Messages  []wireMessage     `json:"messages"`
	Tools     []toolSpec        `json:"tools,omitempty"`
	Output    struct {
		Effort string `json:"effort,omitempty"`
	} `json:"output_config"`
	Metadata struct {
		UserID string `json:"user_id"` // JSON text, like the CLI's
	} `json:"metadata"`
	agent string // id of the subagent that asks
}

type wireMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// toolSpec describes a tool to the API.
type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// answer is what a model said: a message of the API.
type answer struct {
	ID      string            `json:"id"`
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
	Stop    string            `json:"stop_reason"`
	Usage   usage             `json:"usage"`

	uuids []string // of the blocks' frames and lines
}

func (a *answer) text() string { return textOf(a.Content) }

// message is one block of the answer as frames and lines have it.
func (a *answer) message(block json.RawMessage) obj {
	return obj{"id": a.ID, "type": "message", "role": "assistant", "model": a.Model, "content": []json.RawMessage{block},
		"stop_reason": nullable(a.Stop), "usage": a.Usage}
}

// textOf joins the text blocks among blocks.
func textOf(blocks []json.RawMessage) string {
	var parts []string
	for _, raw := range blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// apiError is a failed model call. The real CLI tries again for minutes; here the first
// failure is the last.
type apiError struct {
	status int    // 0: no answer
	text   string // what the CLI says to its user
}

func (e *apiError) Error() string { return e.text }

// class is the `error` field of frames about the failure.
func (e *apiError) class() string {
	switch {
	case e.status == 401:
		return "authentication_failed"
	case e.status == 429:
		return "rate_limit"
	case e.status >= 500:
		return "server_error"
	}
	return "unknown"
}

// apiClient talks to {ANTHROPIC_BASE_URL}/v1/messages.
type apiClient struct {
	base, key, session string
	http               *http.Client
}

func newAPIClient(session string) *apiClient {
	return &apiClient{
		base: strings.TrimSuffix(os.Getenv("ANTHROPIC_BASE_URL"), "/"), key: os.Getenv("ANTHROPIC_API_KEY"), session: session,
		// A hundred of these run at once, each with one request in flight: small buffers.
		http: &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
			ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
		}},
	}
}

// call makes one request, and shows the answer as the thread's; without one nothing is shown of
// it. The answer is as far as it came, also with an error.
func (c *apiClient) call(ctx context.Context, r modelRequest, t *thread) (*answer, error) {
	r.MaxTokens, r.Stream = maxOutputTokens, true
	r.Metadata.UserID = string(encode(obj{"session_id": c.session}))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/messages", bytes.NewReader(encode(r)))
	if err != nil {
		return &answer{}, err
	}
	headers := map[string]string{"content-type": "application/json", "anthropic-version": "2023-06-01",
		"user-agent": "claude-cli/" + version + " (stand-in)", "x-claude-code-agent-id": r.agent, "x-api-key": c.key}
	for name, value := range headers {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return &answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return readStream(ctx, resp.Body, t)
	}
	var w struct {
		Error struct{ Message string }
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // an error body that breaks off is as good as none
	_ = json.Unmarshal(raw, &w)
	text := fmt.Sprintf("API Error: %d %s", resp.StatusCode, cmp.Or(w.Error.Message, string(raw)))
	if rest, ok := strings.CutPrefix(w.Error.Message, "prompt is too long: "); ok {
		text = "Prompt is too long · " + rest
	}
	return &answer{}, &apiError{resp.StatusCode, text}
}

// streamEvent is what is read of a server-sent event.
type streamEvent struct {
	Type    string                     `json:"type"`
	Message *answer                    `json:"message"`
	Block   map[string]json.RawMessage `json:"content_block"`
	Delta   struct {
		Text     string `json:"text"`
		JSON     string `json:"partial_json"`
		Thinking string `json:"thinking"`
		Stop     string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// readStream reads the events of an answer up to message_stop.
func readStream(ctx context.Context, r io.Reader, t *thread) (*answer, error) {
	a := &answer{}
	var open map[string]json.RawMessage // the block that grows
	var grown strings.Builder
	for lines := bufio.NewReaderSize(r, 4<<10); ; {
		line, err := lines.ReadBytes('\n')
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			var ev streamEvent
			if json.Unmarshal(data, &ev) != nil {
				return a, &apiError{text: "API Error: JSON Parse error"}
			}
			switch ev.Type {
			case "message_start":
				*a = *ev.Message
			case "content_block_start":
				open = ev.Block
				grown.Reset()
			case "content_block_delta":
				grown.WriteString(ev.Delta.Text + ev.Delta.Thinking + ev.Delta.JSON)
			case "content_block_stop":
				block := closeBlock(open, grown.String())
				a.Content, a.uuids = append(a.Content, block), append(a.uuids, newUUID())
				t.block(a, block)
			case "message_delta":
				a.Stop, a.Usage.Output = ev.Delta.Stop, ev.Usage.Output
			}
			t.event(a, bytes.TrimSpace(data))
			if ev.Type == "message_stop" {
				return a, nil
			}
		}
		if err != nil {
			return a, &apiError{text: "API Error: Connection dropped mid-response"}
		}
	}
}

// closeBlock renders a block with all that came: a text or a thought is in the field of its
// type's name.
func closeBlock(fields map[string]json.RawMessage, grown string) json.RawMessage {
	var kind string
	_ = json.Unmarshal(fields["type"], &kind) // without a type it stays as it began
	switch {
	case kind == "text" || kind == "thinking":
		fields[kind] = encode(grown)
	case json.Valid([]byte(grown)):
		fields["input"] = json.RawMessage(grown)
	}
	return encode(fields)
}

// event shows what streams of the main conversation.
func (t *thread) event(a *answer, data json.RawMessage) {
	if t != nil && t.sub == nil && t.s.flags.has("--include-partial-messages") {
		t.emit(obj{"type": "stream_event", "event": data, "api_message_id": a.ID})
	}
}

// block shows a content block. The texts of subagents are not shown.
func (t *thread) block(a *answer, block json.RawMessage) {
	var c toolCall
	_ = json.Unmarshal(block, &c) // blocks of other shapes are passed through
	called := c.Type == "tool_use"
	switch {
	case t == nil:
		return
	case t.sub == nil:
		usage := a.Usage // of the prompt: it holds while tools run, and when they are interrupted
		set(t.s, &t.s.account.last, &usage)
	case called:
		t.sub.calls(t.s, a.Usage.context()+len(c.Input)/4, c)
	}
	if called {
		t.s.faults.toolComes()
	}
	if t.sub == nil || called {
		t.emit(obj{"type": "assistant", "uuid": a.uuids[len(a.uuids)-1], "message": a.message(block)})
	}
	if called {
		t.s.faults.toolUsed(t.s)
	}
}

// record adds an answer, as far as it came, to the conversation and the transcript.
func (t *thread) record(a *answer) {
	t.add("assistant", a.Content...)
	for i, block := range a.Content {
		t.tr.link(obj{"type": "assistant", "uuid": a.uuids[i], "message": a.message(block)})
	}
}
