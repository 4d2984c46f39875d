package rehearsal_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// questions is a play with one actor that decides each time it is asked.
const questions = `
actors:
  - name: decider
    match: {role: main, contains: "which"}
    steps:
      - verdict: {decision: CONTINUE, reason: "{{oneline .incoming}}"}
        usage: {context: 500, output: 7}
  - name: late
    match: {role: main, contains: late}
    steps:
      - fault: {status: 429, headers: {retry-after: '1'}, message: Patience.}
  - name: cut
    match: {role: main, contains: cut}
    steps:
      - {say: "{\"dec", stop_reason: max_tokens}
`

// post posts a body to a path of the server, with its key.
func post(c *client, path, body string) (int, http.Header, string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.srv.URL()+path, strings.NewReader(body))
	testkit.Need(c.t, err == nil, "%v", err)
	req.Header.Set("Authorization", "Bearer "+c.srv.Key())
	return c.do(req)
}

// TestChatCompletions: each request is a conversation of its own, and a verdict is the text of the answer.
func TestChatCompletions(t *testing.T) {
	srv := play(t, questions, rehearsal.Options{Record: true})
	c := converse(t, srv, "s")
	for range 2 {
		status, _, body := post(c, "/v1/chat/completions", `{"model":"m","temperature":0.3,"messages":[
			{"role":"system","content":"You decide."},{"role":"user","content":[{"type":"text","text":"which one"}]}]}`)
		var got struct {
			Object  string
			Model   string
			Choices []struct {
				Finish  string `json:"finish_reason"`
				Message struct{ Role, Content string }
			}
			Usage struct {
				Prompt int `json:"prompt_tokens"`
				Output int `json:"completion_tokens"`
			}
		}
		err := json.Unmarshal([]byte(body), &got)
		testkit.Need(t, err == nil && status == http.StatusOK, "%d %v: %s", status, err, body)
		testkit.Check(t, got.Object == "chat.completion" && got.Model == "m" && len(got.Choices) == 1 &&
			got.Choices[0].Finish == "stop" &&
			got.Choices[0].Message.Content == `{"decision":"CONTINUE","reason":"which one"}` &&
			got.Usage.Prompt == 500 && got.Usage.Output == 7, "%s", body)
	}
	status, header, body := post(c, "/v1/chat/completions",
		`{"model":"m","messages":[{"role":"user","content":"late"}]}`)
	testkit.Check(t, status == http.StatusTooManyRequests && header.Get("Retry-After") == "1" &&
		strings.HasPrefix(body, `{"error":{"code":null,"message":"Patience."`), "%d %v: %s", status, header, body)
	if _, _, body := post(c, "/v1/chat/completions",
		`{"model":"m","messages":[{"role":"user","content":"cut"}]}`); !strings.Contains(body,
		`"finish_reason":"length"`) {
		t.Error(body)
	}
	noProblems(t, srv)
	r := srv.Requests()[0]
	testkit.Check(t, r.System == "You decide." && r.Actor == "decider" && r.Role == rehearsal.RoleMain, "%+v", r)
}

// TestChatRefuses requests that cannot be played on this path.
func TestChatRefuses(t *testing.T) {
	srv := play(t, questions, rehearsal.Options{})
	c := converse(t, srv, "s")
	for body, want := range map[string]string{
		`{"model":"m"}`: "required",
		`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`:          "not streamed",
		`{"model":"m","tools":[{}],"messages":[{"role":"user","content":"x"}]}`:           "no tools",
		`{"model":"m","messages":[{"role":"tool","content":"x"}]}`:                        `role "tool"`,
		`{"model":"m","messages":"x"}`:                                                    "read request",
		`{"model":"m","messages":[{"role":"developer","content":"nobody asks a thing"}]}`: "required",
	} {
		status, _, got := post(c, "/v1/chat/completions", body)
		testkit.Check(t, status == http.StatusBadRequest && strings.Contains(got, strings.ReplaceAll(want, `"`, `\"`)),
			"%s: %d %s, want %q", body, status, got, want)
	}
}

// TestDirectMessages: a Messages request without a session that asks with a schema is treated like a
// question of Chat Completions. A request for a title is not.
func TestDirectMessages(t *testing.T) {
	srv := play(t, questions, rehearsal.Options{})
	c := converse(t, srv, "s")
	var texts []string
	for _, body := range []string{
		`{"model":"m","system":"You decide.","messages":[{"role":"user","content":"which one"}],
			"output_config":{"format":{"type":"json_schema","schema":{"properties":{"decision":{}}}}}}`,
		`{"model":"m","messages":[{"role":"user","content":"which one"}],
			"metadata":{"user_id":"{\"session_id\":\"s\"}"},
			"output_config":{"format":{"type":"json_schema","schema":{"properties":{"title":{}}}}}}`,
	} {
		status, _, answer := post(c, "/v1/messages", body)
		var got struct{ Content []struct{ Text string } }
		err := json.Unmarshal([]byte(answer), &got)
		testkit.Need(t, err == nil && status == http.StatusOK, "%d %v: %s", status, err, answer)
		texts = append(texts, got.Content[0].Text)
	}
	want := []string{`{"decision":"CONTINUE","reason":"which one"}`, `{"title":"Rehearsal"}`}
	testkit.Same(t, "", want, texts)
	noProblems(t, srv)
}
