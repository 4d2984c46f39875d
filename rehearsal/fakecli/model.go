package fakecli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript"
)

type wireMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// toolCall is a tool_use block.
type toolCall = transcript.Block

// toolSpec describes a tool to the API.
type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// answer is a model's answer: a message of the API.
type answer struct {
	ID      string            `json:"id"`
	Model   string            `json:"model"`
	Content []json.RawMessage `json:"content"`
	Stop    string            `json:"stop_reason"`
	Usage   usage             `json:"usage"`

	uuids []string // of the blocks' frames and lines
}

// message returns one block of the answer in the form of frames and lines.
func (a *answer) message(block []json.RawMessage) obj {
	return obj{"id": a.ID, "type": "message", "role": "assistant", "model": a.Model, "content": block,
		"stop_reason": nullable(a.Stop), "usage": a.Usage}
}

// parse reads blocks; unknown ones are empty.
func parse(blocks []json.RawMessage) []transcript.Block {
	out := make([]transcript.Block, len(blocks))
	for i, raw := range blocks {
		_ = json.Unmarshal(raw, &out[i])
	}
	return out
}

func calls(blocks []json.RawMessage) []toolCall {
	return slices.DeleteFunc(parse(blocks), func(b transcript.Block) bool { return b.Type != "tool_use" })
}

// textOf joins the text blocks among blocks.
func textOf(blocks []json.RawMessage) string {
	var parts []string
	for _, b := range parse(blocks) {
		if b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// apiError is a failed model call. The real CLI retries for minutes; here the first failure is final.
type apiError struct {
	status int    // 0: no answer
	text   string // what the CLI shows its user
}

func (e *apiError) Error() string { return e.text }

// reminder begins every conversation, as with the CLI: the sender's text comes after it.
var reminder = textBlock("<system-reminder>\nA stand-in plays Claude Code here.\n</system-reminder>\n")

// request returns the body of the next request to the model. more is added to the user's message at its
// end.
func (t *thread) request(more ...json.RawMessage) obj {
	s := t.s
	var tools []toolSpec
	for _, tl := range t.toolset() {
		tools = append(tools, tl.toolSpec)
	}
	messages := []wireMessage{{"user", []json.RawMessage{reminder}}}
	s.mu.Lock()
	header, prompt := "x-anthropic-billing-header: cc_version="+version+".standin;", s.systemText
	for _, m := range t.messages {
		messages = appendMessage(messages, m.Role, m.Content...)
	}
	s.mu.Unlock()
	if t.sub != nil {
		prompt = ""
	}
	return obj{"model": strings.TrimSuffix(s.model, "[1m]"), "max_tokens": 128_000, "stream": true,
		"system": []json.RawMessage{textBlock(header),
			textBlock("You are a Claude agent. " + prompt + "\nPrimary working directory: " + s.cwd)},
		"messages": appendMessage(messages, "user", more...), "tools": tools,
		"output_config": obj{"effort": nullable(s.flags.get("--effort"))},
		"metadata":      obj{"user_id": string(encode(obj{"session_id": s.id}))}}
}

// call requests one answer of the model, and shows it if shown is set. With an error it returns the part of
// the answer that has arrived.
func (t *thread) call(ctx context.Context, body obj, shown bool) (*answer, error) {
	url := strings.TrimSuffix(os.Getenv("ANTHROPIC_BASE_URL"), "/") + "/v1/messages"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(encode(body)))
	if err != nil {
		return &answer{}, err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"},
		"User-Agent": {"claude-cli/" + version + " (stand-in)"}, "X-Api-Key": {os.Getenv("ANTHROPIC_API_KEY")}}
	if t.sub != nil {
		req.Header.Set("X-Claude-Code-Agent-Id", t.sub.id)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &answer{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return &answer{}, readError(resp)
	}
	a, err := t.readStream(ctx, resp.Body, shown)
	if err == nil {
		model, account := body["model"].(string), &t.s.account
		t.s.mu.Lock()
		account.total.add(model, a.Usage)
		account.sinceResult.add(model, a.Usage)
		account.cost += price(a.Usage)
		t.s.mu.Unlock()
	}
	return a, err
}

func readError(resp *http.Response) error {
	var w struct {
		Error struct{ Message string }
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // an incomplete error body is ignored
	_ = json.Unmarshal(raw, &w)
	text := fmt.Sprintf("API Error: %d %s", resp.StatusCode, cmp.Or(w.Error.Message, string(raw)))
	if rest, ok := strings.CutPrefix(w.Error.Message, "prompt is too long: "); ok {
		text = "Prompt is too long · " + rest
	}
	return &apiError{resp.StatusCode, text}
}

// streamEvent holds the fields that are read from a server-sent event.
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
func (t *thread) readStream(ctx context.Context, r io.Reader, shown bool) (*answer, error) {
	a := &answer{}
	streams := shown && t.sub == nil && t.s.flags.has("--include-partial-messages")
	var open map[string]json.RawMessage // the incomplete block
	var grown strings.Builder
	for lines := bufio.NewReaderSize(r, 4<<10); ; {
		line, err := lines.ReadBytes('\n')
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		data, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if err == nil && !ok {
			continue
		}
		var ev streamEvent
		if err != nil || json.Unmarshal(data, &ev) != nil {
			return a, &apiError{text: "API Error: Connection dropped mid-response"}
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
			a.Content, a.uuids = append(a.Content, closeBlock(open, grown.String())), append(a.uuids, newUUID())
			if shown {
				t.showBlock(a)
			}
		case "message_delta":
			a.Stop, a.Usage.Output = ev.Delta.Stop, ev.Usage.Output
		}
		if streams {
			t.emit(obj{"type": "stream_event", "event": json.RawMessage(data), "api_message_id": a.ID})
		}
		if ev.Type == "message_stop" {
			return a, nil
		}
	}
}

// closeBlock renders a complete block: its text or thought is in the field with the name of its type.
func closeBlock(fields map[string]json.RawMessage, grown string) json.RawMessage {
	var kind string
	_ = json.Unmarshal(fields["type"], &kind) // without a type it is unchanged
	switch {
	case kind == "text" || kind == "thinking":
		fields[kind] = encode(grown)
	case json.Valid([]byte(grown)):
		fields["input"] = json.RawMessage(grown)
	}
	return encode(fields)
}

// showBlock shows the last block of an answer. The texts of subagents are not shown.
func (t *thread) showBlock(a *answer) {
	block := a.Content[len(a.Content)-1:]
	called := calls(block)
	if t.sub == nil {
		usage := a.Usage // of the prompt: it is kept while tools run, and when they are interrupted
		set(t.s, &t.s.account.last, &usage)
	}
	for range called {
		if t.s.faults.is("hang") || t.s.faults.is("spin") { // stop the reader before the host answers
			t.s.faults.readingStopped.Store(true)
		}
	}
	if t.sub == nil || len(called) > 0 {
		t.emit(obj{"type": "assistant", "uuid": a.uuids[len(a.uuids)-1], "message": a.message(block)})
	}
	// The first of the turn, once its frame is out.
	if f := t.s.faults; len(called) > 0 && !f.used.Swap(true) && len(f.list) > 0 {
		<-t.s.out.written()
		t.s.strike(toolUse)
	}
}

// usage is the token count of one model call.
type usage = transcript.Usage

// price is the cost of a call, in dollars, at the prices of one model for all of them. A cache
// read costs a twentieth of an input token, a cache write five quarters.
func price(u usage) float64 {
	input := float64(u.Input) + float64(u.CacheCreation)*1.25 + float64(u.CacheRead)*0.05
	return (input*4 + float64(u.Output)*20) / 1e6
}

const (
	compactReserve = 33_000 // before the window's end; compaction itself is not imitated
	promptSize     = 15_000 // of prompt and tools, before anything was said
)

// modelWindow is the context window of a model (observed with CLI 2.1.329).
func modelWindow(model string) int {
	if strings.Contains(model, "-4-") {
		return 200_000
	}
	return 1_000_000
}

// modelUsage is the usage by model, in the format of result frames and the transcript.
type modelUsage map[string]modelTotal

type modelTotal struct {
	Input         int     `json:"inputTokens"`
	Output        int     `json:"outputTokens"`
	CacheRead     int     `json:"cacheReadInputTokens"`
	CacheCreation int     `json:"cacheCreationInputTokens"`
	Cost          float64 `json:"costUSD"`
	Window        int     `json:"contextWindow"`
}

func (m modelUsage) add(model string, u usage) {
	t := m[model]
	m[model] = modelTotal{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead,
		t.CacheCreation + u.CacheCreation, t.Cost + price(u), modelWindow(model)}
}

// account is the session's usage, over all its processes and since the last result.
// session.mu guards it.
type account struct {
	total, sinceResult modelUsage
	cost               float64
	last               *usage // of the main thread's last answer; never changed, only replaced
}

// usage is the answer to get_usage.
func (s *session) usage() obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	return obj{"session": obj{"total_cost_usd": s.account.cost, "model_usage": maps.Clone(s.account.total)}}
}

// contextUsage is the answer to get_context_usage: the usage of the last call.
func (s *session) contextUsage() obj {
	window, total, last := modelWindow(s.model), promptSize, guarded(s, &s.account.last)
	if last != nil {
		total = max(total, last.Context())
	}
	return obj{"totalTokens": total, "rawMaxTokens": window, "apiUsage": last, "model": s.model,
		"isAutoCompactEnabled": true, "autoCompactThreshold": window - compactReserve}
}
