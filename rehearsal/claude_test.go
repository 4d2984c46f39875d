package rehearsal_test

import (
	"encoding/json"
	"maps"
	"os"
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
	h := corpus.Drive(t, corpus.Claude(t, ".."), corpus.WireProcess{Args: o.args, Env: o.env}, srv.URL(),
		corpus.Names{"CWD": o.cwd, "HOME": o.home})
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
