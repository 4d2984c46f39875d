package decider

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// secret is a key of no known format.
const secret = "loom-4711-tapestry"

// peer is a server simulated by a test. It records what it was sent.
type peer struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	requests []request
}

type request struct {
	Path   string
	Header http.Header
	Body   map[string]any
}

// serve starts a server that answers each request with the next handler, and then always with the last one.
func serve(t *testing.T, answers ...http.HandlerFunc) *peer {
	t.Helper()
	p := &peer{t: t}
	p.Server = httptest.NewUnstartedServer(p.handler(answers))
	p.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.Start()
	t.Cleanup(p.Close)
	return p
}

func (p *peer) handler(answers []http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		got := request{Path: r.URL.Path, Header: r.Header}
		if err != nil || json.Unmarshal(raw, &got.Body) != nil {
			p.t.Errorf("request %q: %v", raw, err)
		}
		p.mu.Lock()
		p.requests = append(p.requests, got)
		answer := answers[min(len(p.requests), len(answers))-1]
		p.mu.Unlock()
		answer(w, r)
	})
}

func (p *peer) got() []request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

// saysAPI answers with a body.
func saysAPI(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// decided is an answer of a provider with a text.
func decided(provider, text string) http.HandlerFunc {
	if provider == OpenAI {
		return saysAPI(200, fmt.Sprintf(`{"model":"m-1","choices":[{"finish_reason":"stop","message":{"content":%q}}],
			"usage":{"prompt_tokens":30,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":10}}}`, text))
	}
	return saysAPI(200, fmt.Sprintf(`{"model":"m-1","stop_reason":"end_turn","content":[{"type":"thinking","thinking":"x"},
		{"type":"text","text":%q}],"usage":{"input_tokens":20,"output_tokens":5,"cache_read_input_tokens":10}}`, text))
}

// client asks a server, with a key.
func client(t *testing.T, base string, change func(*APIConfig)) *APIClient {
	t.Helper()
	c := APIConfig{Provider: OpenAI, BaseURL: base, Key: NewKey(secret), KeyName: "LOOM_KEY", Model: "m"}
	if change != nil {
		change(&c)
	}
	made, err := NewAPIClient(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func anthropic(c *APIConfig) { c.Provider = APIAnthropic }

var question = Question{System: "You decide.", Prompt: "Which?", Schema: []byte(`{"type":"object"}`)}

// withoutSecret fails if a text contains the key.
func withoutSecret(t *testing.T, what string, values ...any) {
	t.Helper()
	for _, v := range values {
		raw, _ := json.Marshal(v)
		for _, text := range []string{fmt.Sprint(v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v), string(raw)} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds the key: %s", what, text)
			}
		}
	}
}
