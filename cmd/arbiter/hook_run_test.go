package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestHookAsksTheRun: `arbiter hook --settings` finds the live run. The run answers a hook event of one of its
// sessions, and reports an event for it.
func TestHookAsksTheRun(t *testing.T) {
	scenario := filepath.Join(t.TempDir(), "waits.yaml")
	text := "name: waits\ntitle: Waits\nactors:\n  - name: arbiter\n    match: {role: arbiter}\n    steps:\n" +
		"      - verdict: {decision: ADDRESS_HUMAN, message: Which way?, reason: r}\n" +
		"      - verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}\n"
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	state := shortDir(t)
	s := start(t, nil, "--stand-in", "--json", "--state-dir", state, "--scenario", scenario, "--task", "Speak")
	await[contract.Question](s, "a question", nil)
	session := await[contract.Spawn](s, "the Arbiter's session", nil).SessionID
	window := await[contract.Context](s, "a reading", func(_ string, c contract.Context) bool {
		return c.Window > 0
	}).Window

	cmd := exec.Command("arbiter", "hook", "--settings", "--state-dir", state, "--session",
		collect[contract.Session](s)[0].Session)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	if err := json.Unmarshal(out, &settings); err != nil {
		t.Fatal(err)
	}
	tokens := window * 8 / 10
	answer := func() string {
		t.Helper()
		cmd := exec.Command("sh", "-c", settings.Hooks["PostToolUse"][0].Hooks[0].Command)
		cmd.Stdin = strings.NewReader(string(hooks.Input{
			Event: hooks.PostToolUse, SessionID: session, Tool: "Read",
			TranscriptPath: writeTranscript(t, session, tokens),
		}.JSON()))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if got := answer(); !strings.Contains(got, hooks.MarkContext+" warn: 80 % full") ||
		!strings.Contains(got, "HANDOFF") {
		t.Errorf("answer %q", got)
	}
	await[contract.ContextWarning](s, "the warning", func(id string, w contract.ContextWarning) bool {
		return id == contract.Arbiter && w.Level == "warn" && w.Pct > 79.9
	})
	await[contract.Context](s, "the reading", func(id string, c contract.Context) bool {
		return id == contract.Arbiter && c.Tokens == tokens && c.Window == window
	})
	if got := answer(); got != "" {
		t.Errorf("told twice: %q", got)
	}
	s.send(contract.Cancel{})
	s.finish(contract.ExitFailed)
	if left, _ := filepath.Glob(filepath.Join(state, "runs", "*", host.HookSocketName)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if got := answer(); got != "" { // the run has ended
		t.Errorf("answer %q", got)
	}
}

// writeTranscript writes a transcript in the CLI's format: one answer, with a context of so many tokens.
func writeTranscript(t *testing.T, session string, tokens int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "projects", "-w")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, session+".jsonl")
	line := fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"assistant","sessionId":%q,"uuid":"5b1f0cf8-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00Z",`+
		`"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],`+
		`"usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,"output_tokens":9}}}`+"\n", session, tokens-3)
	if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
