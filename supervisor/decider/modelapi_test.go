package decider

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestRequests: temperature, limit, effort and schema are in the request, where each API has them.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, base, path, header, want string
		change                         func(*APIConfig)
	}{
		{"openai", "/v1/", "/v1/chat/completions", "Authorization", `{"max_tokens":900,"messages":[
			{"content":"You decide.","role":"system"},{"content":"Which?","role":"user"}],"model":"m",
			"reasoning_effort":"low","response_format":{"json_schema":{"name":"decision","schema":{"type":"object"}},
			"type":"json_schema"},"temperature":0}`,
			func(c *APIConfig) {
				c.MaxTokens, c.Temperature, c.Effort = 900, new(0.0), "low"
			}},
		{"anthropic", "", "/v1/messages", "X-Api-Key", `{"max_tokens":900,"messages":[
			{"content":"Which?","role":"user"}],"model":"m","output_config":{"effort":"low",
			"format":{"schema":{"type":"object"},"type":"json_schema"}},"system":"You decide.","temperature":0.3}`,
			func(c *APIConfig) {
				c.Provider, c.MaxTokens, c.Temperature, c.Effort = APIAnthropic, 900, new(0.3), "low"
			}},
		{"anthropic, with its version", "/v1", "/v1/messages", "X-Api-Key", `{"max_tokens":4096,"messages":[
			{"content":"Which?","role":"user"}],"model":"m","output_config":{
			"format":{"schema":{"type":"object"},"type":"json_schema"}},"system":"You decide."}`, anthropic},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider, _, _ := strings.Cut(c.name, ",")
			p := serve(t, decided(provider, "yes"))
			a := testkit.Must(client(t, p.URL+c.base, c.change).Ask(t.Context(), question))(t)
			want := Answer{Text: "yes", Model: "m-1", Usage: Usage{Input: 20, Output: 5, CacheRead: 10}}
			testkit.Same(t, "answer", want, a)
			got := p.got()[0]
			var body map[string]any
			testkit.OK(t, json.Unmarshal([]byte(c.want), &body))
			testkit.Same(t, "request", body, got.Body)
			key := strings.TrimPrefix(got.Header.Get(c.header), "Bearer ")
			testkit.Check(t, got.Path == c.path && key == secret &&
				len(got.Header["Authorization"])+len(got.Header["X-Api-Key"]) == 1, "posted to %s with %v", got.Path,
				got.Header)
		})
	}
}

// TestOfficialAddresses: they are used if no other address is given.
func TestOfficialAddresses(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{OpenAI: "https://api.openai.com/v1/chat/completions",
		APIAnthropic: "https://api.anthropic.com/v1/messages"} {
		testkit.Same(t, provider, want, (APIConfig{Provider: provider}).endpoint())
	}
	c := testkit.Must(NewAPIClient(APIConfig{Provider: OpenAI, Model: "m"}))(t)
	body, _, err := c.config.body(question, nil)
	testkit.Check(t, err == nil && strings.Contains(string(body), `"max_completion_tokens":4096`), "%v: %s", err, body)
}

// TestAnswers reads answers of servers from several vendors.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body    string
		change  func(*APIConfig)
		text    string
		problem string // with the answer
		err     string
		cost    int // tokens of the input
	}{
		"parts": {body: `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"text","text":"a"},
			{"type":"image"},{"type":"text","text":"b"}]}}]}`, text: "ab"},
		"cut": {body: `{"choices":[{"finish_reason":"length","message":{"content":"{\"dec"}}]}`, text: `{"dec`,
			problem: "limit of 4096 tokens"},
		"cut, by Messages": {body: `{"stop_reason":"max_tokens","content":[{"type":"text","text":"{"}]}`, text: "{",
			change: anthropic, problem: "limit of 4096 tokens"},
		"all thought": {body: `{"choices":[{"finish_reason":"length","message":{"content":null}}]}`,
			problem: "cut off"},
		"refusal": {body: `{"choices":[{"message":{"refusal":"I will not."}}],"usage":{"prompt_tokens":7}}`,
			err: "refused: I will not.", cost: 7},
		"refusal, by Messages": {body: `{"stop_reason":"refusal","content":[]}`, change: anthropic, err: "refused"},
		"failure with 200":     {body: `{"error":{"message":"overloaded","code":502}}`, err: "overloaded"},
		"not the API":          {body: `{"hello":"world"}`, err: "no text"},
		"not JSON":             {body: `<html>`, err: "not what this API answers"},
		"nothing":              {body: ``, err: "it is empty"},
		"wrong figures": {body: `{"choices":[{"finish_reason":"stop","message":{"content":"x"}}],
			"usage":{"prompt_tokens":-5}}`, text: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := client(t, serve(t, saysAPI(200, c.body)).URL, c.change).Ask(t.Context(), question)
			testkit.Need(t, (err == nil) == (c.err == "") && (err == nil || strings.Contains(err.Error(), c.err)),
				"%v, want %q", err, c.err)
			testkit.Check(t, a.Text == c.text && (c.problem != "" || a.Problem == "") &&
				strings.Contains(a.Problem, c.problem) && a.Usage.Input == c.cost, "%+v", a)
		})
	}
}

// TestParametersThatAModelRefuses: they are left out, once, and the answer says so.
func TestParametersThatAModelRefuses(t *testing.T) {
	t.Parallel()
	refuse := func(text string) http.HandlerFunc {
		return saysAPI(400, `{"error":{"message":"`+text+`"}}`)
	}
	full := func(c *APIConfig) { c.Temperature, c.Effort = new(0.3), "low" }
	t.Run("openai", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("Unsupported value: 'temperature' does not support 0.3 with this model."),
			refuse("Unsupported parameter: 'max_tokens' is not supported with this model. "+
				"Use 'max_completion_tokens' instead."),
			refuse("unknown field response_format"), decided(OpenAI, "yes"))
		c := client(t, p.URL, full)
		a, err := c.Ask(t.Context(), question)
		testkit.Need(t, err == nil && a.Text == "yes" && len(a.Notes) == 2 &&
			strings.HasPrefix(a.Notes[0], "m takes no temperature, and was asked without: Unsupported value") &&
			strings.HasPrefix(a.Notes[1], "m takes no output schema"), "%+v %v", a, err)
		a, err = c.Ask(t.Context(), question)
		testkit.Check(t, err == nil && a.Notes == nil, "the second time: %+v %v", a, err)
		list := p.got()
		testkit.Need(t, len(list) == 5, "%d requests", len(list))
		for _, r := range list[3:] {
			for _, name := range []string{"temperature", "max_tokens", "response_format"} {
				_, ok := r.Body[name]
				testkit.Check(t, !ok, "%s is in %v", name, r.Body)
			}
			testkit.Check(t, r.Body["max_completion_tokens"] == 4096.0 && r.Body["reasoning_effort"] == "low", "%v",
				r.Body)
		}
	})
	t.Run("anthropic", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("This model does not support the effort parameter."),
			refuse("output_config: Extra inputs are not permitted"), decided(APIAnthropic, "yes"))
		a, err := client(t, p.URL, func(c *APIConfig) { full(c); anthropic(c) }).Ask(t.Context(), question)
		testkit.Check(t, err == nil && len(a.Notes) == 2 && p.got()[2].Body["output_config"] == nil &&
			p.got()[2].Body["temperature"] == 0.3, "%+v %v %v", a, err, p.got())
	})
	t.Run("all, for ever", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("unsupported: temperature max_tokens max_completion_tokens response_format "+
			"reasoning_effort"))
		_, err := client(t, p.URL, full).Ask(t.Context(), question)
		testkit.Check(t, err != nil && len(p.got()) == 5, "%v after %d requests", err, len(p.got()))
	})
	t.Run("a wrong value", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("temperature: must be at most 1"))
		_, err := client(t, p.URL, full).Ask(t.Context(), question)
		testkit.Check(t, err != nil && len(p.got()) == 1 && strings.Contains(err.Error(), "must be at most 1"),
			"%v after %d requests", err, len(p.got()))
	})
}

// TestConfigIsChecked: before anything is sent.
func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := APIConfig{Provider: OpenAI, Model: "m", Key: NewKey(secret), KeyName: "LOOM_KEY"}
	for name, c := range map[string]struct {
		change func(*APIConfig)
		err    string // empty: none
	}{
		"good":             {func(*APIConfig) {}, ""},
		"no such provider": {func(c *APIConfig) { c.Provider = "codex" }, "use openai or anthropic"},
		"no model":         {func(c *APIConfig) { c.Model = "" }, "no model"},
		"a broken key":     {func(c *APIConfig) { c.Key = NewKey("a\nb" + secret) }, "LOOM_KEY"},
		"a password":       {func(c *APIConfig) { c.BaseURL = "https://me:" + secret + "@host/v1" }, "password"},
		"a query":          {func(c *APIConfig) { c.BaseURL = "https://host/v1?key=" + secret }, "?"},
		"no scheme":        {func(c *APIConfig) { c.BaseURL = "host:8080/v1" }, "https://"},
		"another scheme":   {func(c *APIConfig) { c.BaseURL = "ftp://host/v1" }, "https://"},
		"no URL":           {func(c *APIConfig) { c.BaseURL = "http://[" + secret }, "not a URL"},
		"a key in clear":   {func(c *APIConfig) { c.BaseURL = "http://models.example/v1" }, "without encryption"},
		"nothing in clear": {func(c *APIConfig) { c.BaseURL, c.Key = "http://models.example/v1", APIKey{} }, ""},
		"this machine":     {func(c *APIConfig) { c.BaseURL = "http://[::1]:11434/v1" }, ""},
		"a private one":    {func(c *APIConfig) { c.BaseURL = "http://192.168.1.7:4000" }, ""},
		"a neighbour":      {func(c *APIConfig) { c.BaseURL = "http://litellm:4000" }, ""},
	} {
		config := good
		c.change(&config)
		_, err := NewAPIClient(config)
		testkit.Check(t, (err == nil) == (c.err == "") && (err == nil || strings.Contains(err.Error(), c.err)),
			"%s: %v, want %q", name, err, c.err)
		withoutSecret(t, name, err)
	}
	testkit.Same(t, "a key with blanks around it", secret, NewKey(" \t"+secret+"\r\n").text)
	withoutSecret(t, "the configuration", good, &good, good.Key, []APIKey{good.Key})
	var e *url.Error
	_, err := NewAPIClient(APIConfig{Provider: OpenAI, Model: "m", BaseURL: "http://[" + secret})
	testkit.Check(t, !errors.As(err, &e), "%v names the address", err)
}

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
		testkit.Check(p.t, err == nil && json.Unmarshal(raw, &got.Body) == nil, "request %q: %v", raw, err)
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
	made := testkit.Must(NewAPIClient(c))(t)
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
			testkit.Excludes(t, fmt.Sprintf("%s holds the key", what), text, secret)
		}
	}
}

// failsAs checks an error of an API, and the words in it.
func failsAs(t *testing.T, err error, transient, hopeless bool, words []string) {
	t.Helper()
	if e, ok := errors.AsType[*APIError](err); !ok || e.Transient() != transient || e.Hopeless() != hopeless {
		t.Fatalf("%#v, want transient %v, hopeless %v", err, transient, hopeless)
	}
	for _, word := range words {
		testkit.Fails(t, "does not say", err, word)
	}
}

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
			failsAs(t, err, c.transient, c.hopeless, append(c.words, strings.TrimPrefix(p.URL, "http://")))
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
		testkit.Same(t, value, want, retryAPIAfter(http.Header{"Retry-After": {value}}, now))
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
				m := Model{Ask: c, Prompts: plain{}}
				begin := time.Now()
				d, err := m.Decide(t.Context(), SelectInput(record()))
				testkit.Check(t, err == nil && d.Mode == "tester" && d.Attempts == 3 && len(d.Warnings) == 2 &&
					d.Model == "m-1" && time.Since(begin) == 11*time.Second, "%d: %+v %v after %v", status, d, err,
					time.Since(begin))
				begin = time.Now()
				d, err = m.Decide(t.Context(), SelectInput(record()))
				testkit.Check(t, err != nil && d.Attempts == 1 && time.Since(begin) == 0 &&
					strings.Contains(err.Error(), "asked again after 1m1s"), "a longer wait: %+v %v after %v", d, err,
					time.Since(begin))
			})
		}
	}
}

// TestCorrections: a truncated answer is corrected, and the correction says that it was truncated.
func TestCorrections(t *testing.T) {
	t.Parallel()
	p := serve(t, saysAPI(200, `{"choices":[{"finish_reason":"length","message":{"content":"{\"decision\": \"SEL"}}]}`),
		decided(OpenAI, "Hm."), decided(OpenAI, `{"decision":"SELECT_MODE","mode":"tester","reason":"r"}`))
	d, err := Model{Ask: client(t, p.URL, nil), Prompts: plain{}}.Decide(t.Context(), SelectInput(record()))
	testkit.Need(t, err == nil && d.Mode == "tester" && len(d.Warnings) == 2 && d.Usage.Output == 10, "%+v %v", d, err)
	told := p.got()[1].Body["messages"].([]any)[1].(map[string]any)["content"].(string)
	testkit.Includes(t, "the correction", told, "cut off at the limit of 4096 tokens", "SEL")
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
			testkit.Check(t, errors.As(err, &e) && e.Hopeless() &&
				strings.Contains(err.Error(), "redirects to "+other.URL) &&
				strings.Contains(err.Error(), "--decider-base-url"), "%d: %v", status, err)
			withoutSecret(t, "the error", err)
		}
	}
	testkit.Empty(t, "the other server was sent", other.got())
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
			testkit.Check(t, (err == nil) == (c.words == "") && (err == nil || strings.Contains(err.Error(), c.words)),
				"%+v %v, want %q", a, err, c.words)
			testkit.Check(t, err == nil || !strings.ContainsAny(err.Error(), "\x1b\a\u202e") && len(err.Error()) <= 800,
				"the error is %q", err)
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
			testkit.Fails(t, "err", err, context.Canceled, "--decider-timeout")
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
	odd := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
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
			failsAs(t, err, c.transient, c.hopeless, append(c.words, "--decider-base-url"))
		})
	}
	testkit.Empty(t, "a question went over a connection without TLS", plain.got())
}

// inMemory is a transport without a network, so that time can be simulated.
type inMemory struct{ handler http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
