package rehearsal_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// frame is one line of the CLI's output.
type frame map[string]any

func (f frame) str(k string) string  { s, _ := f[k].(string); return s }
func (f frame) sub(k string) frame   { m, _ := f[k].(map[string]any); return m }
func (f frame) yes(k string) bool    { b, _ := f[k].(bool); return b }
func (f frame) num(k string) float64 { n, _ := f[k].(float64); return n }

// claude is one real CLI process in stream-json mode.
type claude struct {
	*corpus.Host
	t   *testing.T
	cwd string
}

type claudeOptions struct {
	home, cwd string // "" = fresh ones
	args      []string
	env       []string
	schema    string // a JSON schema: turns end in a verdict
}

const verdictSchema = `{"type":"object","properties":{"decision":{"type":"string"}},"required":["decision"]}`

func startClaude(t *testing.T, srv *rehearsal.Server, o claudeOptions) *claude {
	t.Helper()
	if testing.Short() && os.Getenv("ARBITER_REQUIRE_CLAUDE") == "" {
		t.Skip("-short: no real CLI")
	}
	if o.home == "" {
		o.home = t.TempDir()
	}
	if o.cwd == "" {
		o.cwd = t.TempDir()
	}
	if o.schema != "" {
		o.args = append(o.args, "--json-schema", o.schema)
	}
	cli := corpus.Claude(t, "..")
	cli.Env = o.env
	h := corpus.Drive(t, cli, o.args, srv.URL(), corpus.Names{"CWD": o.cwd, "HOME": o.home})
	c := &claude{h, t, o.cwd}
	c.control("initialize", nil)
	return c
}

func (c *claude) send(f frame) {
	c.t.Helper()
	c.Do(">", string(testkit.Must(json.Marshal(f))(c.t)))
}

// until waits for a frame that has all of a pattern.
func (c *claude) until(pattern string) frame {
	c.t.Helper()
	c.Do("<", pattern)
	last, _ := c.Seen[len(c.Seen)-1].(map[string]any)
	return last
}

// sendAndWait sends a message and waits for the turn's result.
func (c *claude) sendAndWait(text string) frame {
	c.t.Helper()
	c.post(text)
	return c.until(`{"type":"result"}`)
}

func (c *claude) post(text string) {
	c.t.Helper()
	c.send(frame{"type": "user", "parent_tool_use_id": nil, "message": frame{"role": "user", "content": text}})
}

// control sends a control request and returns the payload of its answer.
func (c *claude) control(subtype string, more frame) frame {
	c.t.Helper()
	req := frame{"subtype": subtype}
	maps.Copy(req, more)
	c.send(frame{"type": "control_request", "request_id": subtype, "request": req})
	answer := c.until(`{"type":"control_response","response":{"request_id":"` + subtype + `"}}`)
	return answer.sub("response").sub("response")
}

func (c *claude) kill() {
	c.Do("signal", "KILL")
	c.Do("exit", "-1")
}

// compactions counts those so far.
func (c *claude) compactions() (n int) {
	for _, f := range c.Seen {
		if m, _ := f.(map[string]any); m["subtype"] == "compact_boundary" {
			n++
		}
	}
	return n
}

// client is a conversation with the server without a CLI: it keeps the history like the CLI.
type client struct {
	t        *testing.T
	srv      *rehearsal.Server
	session  string
	agent    string // a subagent's id
	tools    []string
	model    string
	messages []frame
}

func converse(t *testing.T, srv *rehearsal.Server, session string, tools ...string) *client {
	return &client{t: t, srv: srv, session: session, tools: tools, model: "claude-opus-5-5"}
}

func (c *client) request(stream bool) *http.Request {
	c.t.Helper()
	tools := []frame{}
	for _, name := range c.tools {
		tools = append(tools, frame{"name": name, "description": name, "input_schema": frame{"type": "object"}})
	}
	id := testkit.Must(json.Marshal(frame{"session_id": c.session}))(c.t)
	body := testkit.Must(json.Marshal(frame{"model": c.model, "stream": stream, "max_tokens": 1000, "tools": tools,
		"messages": c.messages, "system": []frame{{"type": "text", "text": "You are an agent."}},
		"metadata": frame{"user_id": string(id)}}))(c.t)
	req := testkit.Must(http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.srv.URL()+"/v1/messages?beta=true",
		bytes.NewReader(body)))(c.t)
	req.Header.Set("X-Api-Key", c.srv.Key())
	if c.agent != "" {
		req.Header.Set("X-Claude-Code-Agent-Id", c.agent)
	}
	return req
}

func (c *client) do(req *http.Request) (status int, header http.Header, body string) {
	c.t.Helper()
	resp := testkit.Must(http.DefaultClient.Do(req))(c.t)
	defer resp.Body.Close()
	b := testkit.Must(io.ReadAll(resp.Body))(c.t)
	return resp.StatusCode, resp.Header, string(b)
}

// addMessage adds the message that the model must answer.
func (c *client) addMessage(content any) *client {
	c.messages = append(c.messages, frame{"role": "user", "content": content})
	return c
}

// ask sends one message and returns the answer, which joins the history.
func (c *client) ask(content any) answer {
	c.t.Helper()
	c.addMessage(content)
	status, _, body := c.do(c.request(false))
	testkit.Need(c.t, status == http.StatusOK, "status %d: %s", status, body)
	var a answer
	err := json.Unmarshal([]byte(body), &a)
	testkit.Need(c.t, err == nil, "%v in %s", err, body)
	c.messages = append(c.messages, frame{"role": "assistant", "content": a.Content})
	return a
}

// askText is ask, and returns only the answer's text.
func (c *client) askText(content any) string {
	c.t.Helper()
	return c.ask(content).text()
}

// answers checks the text of the answer to each message: a message, its answer, the next message, …
func (c *client) answers(pairs ...string) {
	c.t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		testkit.Same(c.t, pair[0], pair[1], c.askText(pair[0]))
	}
}

type answer struct {
	Content []frame `json:"content"`
	Stop    string  `json:"stop_reason"`
	Usage   struct {
		Input    int `json:"input_tokens"`
		Read     int `json:"cache_read_input_tokens"`
		Creation int `json:"cache_creation_input_tokens"`
		Output   int `json:"output_tokens"`
	} `json:"usage"`
}

func (a answer) context() int { return a.Usage.Input + a.Usage.Read + a.Usage.Creation }

func (a answer) text() string {
	var texts []string
	for _, b := range a.Content {
		if b.str("type") == "text" {
			texts = append(texts, b.str("text"))
		}
	}
	return strings.Join(texts, "|")
}
