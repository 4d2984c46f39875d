package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// background is the script of a model that has a run do a task, and learns of its end without asking.
const background = `
name: background
title: A model has a run make a thing in the background
actors:
  - name: caller
    match: {role: main}
    steps:
      - use: [{tool: mcp__arbiter__start_run, input: {task: Make a thing}}]
      - expect: started server-side task
        say: It goes on in the background.
      - expect: (?s)completed.*The file is there
        say: Indeed it is done.
`

// TestMCPInTerminal: in Claude Code's terminal a run is a background task. Its question and its permission
// request reach the human as forms, and the model learns of the end. The task continues after the server was
// killed, and after the run's host process was killed.
func TestMCPInTerminal(t *testing.T) {
	who := realOnly(t)
	who.long(t)
	t.Parallel()
	h := newTestHome(t, who)
	cmd, model := h.outer(background)
	h.knows(model)
	p := h.run(cmd)
	p.await("manual mode on")
	p.Type("Have a thing made.")
	p.await("Have a thing made.")
	p.insists("Enter", "What shall it be called?", "Answer:")
	p.await("1 MCP task still running")
	server, ok := childNamed(cmd.Process.Pid, "mcp")
	if !ok {
		t.Fatal("there is no server")
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Type("lost")
	p.await("Answer: lost")
	p.insists("Enter", "manual mode on")
	p.Type("/mcp reconnect arbiter")
	p.await("/mcp reconnect arbiter")
	p.insists("Enter", "Reconnected to arbiter", "What shall it be called?", "Answer:")

	if err := syscall.Kill(h.hosts()[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Type("too late")
	p.await("Answer: too late")
	p.insists("Enter", "Resume it from where it stopped?", "Decision:")
	p.insists("Right", "Resume", "Leave it")
	p.insists("Enter", "Decision: Resume")
	p.insists("Enter", "What shall it be called?", "Answer:")
	p.Type("call it dawn")
	p.await("Answer: call it dawn")
	p.insists("Enter", "asks leave to use Bash:", "command: echo it > dawn.txt", "Decision:")
	p.insists("Right", "Allow once", "Allow this for the whole run", "Deny")
	p.insists("Enter", "Decision: Allow once")
	p.insists("Down", "❯ Accept")
	p.insists("Enter", "completed", "Indeed it is done.")
	for _, problem := range model.Problems() {
		// The CLI may ask its model before its MCP servers have listed their tools; calls work all the same.
		if !strings.Contains(problem, "does not offer") {
			t.Errorf("the play left its script: %s", problem)
		}
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

// knows writes the file in which the CLI remembers its first start, so that it asks no questions at the start.
func (h *testHome) knows(model *rehearsal.Server) {
	h.t.Helper()
	key := model.Key()
	answers := map[string]any{"approved": []string{key[max(0, len(key)-20):]}, "rejected": []string{}}
	known, err := json.Marshal(map[string]any{"hasCompletedOnboarding": true, "customApiKeyResponses": answers})
	if err == nil {
		err = os.WriteFile(filepath.Join(h.home, ".claude.json"), known, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// insists presses a key until the screen shows all of the texts: a form of the CLI ignores a key that comes
// right after another (observed with CLI 2.1.329).
func (p *pane) insists(key string, texts ...string) {
	p.t.Helper()
	again := time.NewTicker(2 * time.Second)
	defer again.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	p.press(key)
	for {
		seen := strings.ReplaceAll(p.Screen().Text(), "\u00a0", " ")
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) }) {
			return
		}
		select {
		case <-look.C:
		case <-again.C:
			p.press(key)
		case <-p.ctx.Done():
			p.t.Fatalf("%q does not lead to %q:\n%s", key, texts, seen)
		}
	}
}
