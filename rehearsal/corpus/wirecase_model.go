package corpus

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// WireReply is one answer of the scripted model: blocks, or an HTTP error.
type WireReply struct {
	For    string      `json:"for"` // regular expression: only for requests whose body matches
	Blocks []WireBlock `json:"blocks"`
	Hold   bool        `json:"hold"`  // stop in the middle of the first block until released, or cancelled
	Usage  *WireUsage  `json:"usage"` // of the prompt; small numbers if absent
	Stop   string      `json:"stop"`

	Status  int               `json:"status"`
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Header  map[string]string `json:"header"`
}

// WireBlock is a text, or a tool call.
type WireBlock struct {
	Text  string          `json:"text"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	ID    string          `json:"id"` // of the call; generated if absent
}

// WireUsage is the token count that a reply claims.
type WireUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

// model serves the Messages API on loopback.
type model struct {
	t      *testing.T
	server *http.Server
	url    string
	ended  chan struct{}
	// release has room for the releases of a whole script.
	release chan struct{}

	mu       sync.Mutex
	replies  []WireReply
	bodies   []string
	calls    int
	more     chan struct{} // closed and replaced with each request
	problems []string
}

func startModel(t *testing.T, replies []WireReply) *model {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{t: t, url: "http://" + l.Addr().String(), replies: append([]WireReply(nil), replies...),
		release: make(chan struct{}, 16), more: make(chan struct{}), ended: make(chan struct{})}
	m.server = &http.Server{Handler: m}
	go func() {
		defer close(m.ended)
		m.server.Serve(l)
	}()
	t.Cleanup(func() {
		m.server.Close()
		<-m.ended
	})
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return
	case r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages"):
		w.WriteHeader(http.StatusNotFound)
		return
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":100}`)
		return
	}
	if isProbe(string(body)) {
		w.Header().Set("content-type", "application/json")
		fmt.Fprint(w,
			`{"id":"msg_probe","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Hi"}],`+
				`"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
		return
	}
	reply, n, release := m.next(string(body))
	if reply.Status != 0 {
		for k, v := range reply.Header {
			w.Header().Set(k, v)
		}
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(reply.Status)
		json.NewEncoder(w).Encode(map[string]any{"type": "error",
			"error": map[string]string{"type": reply.Type, "message": reply.Message}})
		return
	}
	(&answerStream{w: w, r: r, n: n, release: release}).write(reply)
}

// isProbe reports whether a request is a probe: set_model makes the CLI send "Hi" to a model that it does
// not know yet, not as a stream. A stand-in does not.
func isProbe(body string) bool {
	return !strings.Contains(body, `"stream":true`) && strings.Contains(body, `"text":"Hi"`)
}

// next takes the first reply for this request. An error reply stays for the retries of the CLI (it drops
// beta headers one by one).
func (m *model) next(body string) (WireReply, int, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, body)
	m.calls++
	close(m.more)
	m.more = make(chan struct{})
	for i, r := range m.replies {
		if r.For != "" && !regexp.MustCompile("(?s)"+r.For).MatchString(body) {
			continue
		}
		if r.Status != http.StatusBadRequest {
			m.replies = append(m.replies[:i:i], m.replies[i+1:]...)
		}
		return r, m.calls, m.release
	}
	m.problems = append(m.problems, fmt.Sprintf("no reply for request %d", m.calls))
	return WireReply{Blocks: []WireBlock{{Text: "The script has no more replies."}}}, m.calls, m.release
}

// await waits until there were so many requests.
func (m *model) await(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		m.mu.Lock()
		calls, more := m.calls, m.more
		m.mu.Unlock()
		if calls >= n {
			return nil
		}
		select {
		case <-more:
		case <-deadline.C:
			return fmt.Errorf("there were %d requests within %s", calls, waitTimeout)
		}
	}
}

func (m *model) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.bodies...)
}

func (m *model) check(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.problems {
		t.Errorf("model: %s", p)
	}
}

// answerStream writes one reply as server-sent events.
type answerStream struct {
	w       http.ResponseWriter
	r       *http.Request
	n       int
	release <-chan struct{}
}

func (s *answerStream) event(kind string, data map[string]any) {
	data["type"] = kind
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, raw)
	s.w.(http.Flusher).Flush()
}

func (s *answerStream) write(r WireReply) {
	s.w.Header().Set("content-type", "text/event-stream")
	s.w.Header().Set("request-id", fmt.Sprintf("req_%d", s.n))
	u := WireUsage{Input: 1000 + s.n, Output: 20}
	if r.Usage != nil {
		u = *r.Usage
	}
	s.event("message_start", map[string]any{"message": map[string]any{
		"id": fmt.Sprintf("msg_%03d", s.n), "type": "message", "role": "assistant", "model": "claude-opus-5-5",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": map[string]int{"input_tokens": u.Input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
			"output_tokens": 1},
	}})
	stop := "end_turn"
	for i, b := range r.Blocks {
		if b.Tool != "" {
			stop = "tool_use"
		}
		if !s.block(i, b, r.Hold && i == 0) {
			return
		}
	}
	if r.Stop != "" {
		stop = r.Stop
	}
	s.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil},
		"usage": map[string]int{"output_tokens": u.Output}})
	s.event("message_stop", map[string]any{})
}

// block writes one content block; false: the client has gone.
func (s *answerStream) block(i int, b WireBlock, hold bool) bool {
	opening, delta := map[string]any{"type": "text", "text": ""}, "text_delta"
	text := b.Text
	if b.Tool != "" {
		if b.ID == "" {
			b.ID = fmt.Sprintf("toolu_%03d_%d", s.n, i)
		}
		opening = map[string]any{"type": "tool_use", "id": b.ID, "name": b.Tool, "input": map[string]any{}}
		delta, text = "input_json_delta", string(b.Input)
	}
	s.event("content_block_start", map[string]any{"index": i, "content_block": opening})
	half := len(text) / 2
	for n, part := range []string{text[:half], text[half:]} {
		if n == 1 && hold {
			select {
			case <-s.release:
			case <-s.r.Context().Done():
				return false
			}
		}
		d := map[string]any{"type": delta}
		if b.Tool != "" {
			d["partial_json"] = part
		} else {
			d["text"] = part
		}
		s.event("content_block_delta", map[string]any{"index": i, "delta": d})
	}
	s.event("content_block_stop", map[string]any{"index": i})
	return true
}
