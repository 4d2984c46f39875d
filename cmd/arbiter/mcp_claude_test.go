package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// caller is the script of a model that has a run do a task.
const caller = `
name: caller
title: Another model has a run make a thing
actors:
  - name: caller
    match: {role: main}
    steps:
      - use: [{tool: mcp__arbiter__start_run, input: {task: Make a thing}}]
      - expect: run\W+(?P<run>[0-9a-f-]{36})
        use: [{tool: mcp__arbiter__wait, input: {run: "{{.run}}"}}]
      - expect: What shall it be called
        use: [{tool: mcp__arbiter__answer, input: {run: "{{.run}}", text: call it dawn}}]
      - expect: accepted
        use: [{tool: mcp__arbiter__wait, input: {run: "{{.run}}"}}]
      - expect: The user decides. arbiter allow
        use: [{tool: mcp__arbiter__answer, input: {run: "{{.run}}", request: perm-, behavior: allow}}]
      - expect: no permission request
        use: [{tool: mcp__arbiter__wait, input: {run: "{{.run}}"}}]
      - expect: status\W+complete
        say: "All is done: The file is there."
    otherwise:
      expect: status\W+input_required
      use: [{tool: mcp__arbiter__wait, input: {run: "{{.run}}"}}]
`

// outer prepares the real CLI as an MCP client, with a scripted model and a server whose runs are rehearsals.
func (h *testHome) outer(play string, args ...string) (*exec.Cmd, *rehearsal.Server) {
	h.t.Helper()
	scenario, err := rehearsal.Parse("play.yaml", []byte(play))
	if err != nil {
		h.t.Fatal(err)
	}
	model, err := rehearsal.Start(scenario, rehearsal.Options{Record: true})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = model.Close() })
	program, err := exec.LookPath("arbiter")
	if err != nil {
		h.t.Fatal(err)
	}
	runs := []string{"mcp", "--", "--stand-in", "--scenario", absolute(h.t, "testdata/scenarios/screen.yaml")}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"arbiter": map[string]any{"command": program, "args": runs}}})
	if err != nil {
		h.t.Fatal(err)
	}
	args = append(args, "--mcp-config", string(config), "--strict-mcp-config", "--model", "claude-sonnet-4-5",
		"--allowedTools", "mcp__arbiter")
	cmd := exec.Command(h.player.args[len(h.player.args)-1], args...)
	cmd.Dir = h.work
	h.env = append(h.env, "ANTHROPIC_BASE_URL="+model.URL(), "ANTHROPIC_API_KEY="+model.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_SANDBOXED=1")
	cmd.Env = h.env
	return cmd, model
}

// realOnly returns the real CLI, or skips the test if there is none.
func realOnly(t *testing.T) player {
	t.Helper()
	list := players(t)
	if len(list) < 2 {
		t.Skip("no claude: run scripts/setup")
	}
	return list[1]
}

// TestMCPFromClaude: Claude Code in print mode has a run do a task. Its model answers the question; the human
// answers the permission request from another terminal.
func TestMCPFromClaude(t *testing.T) {
	who := realOnly(t)
	t.Parallel()
	h := newTestHome(t, who)
	cmd, model := h.outer(caller, "-p", "Have a thing made.")
	var out []byte
	var err error
	over := make(chan struct{})
	go func() { // ends with the program
		defer close(over)
		out, err = cmd.CombinedOutput()
	}()
	modelReceives(t, model, "no permission request", over) // the model has tried, and waits
	h.output("allow", "all")
	<-over
	if err != nil || !strings.Contains(string(out), "All is done") {
		t.Errorf("%v: %s", err, out)
	}
	if list := model.Problems(); len(list) > 0 {
		t.Errorf("the play left its script: %v", list)
	}
	runs := h.runs()
	if len(runs) != 1 {
		t.Fatalf("runs %v", runs)
	}
	awaitGone(t, runs[0])
	if state := h.output("sessions", "show", runs[0]); !strings.Contains(state, contract.StatusComplete) {
		t.Errorf("it ended so:\n%s", state)
	}
}

// modelReceives waits until a request to the model contains a text, or over is closed.
func modelReceives(t *testing.T, model *rehearsal.Server, text string, over <-chan struct{}) {
	t.Helper()
	late := time.After(waitTimeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !slices.ContainsFunc(model.Requests(), func(r rehearsal.Request) bool {
		return strings.Contains(string(r.Body), text)
	}) {
		select {
		case <-tick.C:
		case <-over:
			return
		case <-late:
			t.Fatalf("the model was not told %q", text)
		}
	}
}
