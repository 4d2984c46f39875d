package rehearsal_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// waitTimeout is how long a test waits before it fails.
const waitTimeout = 2 * time.Minute

// findClaude returns the real CLI, or skips the test.
func findClaude(t *testing.T) string {
	t.Helper()
	if testing.Short() && os.Getenv("ARBITER_REQUIRE_CLAUDE") == "" {
		t.Skip("-short: no real CLI")
	}
	return corpus.Claude(t, "..").Path
}

// frame is one line of the CLI's output.
type frame map[string]any

func (f frame) kind() string         { s, _ := f["type"].(string); return s }
func (f frame) str(k string) string  { s, _ := f[k].(string); return s }
func (f frame) sub(k string) frame   { m, _ := f[k].(map[string]any); return m }
func (f frame) yes(k string) bool    { b, _ := f[k].(bool); return b }
func (f frame) num(k string) float64 { n, _ := f[k].(float64); return n }

// claude is one real CLI process in stream-json mode.
type claude struct {
	t      *testing.T
	cwd    string
	stdin  io.WriteCloser
	frames chan frame
	tools  map[string]func(args frame) string // SDK MCP tools of server "arbiter"
	seen   []frame
	kill   func() // kills like kill -9, and waits for the end of its output
}

type claudeOptions struct {
	home, cwd string // "" = fresh ones
	args      []string
	env       []string
	schema    string // a JSON schema: turns end in a verdict
	tools     map[string]func(args frame) string
}

const verdictSchema = `{"type":"object","properties":{"decision":{"type":"string"}},"required":["decision"]}`

// command is the CLI with a cleared environment and a home of its own.
func command(t *testing.T, srv *rehearsal.Server, o *claudeOptions) *exec.Cmd {
	t.Helper()
	bin := findClaude(t)
	if o.home == "" {
		o.home = t.TempDir()
	}
	if o.cwd == "" {
		o.cwd = t.TempDir()
	}
	args := append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--setting-sources", "", "--strict-mcp-config", "--model", "claude-opus-5-5"}, o.args...)
	if o.schema != "" {
		args = append(args, "--json-schema", o.schema)
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = o.cwd
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append([]string{
		"HOME=" + o.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + srv.Key(),
		"ANTHROPIC_BASE_URL=" + srv.URL(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	}, o.env...)
	return cmd
}

func startClaude(t *testing.T, srv *rehearsal.Server, o claudeOptions) *claude {
	t.Helper()
	cmd := command(t, srv, &o)
	stdin := testkit.Must(cmd.StdinPipe())(t)
	stdout := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	c := &claude{t: t, cwd: o.cwd, stdin: stdin, frames: make(chan frame, 4096), tools: o.tools}
	done := make(chan struct{})
	go func() { // owned by the clean-up below
		defer close(done)
		c.read(stdout)
	}()
	c.kill = func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-done
	}
	t.Cleanup(func() {
		stdin.Close()
		deadline := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		for range c.frames { // until the process has closed its output
		}
		<-done
		err := cmd.Wait()
		deadline.Stop()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 1 {
			t.Errorf("claude: %v", err)
		}
	})
	init := frame{"subtype": "initialize"}
	if o.tools != nil {
		init["sdkMcpServers"] = []string{"arbiter"}
	}
	c.send(frame{"type": "control_request", "request_id": "init", "request": init})
	c.until("the answer to initialize", func(f frame) bool {
		return f.kind() == "control_response" && f.sub("response").str("request_id") == "init"
	})
	return c
}

func (c *claude) read(r io.Reader) {
	defer close(c.frames)
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := br.ReadBytes('\n')
		if err != nil {
			return
		}
		f := frame{}
		if json.Unmarshal(line, &f) != nil {
			continue
		}
		c.frames <- f
	}
}

func (c *claude) send(f frame) {
	c.t.Helper()
	b := testkit.Must(json.Marshal(f))(c.t)
	if _, err := c.stdin.Write(append(b, '\n')); err != nil {
		c.t.Errorf("write to claude: %v", err)
	}
}

// until reads frames, serving MCP calls on the way, until one matches.
func (c *claude) until(what string, match func(frame) bool) frame {
	c.t.Helper()
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		select {
		case f, ok := <-c.frames:
			if !ok {
				c.t.Fatalf("claude ended before %s", what)
			}
			c.seen = append(c.seen, f)
			if f.kind() == "control_request" && f.sub("request").str("subtype") == "mcp_message" {
				c.serveMCP(f)
				continue
			}
			if match(f) {
				return f
			}
		case <-deadline.C:
			c.t.Fatalf("no %s in %v", what, waitTimeout)
		}
	}
}

// sendAndWait sends a message and waits for the turn's result.
func (c *claude) sendAndWait(text string) frame {
	c.t.Helper()
	c.post(text)
	return c.until("result", func(f frame) bool { return f.kind() == "result" })
}

func (c *claude) post(text string) {
	c.t.Helper()
	c.send(frame{"type": "user", "parent_tool_use_id": nil, "message": frame{"role": "user", "content": text}})
}

// control sends a control request and returns the payload of its answer.
func (c *claude) control(subtype string, more frame) frame {
	c.t.Helper()
	req := frame{"subtype": subtype}
	for k, v := range more {
		req[k] = v
	}
	c.send(frame{"type": "control_request", "request_id": subtype, "request": req})
	f := c.until("answer to "+subtype, func(f frame) bool {
		return f.kind() == "control_response" && f.sub("response").str("request_id") == subtype
	})
	return frame(f.sub("response")).sub("response")
}

func (c *claude) serveMCP(f frame) {
	msg := f.sub("request").sub("message")
	var result frame
	switch msg.str("method") {
	case "initialize":
		result = frame{"protocolVersion": msg.sub("params").str("protocolVersion"),
			"capabilities": frame{"tools": frame{}}, "serverInfo": frame{"name": "arbiter", "version": "1"}}
	case "tools/list":
		var list []frame
		for name := range c.tools {
			list = append(list, frame{"name": name, "description": name, "inputSchema": frame{"type": "object"},
				"_meta": frame{"anthropic/alwaysLoad": true}})
		}
		result = frame{"tools": list}
	case "tools/call":
		p := msg.sub("params")
		result = frame{"content": []frame{{"type": "text", "text": c.tools[p.str("name")](p.sub("arguments"))}}}
	default:
		result = frame{}
	}
	c.send(frame{"type": "control_response", "response": frame{"subtype": "success", "request_id": f.str("request_id"),
		"response": frame{"mcp_response": frame{"jsonrpc": "2.0", "id": msg["id"], "result": result}}}})
}
