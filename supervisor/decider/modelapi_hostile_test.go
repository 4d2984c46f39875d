package decider

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestRefusals: an error says what happened, where and what to do, and what happens to the question.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status              int
		body                string
		transient, hopeless bool
		words               []string
	}{
		{401, `{"error":{"message":"Incorrect API key provided: ` + secret + `"}}`, false, true,
			[]string{"401", "/v1/chat/completions", "Incorrect API key provided", "LOOM_KEY", "--decider-key-env"}},
		{403, `{"error":"forbidden"}`, false, true, []string{"403", "forbidden", "LOOM_KEY"}},
		{404, `<html>` + secret, false, true, []string{"404", "not found", "--decider-base-url", "--decider-model"}},
		{405, ``, false, true, []string{"--decider-base-url"}},
		{402, `{"message":"pay"}`, false, true, []string{"pay", "no credit"}},
		{407, ``, false, true, []string{"HTTPS_PROXY"}},
		{413, ``, false, false, []string{"too large"}},
		{400, `{"detail":[{"msg":"odd"}]}`, false, false, []string{"400", "odd"}},
		{429, `{"error":{"message":"slow down"}}`, true, false, []string{"slow down"}},
		{429, `{"error":{"message":"quota","code":"insufficient_quota"}}`, false, true, []string{"no credit"}},
		{500, ``, true, false, []string{"500", "internal server error"}},
		{501, ``, false, false, []string{"501"}},
		{503, `{"error":{"message":"busy"}}`, true, false, []string{"busy"}},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, true, false,
			[]string{"529", "Overloaded"}},
	} {
		t.Run(fmt.Sprint(c.status), func(t *testing.T) {
			t.Parallel()
			p := serve(t, saysAPI(c.status, c.body))
			_, err := client(t, p.URL+"/v1", nil).Ask(t.Context(), question)
			var e *APIError
			if !errors.As(err, &e) || e.Transient() != c.transient || e.Hopeless() != c.hopeless {
				t.Fatalf("%#v, want transient %v, hopeless %v", err, c.transient, c.hopeless)
			}
			for _, word := range append(c.words, strings.TrimPrefix(p.URL, "http://")) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v does not say %q", err, word)
				}
			}
			withoutSecret(t, "the error", err)
		})
	}
}

// TestRetryAfter: it is read as seconds or as a date, and nothing else counts.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"3": 3 * time.Second, "1.5": 1500 * time.Millisecond, "": 0, "-4": 0, "soon": 0, "NaN": 0,
		"Inf": 1e6 * time.Second, "1e300": 1e6 * time.Second, now.Add(time.Minute).Format(http.TimeFormat): time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat): 0,
	} {
		if got := retryAPIAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

// TestOverloadedTwice: a decider's model waits after two transient failures, as long as the server says.
func TestOverloadedTwice(t *testing.T) {
	for _, status := range []int{429, 529} {
		for _, provider := range []string{OpenAI, APIAnthropic} {
			synctest.Test(t, func(t *testing.T) {
				busy := func(after string) http.HandlerFunc {
					return func(w http.ResponseWriter, r *http.Request) {
						w.Header().Set("Retry-After", after)
						saysAPI(status, `{"error":{"message":"busy"}}`)(w, r)
					}
				}
				p := &peer{t: t}
				c := client(t, "http://models.local/v1", func(c *APIConfig) { c.Provider = provider })
				c.http.Transport = inMemory{p.handler([]http.HandlerFunc{busy("7"), busy("0"),
					decided(provider, `{"decision":"SELECT_MODE","mode":"tester","reason":"r"}`), busy("61")})}
				m := Model{Ask: c, Prompts: apiFixed{}}
				begin := time.Now()
				d, err := m.SelectAgent(t.Context(), input)
				if err != nil || d.Mode != "tester" || d.Attempts != 3 || len(d.Warnings) != 2 || d.Model != "m-1" ||
					time.Since(begin) != 11*time.Second {
					t.Errorf("%d: %+v %v after %v", status, d, err, time.Since(begin))
				}
				begin = time.Now()
				d, err = m.SelectAgent(t.Context(), input)
				if err == nil || d.Attempts != 1 || time.Since(begin) != 0 ||
					!strings.Contains(err.Error(), "asked again after 1m1s") {
					t.Errorf("a longer wait: %+v %v after %v", d, err, time.Since(begin))
				}
			})
		}
	}
}

// TestCorrections: a truncated answer is corrected, and the correction says that it was truncated.
func TestCorrections(t *testing.T) {
	t.Parallel()
	p := serve(t, saysAPI(200, `{"choices":[{"finish_reason":"length","message":{"content":"{\"decision\": \"SEL"}}]}`),
		decided(OpenAI, "Hm."), decided(OpenAI, `{"decision":"SELECT_MODE","mode":"tester","reason":"r"}`))
	d, err := Model{Ask: client(t, p.URL, nil), Prompts: apiFixed{}}.SelectAgent(t.Context(), input)
	if err != nil || d.Mode != "tester" || len(d.Warnings) != 2 || d.Usage.Output != 10 {
		t.Fatalf("%+v %v", d, err)
	}
	told := p.got()[1].Body["messages"].([]any)[1].(map[string]any)["content"].(string)
	if !strings.Contains(told, "cut off at the limit of 4096 tokens") || !strings.Contains(told, "SEL") {
		t.Errorf("the correction: %s", told)
	}
}

// TestRedirects: they are not followed, so that neither question nor key reaches another server.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := serve(t, decided(APIAnthropic, "yes"))
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, change := range []func(*APIConfig){nil, anthropic} {
			p := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", other.URL+"/x?key="+secret)
				w.WriteHeader(status)
			})
			_, err := client(t, p.URL, change).Ask(t.Context(), question)
			var e *APIError
			if !errors.As(err, &e) || !e.Hopeless() || !strings.Contains(err.Error(), "redirects to "+other.URL) ||
				!strings.Contains(err.Error(), "--decider-base-url") {
				t.Errorf("%d: %v", status, err)
			}
			withoutSecret(t, "the error", err)
		}
	}
	if got := other.got(); len(got) > 0 {
		t.Errorf("the other server was sent %v", got)
	}
}

// TestHostileServers: whatever a server does, a question ends in bounded time and memory, and the key is not
// revealed.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	endless := func(w io.Writer) {
		block := strings.Repeat("a", 1<<16)
		for range 1 << 10 { // 64 MiB
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	}
	echo := strings.ReplaceAll(`{"model":"SECRET","choices":[{"finish_reason":"stop",
		"message":{"content":"it is SECRET"}}]}`, "SECRET", secret)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		words  string // of the error; empty: there is an answer
	}{
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "more than 4194304 bytes"},
		"an endless error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); endless(w) },
			"more than 4194304 bytes"},
		"a bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			endless(z)
			_ = z.Close()
		}, "more than 4194304 bytes"},
		"endless headers": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 40 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("a", 4<<10))
			}
		}, "headers of the answer are too large"},
		"a cut answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"choices"`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "closed the connection"},
		"no answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"closed the connection"},
		"an echo":       {saysAPI(200, echo), ""},
		"an error echo": {saysAPI(500, `{"error":{"message":"you sent `+secret+`"}}`), "you sent *redacted"},
		"control codes": {saysAPI(500, `{"error":{"message":"a\u001b[31mb\u0007\u202ec"}}`), "500"},
		"deep JSON":     {saysAPI(200, strings.Repeat("[", 1<<20)), "not what this API answers"},
		"wrong types":   {saysAPI(200, `{"choices":"many","usage":[]}`), "not what this API answers"},
		"another page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html>Welcome")
		}, "it is text/html"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := client(t, serve(t, c.answer).URL, nil).Ask(t.Context(), question)
			if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
				t.Errorf("%+v %v, want %q", a, err, c.words)
			}
			if err != nil && (strings.ContainsAny(err.Error(), "\x1b\a\u202e") || len(err.Error()) > 800) {
				t.Errorf("the error is %q", err)
			}
			withoutSecret(t, "what came of it", a, err)
		})
	}
}

// TestSlowServers: a question ends when its time is over, even in the middle of an answer.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"at once": "", "in the middle": `{"choices":`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			p := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					_, _ = io.WriteString(w, first)
					_ = http.NewResponseController(w).Flush()
				}
				cancel()
				<-r.Context().Done()
			})
			_, err := client(t, p.URL, nil).Ask(ctx, question)
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "--decider-timeout") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestUnreached: errors of the network say what to check.
func TestUnreached(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	tls := httptest.NewUnstartedServer(decided(OpenAI, "yes"))
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	plain := serve(t, decided(OpenAI, "yes"))
	odd, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends when the listener is closed, below
		defer close(done)
		for {
			conn, err := odd.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n') // the request
			_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.6\r\n")
			_ = conn.Close()
		}
	}()
	defer func() { _ = odd.Close(); <-done }()
	for name, c := range map[string]struct {
		base                string
		transient, hopeless bool
		words               []string
	}{
		"nobody there":       {closed.URL, true, false, []string{"refused", "is the server running?"}},
		"no such host":       {"https://no-such-host.invalid", false, true, []string{"no such host", "HTTPS_PROXY"}},
		"an own certificate": {tls.URL, false, true, []string{"TLS certificate", "SSL_CERT_FILE"}},
		"no TLS":             {"https" + strings.TrimPrefix(plain.URL, "http"), false, true, []string{"http://"}},
		"no HTTP":            {"http://" + odd.Addr().String(), false, true, []string{"does not speak HTTP"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client(t, c.base, nil).Ask(t.Context(), question)
			var e *APIError
			if !errors.As(err, &e) || e.Transient() != c.transient || e.Hopeless() != c.hopeless {
				t.Fatalf("%v: want transient %v, hopeless %v", err, c.transient, c.hopeless)
			}
			for _, word := range append(c.words, "--decider-base-url") {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%v does not say %q", err, word)
				}
			}
		})
	}
	if len(plain.got()) > 0 {
		t.Error("a question went over a connection without TLS")
	}
}

// inMemory is a transport without a network, so that time can be simulated.
type inMemory struct{ handler http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// apiFixed are prompts.
type apiFixed struct{}

func (apiFixed) Select(SelectAgentInput) (string, string, error) { return "s", "p", nil }

func (apiFixed) Evaluate(EvaluateProgressInput) (string, string, error) { return "s", "p", nil }

var input = SelectAgentInput{Task: "Weave", AvailableAgents: []AgentDescription{{Name: "tester"}}}
