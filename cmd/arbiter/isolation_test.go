package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestRehearsalIsAlone: no variable or configuration of the user reaches a rehearsal, not even the agents'
// shells.
func TestRehearsalIsAlone(t *testing.T) {
	testkit.Long(t)
	path := filepath.Join(t.TempDir(), "env.yaml")
	text := `name: env
title: A look around
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - {use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Look.}}]}
      - {verdict: {decision: CONTINUE, message: m, reason: r}}
      - {verdict: {decision: COMPLETE, message: m, reason: r, summary: s}}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - {use: [{tool: Bash, input: {command: "env > env.txt", description: Look}}]}
      - {verdict: {kind: done, expects_response: true, message: seen, handoff: ` + emptyDocument + `}}
`
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	user := t.TempDir()
	hostile := []string{
		"ANTHROPIC_API_KEY=sk-ant-secret-1", "ANTHROPIC_AUTH_TOKEN=secret-2", "ANTHROPIC_BASE_URL=http://127.0.0.1:9",
		"CLAUDE_CODE_OAUTH_TOKEN=secret-3", "AWS_SECRET_ACCESS_KEY=secret-4", "CLAUDE_CODE_USE_BEDROCK=1",
		"GOOGLE_API_KEY=secret-5", "GITHUB_TOKEN=secret-6", "CLAUDE_CONFIG_DIR=" + user,
		"HTTPS_PROXY=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli",
		"NODE_OPTIONS=--require=/nowhere", "LD_PRELOAD=", "BASH_ENV=/nowhere",
	}
	eachPlayer(t, func(t *testing.T, p player) {
		s := start(t, hostile, append(p.args, "--json", "--no-input", "--scenario", path, "--task", "Look", "--env",
			"ANTHROPIC_API_KEY=sk-ant-secret-7")...)
		s.finish(contract.ExitComplete)
		env := testkit.Must(os.ReadFile(filepath.Join(collect[contract.Session](s)[0].CWD, "env.txt")))(t)
		for _, leak := range []string{"secret", user, "HTTPS_PROXY=http", "http_proxy=http", "NODE_OPTIONS",
			"BASH_ENV", "USE_BEDROCK"} {
			if strings.Contains(string(env), leak) {
				t.Errorf("the shell of an agent sees %q", leak)
			}
		}
		if entries, err := os.ReadDir(user); err != nil || len(entries) > 0 {
			t.Errorf("the user's configuration was written to: %v %v", entries, err)
		}
	})
}

// TestNotLoggedIn: if the real CLI has no login, the run ends with the exit code for the environment and says
// what to do.
func TestNotLoggedIn(t *testing.T) {
	claude := realClaude(t)
	if claude == "" {
		t.Skip("no claude: run scripts/setup")
	}
	s := start(t, []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ANTHROPIC_BASE_URL=http://127.0.0.1:9"},
		"--json", "--no-input", "--claude", claude, "--task", "Speak")
	s.finish(contract.ExitEnvironment)
	s.oneError(bridge.CatAuth)
	if !strings.Contains(s.stderr.String(), "log in with `claude`") {
		t.Errorf("stderr does not say what to do: %s", s.stderr.String())
	}
}

// TestBridgeFromOutside drives `arbiter bridge` as a program in any language can: it writes and reads lines,
// without arbiter's client.
func TestBridgeFromOutside(t *testing.T) {
	script := testkit.Must(rehearsal.Parse("outside.yaml", []byte(`name: outside
title: From outside
actors:
  - name: anybody
    match: {role: any}
    steps: [{expect: hello, verdict: {word: hail}}]
`)))(t)
	model := testkit.Must(rehearsal.Start(script, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			claude := map[string]any{"path": p.args[len(p.args)-1]}
			if !p.real {
				self := testkit.Must(exec.LookPath("arbiter"))(t)
				claude = map[string]any{"path": self, "args": []string{host.StandInCommand}}
			}
			work := t.TempDir()
			o := outside(t, host.StageEnviron(t.TempDir(), model))
			run := uuid.NewString()
			o.call("initialize", map[string]any{"protocol_version": bridge.ProtocolVersion, "client": "a test", "run": run,
				"claude": claude})
			o.write("this is not JSON")
			o.refused("spawn", map[string]any{"id": 7}, -32602)
			o.refused("no_such_method", map[string]any{}, -32601)
			o.refused("message", map[string]any{"id": "a", "generation": 1, "message_id": uuid.NewString(),
				"content": "x"}, bridge.CodeUnknownAgent)
			o.call("spawn", map[string]any{"id": "a", "generation": 1, "config": map[string]any{
				"session_id": uuid.NewString(), "cwd": work, "setting_sources": []string{},
				"json_schema": json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
			}})
			id := uuid.NewString()
			o.call("message", map[string]any{"id": "a", "generation": 1, "message_id": id, "content": "hello"})
			turn := o.event("turn")
			if v, _ := turn["verdict"].(map[string]any); v["word"] != "hail" ||
				!slices.Equal(turn["message_ids"].([]any), []any{id}) {
				t.Errorf("turn %v", turn)
			}
			o.call("kill", map[string]any{"id": "a", "generation": 1})
			if done := o.event("done"); done["exit"] == nil {
				t.Errorf("done %v", done)
			}
			_ = o.stdin.Close()
			if err := o.cmd.Wait(); err != nil {
				t.Errorf("the bridge ended: %v", err)
			}
			awaitGone(t, run)
		})
	}
}

// outsider is the other end of a bridge's connection, without arbiter's client.
type outsider struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  interface{ Close() error }
	write  func(line string)
	lines  *bufio.Reader
	id     int
	events []map[string]any
}

func outside(t *testing.T, env []string) *outsider {
	t.Helper()
	cmd := exec.Command("arbiter", "bridge")
	cmd.Env = env
	in := testkit.Must(cmd.StdinPipe())(t)
	out := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return &outsider{t: t, cmd: cmd, stdin: in, lines: bufio.NewReaderSize(out, 1<<20), write: func(line string) {
		testkit.Must(in.Write([]byte(line + "\n")))(t)
	}}
}

// read returns the next line.
func (o *outsider) read() map[string]any {
	o.t.Helper()
	line, err := o.lines.ReadBytes('\n')
	if err != nil {
		o.t.Fatalf("the bridge's output ended: %v", err)
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		o.t.Fatalf("a line that is not an object: %s", line)
	}
	if m["jsonrpc"] != "2.0" {
		o.t.Errorf("no JSON-RPC 2.0: %s", line)
	}
	return m
}

func (o *outsider) answer(method string, params any) map[string]any {
	o.t.Helper()
	o.id++
	id := "r" + string(rune('0'+o.id))
	raw := testkit.Must(json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}))(o.t)
	o.write(string(raw))
	for {
		m := o.read()
		if m["method"] == "event" {
			o.events = append(o.events, m["params"].(map[string]any))
			continue
		}
		if m["id"] == id {
			return m
		}
	}
}

func (o *outsider) call(method string, params any) {
	o.t.Helper()
	if m := o.answer(method, params); m["error"] != nil {
		o.t.Fatalf("%s: %v", method, m["error"])
	}
}

func (o *outsider) refused(method string, params any, code int) {
	o.t.Helper()
	e, _ := o.answer(method, params)["error"].(map[string]any)
	if e == nil || e["code"] != float64(code) {
		o.t.Errorf("%s: %v, want code %d", method, e, code)
	}
}

// event waits for the first event with a name.
func (o *outsider) event(name string) map[string]any {
	o.t.Helper()
	for at := 0; ; at++ {
		for at >= len(o.events) {
			if m := o.read(); m["method"] == "event" {
				o.events = append(o.events, m["params"].(map[string]any))
			}
		}
		if o.events[at]["event"] == name {
			return o.events[at]
		}
	}
}

// TestTrust is a run that is not a rehearsal: the user's own environment and workspace, with rules on the command
// line. The workspace's own files are loaded only with --trust.
func TestTrust(t *testing.T) {
	testkit.Long(t)
	claude := realClaude(t)
	if claude == "" {
		t.Skip("no claude: run scripts/setup")
	}
	script := testkit.Must(rehearsal.Load("testdata/scenarios/full-dialogue.yaml"))(t)
	for _, trust := range []bool{false, true} {
		t.Run(map[bool]string{false: "untrusted", true: "trusted"}[trust], func(t *testing.T) {
			t.Parallel()
			model := testkit.Must(rehearsal.Start(script, rehearsal.Options{Record: true}))(t)
			t.Cleanup(func() { _ = model.Close() })
			work := t.TempDir()
			testkit.OK(t, os.WriteFile(filepath.Join(work, "CLAUDE.md"), []byte("Speak of the raven.\n"),
				0o600))
			args := []string{"--json", "--claude", claude, "--cwd", work, "--allow", "Bash(*)", "--allow", "Edit(**)",
				"--task", "Greet somebody"}
			if trust {
				args = append(args, "--trust")
			}
			s := start(t, []string{
				"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=" + model.Key(),
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			}, args...)
			await[contract.Question](s, "a question", nil)
			s.send(contract.Say{Text: "greet with hail"})
			await[contract.Result](s, "the result", nil)
			if r := s.finish(contract.ExitComplete); r.Rehearsal {
				t.Errorf("result %+v", r)
			}
			onScript(t, model)
			if got, err := os.ReadFile(filepath.Join(work, "hello.txt")); err != nil || string(got) != "hail\n" {
				t.Errorf("hello.txt: %q, %v", got, err)
			}
			if session := collect[contract.Session](s)[0]; session.Trusted != trust || session.CWD != work {
				t.Errorf("session %+v", session)
			}
			loaded := false
			for _, r := range model.Requests() {
				loaded = loaded || strings.Contains(r.System+string(r.Messages), "Speak of the raven")
			}
			if loaded != trust {
				t.Errorf("the workspace's CLAUDE.md reached a model: %v, want %v", loaded, trust)
			}
		})
	}
}

// turnsOf is a handler that waits for the end of a turn.
type turnsOf struct {
	host.NoHandler
	turns chan bridge.Turn
}

func (h turnsOf) Event(ev bridge.Event) {
	if turn, ok := ev.Body.(bridge.Turn); ok {
		h.turns <- turn
	}
}

// TestRemoteBridge drives `arbiter bridge --remote` with real CLIs: the agent gets the variables that are
// passed to it and none that lead back to the user's machine, checks get neither, and no secret is an argument
// of a process.
func TestRemoteBridge(t *testing.T) {
	testkit.Long(t)
	script := testkit.Must(rehearsal.Parse("remote.yaml", []byte(`name: remote
title: Remote
actors:
  - name: anybody
    match: {role: any}
    steps: [{expect: hello, verdict: {word: hail}}]
`)))(t)
	model := testkit.Must(rehearsal.Start(script, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			claude := bridge.ClaudeSpec{Path: p.args[len(p.args)-1]}
			if !p.real {
				self := testkit.Must(exec.LookPath("arbiter"))(t)
				claude = bridge.ClaudeSpec{Path: self, Args: []string{host.StandInCommand}}
			}
			work, run, secret := t.TempDir(), uuid.NewString(), "npm_"+uuid.NewString()
			cmd := exec.Command("arbiter", "bridge", "--remote")
			cmd.Env = append(host.StageEnviron(t.TempDir(), model), "SSH_AUTH_SOCK=/tmp/no-agent.sock")
			h := turnsOf{turns: make(chan bridge.Turn, 1)}
			c := testkit.Must(bridge.StartProcess(ctx, cmd, h, nil, proctree.Keep))(t)
			defer c.Close()
			hello := testkit.Must(c.Initialize(ctx, bridge.InitializeParams{Client: "a test", Run: run, Bridge: "box",
				Claude: claude, Remote: &bridge.RemoteParams{Version: command.Version(), LeaseMS: 60_000,
					Dir: filepath.Join(work, "agents"), PassEnv: map[string]string{"NPM_TOKEN": secret}}}))(t)
			ref := bridge.AgentRef{ID: "orch-1", Generation: 1}
			spawned := testkit.Must(c.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: bridge.AgentConfig{
				SessionID: uuid.NewString(), CWD: work, SettingSources: []string{},
				JSONSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`)}}))(t)
			if !slices.Contains(spawned.Env, "NPM_TOKEN") || slices.Contains(spawned.Env, "SSH_AUTH_SOCK") ||
				!slices.Contains(spawned.Env, proctree.EnvBridge) {
				t.Errorf("the agent's variables: %v", spawned.Env)
			}
			testkit.OK(t, c.Message(ctx, bridge.MessageParams{AgentRef: ref, MessageID: uuid.NewString(), Content: "hello"}))
			if turn := <-h.turns; !strings.Contains(string(turn.Verdict), "hail") {
				t.Errorf("the turn: %+v", turn)
			}
			checked, err := c.Check(ctx, bridge.CheckParams{Command: "env", CWD: work})
			if err != nil || strings.Contains(checked.Output, secret) || strings.Contains(checked.Output, "SSH_AUTH_SOCK") {
				t.Errorf("a check's environment: %v, %v", checked.Output, err)
			}
			for _, line := range commandLines(t) {
				if strings.Contains(line, secret) {
					t.Errorf("a secret is an argument: %s", line)
				}
			}
			if hello.Remote.Dir != filepath.Join(work, "agents") || hello.Remote.LeaseMS != 60_000 {
				t.Errorf("it told %+v", hello.Remote)
			}
			var hops []time.Duration
			for range 200 {
				began := time.Now()
				testkit.Must(c.Resolve(ctx, bridge.ResolveParams{Paths: []string{work, "/nowhere"}}))(t)
				hops = append(hops, time.Since(began))
			}
			slices.Sort(hops)
			t.Logf("resolve of two paths: p50 %v, p99 %v", hops[len(hops)/2], hops[len(hops)*99/100])
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			awaitGone(t, run)
		})
	}
}

// commandLines are the arguments of all processes.
func commandLines(t *testing.T) (lines []string) {
	t.Helper()
	files := testkit.Must(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil { // otherwise the process has ended
			lines = append(lines, fmt.Sprintf("%q", raw))
		}
	}
	return lines
}
