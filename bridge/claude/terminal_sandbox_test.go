//go:build linux

package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestTakeoverInASandbox: a person's terminal is confined like the agent: it works, hidden files are not
// there, and the next supervised process knows what was said.
func TestTakeoverInASandbox(t *testing.T) {
	program, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	t.Parallel()
	hidden := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(hidden, "journal"), []byte("PRIVATE"), 0o600))
	s, model := startDialogueAs(t, standInSpec(t), func(c *bridge.AgentConfig) {
		c.Sandbox = &bridge.SandboxConfig{Program: program, Hide: []string{hidden}}
		c.AllowedTools = []string{"Bash"}
	}, reply{tools: []call{bash("cat " + filepath.Join(hidden, "journal") +
		"; echo x > ~/out; echo in > here; echo tried")}}, reply{text: "Nine-thousand-ninety it is."})
	d := s.openTerminal(nil)
	d.sees("I am the agent.")
	n := len(d.shown())
	d.types("look around")
	d.seesAfter(n, "look around")
	d.types("\r")
	d.seesAfter(n, "Nine-thousand-ninety")
	if sent := model.lastRequest(); strings.Contains(sent, "PRIVATE") || !strings.Contains(sent, "tried") {
		t.Errorf("in the terminal a tool said: %.3000s", sent)
	}
	if _, err := os.Lstat(filepath.Join(s.cfg.Env["HOME"], "out")); err == nil {
		t.Error("the home was written to")
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "here")); err != nil || string(text) != "in\n" {
		t.Errorf("the workspace has %q, %v", text, err)
	}
	d.leave()
	if e := d.done(); e.Exit.Code != 0 {
		t.Errorf("done: %+v", e)
	}
	s.checkNoProcesses()
	s.cfg.Resume, s.host = true, newHost(t)
	model.reset(reply{text: "so be it"})
	testkit.OK(t, s.try())
	t.Cleanup(s.stopNow)
	s.turn("go on")
	if sent := model.lastRequest(); !strings.Contains(sent, "look around") || !strings.Contains(sent, "go on") {
		t.Errorf("the supervised turn does not know what the human said:\n%.3000s", sent)
	}
}
