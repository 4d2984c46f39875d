package decider

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			a, err := client(t, p.URL+c.base, c.change).Ask(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			want := Answer{Text: "yes", Model: "m-1", Usage: Usage{Input: 20, Output: 5, CacheRead: 10}}
			if d := cmp.Diff(want, a); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			got := p.got()[0]
			var body map[string]any
			if err := json.Unmarshal([]byte(c.want), &body); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(body, got.Body); d != "" {
				t.Errorf("request (-want +got):\n%s", d)
			}
			key := strings.TrimPrefix(got.Header.Get(c.header), "Bearer ")
			if got.Path != c.path || key != secret ||
				len(got.Header["Authorization"])+len(got.Header["X-Api-Key"]) != 1 {
				t.Errorf("posted to %s with %v", got.Path, got.Header)
			}
		})
	}
}

// TestOfficialAddresses: they are used if no other address is given.
func TestOfficialAddresses(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{OpenAI: "https://api.openai.com/v1/chat/completions",
		APIAnthropic: "https://api.anthropic.com/v1/messages"} {
		if got := (APIConfig{Provider: provider}).endpoint(); got != want {
			t.Errorf("%s: %s", provider, got)
		}
	}
	body, _, err := APIConfig{Provider: OpenAI, Model: "m"}.body(question, nil)
	if err != nil || !strings.Contains(string(body), `"max_completion_tokens":4096`) {
		t.Errorf("%v: %s", err, body)
	}
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
	}{
		"parts": {body: `{"choices":[{"finish_reason":"stop","message":{"content":[{"type":"text","text":"a"},
			{"type":"image"},{"type":"text","text":"b"}]}}]}`, text: "ab"},
		"cut": {body: `{"choices":[{"finish_reason":"length","message":{"content":"{\"dec"}}]}`, text: `{"dec`,
			problem: "limit of 4096 tokens"},
		"cut, by Messages": {body: `{"stop_reason":"max_tokens","content":[{"type":"text","text":"{"}]}`, text: "{",
			change: anthropic, problem: "limit of 4096 tokens"},
		"all thought": {body: `{"choices":[{"finish_reason":"length","message":{"content":null}}]}`,
			problem: "cut off"},
		"refusal": {body: `{"choices":[{"message":{"refusal":"I will not."}}]}`,
			err: "refused: I will not."},
		"refusal, by Messages": {body: `{"stop_reason":"refusal","content":[]}`, change: anthropic, err: "refused"},
		"failure with 200":     {body: `{"error":{"message":"overloaded","code":502}}`, err: "overloaded"},
		"not the API":          {body: `{"hello":"world"}`, err: "no text"},
		"not JSON":             {body: `<html>`, err: "not what this API answers"},
		"nothing":              {body: ``, err: "it is empty"},
		"huge figures": {body: `{"choices":[{"finish_reason":"stop","message":{"content":"x"}}],
			"usage":{"prompt_tokens":-5}}`, text: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := client(t, serve(t, saysAPI(200, c.body)).URL, c.change).Ask(t.Context(), question)
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("%v, want %q", err, c.err)
			}
			if a.Text != c.text || c.problem == "" && a.Problem != "" || !strings.Contains(a.Problem, c.problem) ||
				a.Usage.Input < 0 {
				t.Errorf("%+v", a)
			}
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
		if err != nil || a.Text != "yes" || len(a.Notes) != 2 ||
			!strings.HasPrefix(a.Notes[0], "m takes no temperature, and was asked without: Unsupported value") ||
			!strings.HasPrefix(a.Notes[1], "m takes no output schema") {
			t.Fatalf("%+v %v", a, err)
		}
		if a, err := c.Ask(t.Context(), question); err != nil || a.Notes != nil {
			t.Errorf("the second time: %+v %v", a, err)
		}
		list := p.got()
		if len(list) != 5 {
			t.Fatalf("%d requests", len(list))
		}
		for _, r := range list[3:] {
			for _, name := range []string{"temperature", "max_tokens", "response_format"} {
				if _, ok := r.Body[name]; ok {
					t.Errorf("%s is in %v", name, r.Body)
				}
			}
			if r.Body["max_completion_tokens"] != 4096.0 || r.Body["reasoning_effort"] != "low" {
				t.Errorf("%v", r.Body)
			}
		}
	})
	t.Run("anthropic", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("This model does not support the effort parameter."),
			refuse("output_config: Extra inputs are not permitted"), decided(APIAnthropic, "yes"))
		a, err := client(t, p.URL, func(c *APIConfig) { full(c); anthropic(c) }).Ask(t.Context(), question)
		if err != nil || len(a.Notes) != 2 || p.got()[2].Body["output_config"] != nil ||
			p.got()[2].Body["temperature"] != 0.3 {
			t.Errorf("%+v %v %v", a, err, p.got())
		}
	})
	t.Run("all, for ever", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("unsupported: temperature max_tokens max_completion_tokens response_format "+
			"reasoning_effort"))
		_, err := client(t, p.URL, full).Ask(t.Context(), question)
		if err == nil || len(p.got()) != 5 {
			t.Errorf("%v after %d requests", err, len(p.got()))
		}
	})
	t.Run("a wrong value", func(t *testing.T) {
		t.Parallel()
		p := serve(t, refuse("temperature: must be at most 1"))
		_, err := client(t, p.URL, full).Ask(t.Context(), question)
		if err == nil || len(p.got()) != 1 || !strings.Contains(err.Error(), "must be at most 1") {
			t.Errorf("%v after %d requests", err, len(p.got()))
		}
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
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		withoutSecret(t, name, err)
	}
	if got := NewKey(" \t" + secret + "\r\n"); got.text != secret {
		t.Errorf("%q", got.text)
	}
	withoutSecret(t, "the configuration", good, &good, good.Key, []APIKey{good.Key})
	var e *url.Error
	if _, err := NewAPIClient(APIConfig{Provider: OpenAI, Model: "m", BaseURL: "http://[" + secret}); errors.As(err, &e) {
		t.Errorf("%v names the address", err)
	}
}
