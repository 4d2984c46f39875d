package claude

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// reply is one scripted answer of the model.
type reply struct {
	text    string
	tools   []call
	usage   [3]int        // input, cache read, cache creation
	status  int           // an HTTP error instead
	kind    string        // its type
	message string        // its message
	pause   time.Duration // between the chunks of text
	hold    chan struct{} // if set, the answer waits until it is closed
}

type call struct {
	name  string
	input any
}

// api is a Messages API on loopback that answers main-loop calls from a script.
type api struct {
	url string

	mu       sync.Mutex
	script   []reply
	requests []map[string]any
}

func startAPI(t testing.TB, script ...reply) *api {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &api{url: "http://" + ln.Addr().String(), script: script}
	srv := &http.Server{Handler: http.HandlerFunc(a.serve)}
	served := make(chan struct{})
	go func() { _ = srv.Serve(ln); close(served) }()
	t.Cleanup(func() { _ = srv.Close(); <-served })
	return a
}

func (a *api) env() map[string]string { return map[string]string{"ANTHROPIC_BASE_URL": a.url} }

func (a *api) then(script ...reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script = append(a.script, script...)
}

// reset replaces the rest of the script.
func (a *api) reset(script ...reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.script = script
}

// lastRequest renders the newest request's messages.
func (a *api) lastRequest() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.requests) == 0 {
		return ""
	}
	data, _ := json.Marshal(a.requests[len(a.requests)-1])
	return string(data)
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	var req map[string]any
	_ = json.NewDecoder(r.Body).Decode(&req)
	if strings.Contains(r.URL.Path, "count_tokens") {
		fmt.Fprint(w, `{"input_tokens":10}`)
		return
	}
	a.mu.Lock()
	a.requests = append(a.requests, req)
	answer := reply{text: "ok"}
	if len(a.script) > 0 {
		answer = a.script[0]
		if answer.status == 0 { // an error stays in the script, because the CLI retries
			a.script = a.script[1:]
		}
	}
	a.mu.Unlock()
	if answer.hold != nil {
		select {
		case <-answer.hold:
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case answer.status != 0:
		w.WriteHeader(answer.status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, answer.kind, answer.message)
	case req["stream"] == true:
		answer.stream(w, r, req["model"])
	default:
		fmt.Fprintf(w, `{"id":"msg_%s","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
			uuid.NewString(), req["model"], answer.text)
	}
}

func (r reply) stream(w http.ResponseWriter, req *http.Request, model any) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, v map[string]any) {
		v["type"] = kind
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		w.(http.Flusher).Flush()
	}
	usage := map[string]any{"input_tokens": r.usage[0], "cache_read_input_tokens": r.usage[1],
		"cache_creation_input_tokens": r.usage[2], "output_tokens": 1}
	send("message_start",
		map[string]any{"message": map[string]any{"id": "msg_" + uuid.NewString(), "type": "message",
			"role": "assistant", "model": model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
			"usage": usage}})
	index, stop := 0, "end_turn"
	if r.text != "" {
		send("content_block_start",
			map[string]any{"index": index, "content_block": map[string]any{"type": "text", "text": ""}})
		for word := range strings.SplitAfterSeq(r.text, " ") {
			send("content_block_delta",
				map[string]any{"index": index, "delta": map[string]any{"type": "text_delta", "text": word}})
			select {
			case <-time.After(r.pause):
			case <-req.Context().Done():
				return
			}
		}
		send("content_block_stop", map[string]any{"index": index})
		index++
	}
	for _, c := range r.tools {
		input, _ := json.Marshal(c.input)
		send("content_block_start",
			map[string]any{"index": index,
				"content_block": map[string]any{"type": "tool_use", "id": "toolu_" + uuid.NewString(), "name": c.name,
					"input": map[string]any{}}})
		send("content_block_delta",
			map[string]any{"index": index,
				"delta": map[string]any{"type": "input_json_delta", "partial_json": string(input)}})
		send("content_block_stop", map[string]any{"index": index})
		index++
		stop = "tool_use"
	}
	send("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]any{"output_tokens": 7}})
	send("message_stop", map[string]any{})
}

func bash(command string) call {
	return call{"Bash", map[string]any{"command": command, "description": "run"}}
}
