package corpus

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/transcript"
)

// Reply is one answer of a [Model]: blocks, or an HTTP error.
type Reply struct {
	For    string            `json:"for"` // regular expression: only for requests whose body matches
	Blocks []Block           `json:"blocks"`
	Hold   bool              `json:"hold"`  // stop in the middle of the first block until released, or cancelled
	Until  <-chan struct{}   `json:"-"`     // not nil: the answer begins when it is closed
	Usage  *transcript.Usage `json:"usage"` // of the prompt; small numbers if absent

	Status  int    `json:"status"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Block is a text, or a tool call.
type Block struct {
	Text  string          `json:"text"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Model serves the Messages API on loopback: it gives its replies in order.
type Model struct {
	URL  string
	Idle string // what it says when it has no more replies; empty: that fails the test

	t       testing.TB
	release chan struct{} // has room for the releases of a whole script

	mu      sync.Mutex
	replies []Reply
	bodies  []string
}

// StartModel starts a model that ends with the test.
func StartModel(t testing.TB, replies ...Reply) *Model {
	m := &Model{t: t, replies: slices.Clone(replies), release: make(chan struct{}, 16)}
	srv := httptest.NewServer(m)
	m.URL = srv.URL
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return m
}

// Then adds replies.
func (m *Model) Then(replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, replies...)
}

// Reset replaces the replies that are left.
func (m *Model) Reset(replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = replies
}

// Requests are the bodies of the requests for answers so far.
func (m *Model) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.bodies)
}

// Release lets one held reply continue, even one that is still to come.
func (m *Model) Release() { m.release <- struct{}{} }

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	body := string(raw)
	var asked struct {
		Model  string
		Stream bool
	}
	_ = json.Unmarshal(raw, &asked) // other requests have neither
	w.Header().Set("content-type", "application/json")
	switch {
	case err != nil:
	case r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/messages"):
		w.WriteHeader(http.StatusNotFound)
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":100}`)
	case !asked.Stream && strings.Contains(body, `"text":"Hi"`):
		// A probe: set_model makes the CLI send "Hi" to a model that it does not know yet. A stand-in does not.
		_ = json.NewEncoder(w).Encode(Reply{Blocks: []Block{{Text: "Hi"}}}.message(asked.Model, 0))
	default:
		reply, n := m.next(body)
		if reply.Until != nil && !await(r.Context(), reply.Until) {
			return
		}
		switch {
		case reply.Status != 0:
			w.WriteHeader(reply.Status)
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "error",
				"error": map[string]string{"type": reply.Type, "message": reply.Message}})
		case asked.Stream:
			m.stream(w, r.Context(), reply, reply.message(asked.Model, n))
		default:
			_ = json.NewEncoder(w).Encode(reply.message(asked.Model, n))
		}
	}
}

// next takes the first reply for this request. An error stays for the retries of the CLI (it drops beta headers one by
// one) if it is the last reply or a refusal.
func (m *Model) next(body string) (Reply, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bodies = append(m.bodies, body)
	for i, r := range m.replies {
		if r.For != "" && !regexp.MustCompile("(?s)"+r.For).MatchString(body) {
			continue
		}
		if r.Status != http.StatusBadRequest && (r.Status == 0 || len(m.replies) > 1) {
			m.replies = slices.Delete(m.replies, i, i+1)
		}
		return r, len(m.bodies)
	}
	if m.Idle == "" {
		m.t.Errorf("the model has no reply for request %d", len(m.bodies))
	}
	return Reply{Blocks: []Block{{Text: cmp.Or(m.Idle, "The script has no more replies.")}}}, len(m.bodies)
}

// message is the reply to the nth request.
func (r Reply) message(model string, n int) rehearsal.Message {
	u := cmp.Or(r.Usage, &transcript.Usage{Input: 1000 + n, Output: 20})
	a := rehearsal.Message{ID: fmt.Sprintf("msg_%03d", n), Model: model, Usage: *u, Stop: "end_turn"}
	for i, b := range r.Blocks {
		block := transcript.Block{Type: "text", Text: b.Text}
		if b.Tool != "" {
			id := fmt.Sprintf("toolu_%03d_%d", n, i)
			block, a.Stop = transcript.Block{Type: "tool_use", ID: id, Name: b.Tool, Input: b.Input}, "tool_use"
		}
		a.Blocks = append(a.Blocks, block)
	}
	return a
}

// stream writes a reply as server-sent events.
func (m *Model) stream(w http.ResponseWriter, ctx context.Context, r Reply, a rehearsal.Message) {
	w.Header().Set("content-type", "text/event-stream")
	w.Header().Set("request-id", "req_"+a.ID)
	for i, e := range a.Events() {
		fmt.Fprint(w, e)
		w.(http.Flusher).Flush()
		if r.Hold && i == 3 && !await(ctx, m.release) { // message_start, ping, the block's start, a part of it
			return
		}
	}
}

// await reports whether ch was closed, or had a value, before the context ended.
func await(ctx context.Context, ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	case <-ctx.Done():
		return false
	}
}
