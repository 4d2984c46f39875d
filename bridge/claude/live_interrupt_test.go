package claude

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestInterruptIsReadAfterTheMessage that was written before it: the session has the message, and the model
// sees it with the next message.
func TestInterruptIsReadAfterTheMessage(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		held := make(chan struct{})
		s, model := stageFor(t, spec, verdictReply, reply{hold: held})
		s.cfg.Hooks = &bridge.HookConfig{Role: hooks.RoleArbiter, Warn: 70, Critical: 85}
		s.launch()
		s.turn("WARMUP")
		id := s.send("THE-MESSAGE")
		testkit.Must(s.agent.Interrupt(context.Background()))(t)
		turn := s.turnOf(id)
		close(held)
		if turn.Outcome != bridge.TurnInterrupted || len(turn.Unread) > 0 {
			t.Errorf("turn: %+v", turn)
		}
		model.reset(verdictReply)
		s.turn("NEXT")
		if !strings.Contains(model.lastRequest(), "THE-MESSAGE") {
			t.Error("the model does not see the message that was interrupted")
		}
	})
}

// TestMessageInterruptedBeforeItWasRead: an interrupt that arrives while the user's own hooks process the
// message makes the CLI drop it. The turn reports that.
func TestMessageInterruptedBeforeItWasRead(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "runs no hooks of the user's settings")
	t.Parallel()
	s, model := stageFor(t, realSpec(t), verdictReply)
	begun, goOn := filepath.Join(s.dir, "begun"), filepath.Join(s.dir, "go")
	settings := testkit.Must(json.Marshal(map[string]any{
		"hooks": map[string]any{"UserPromptSubmit": []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": "touch " + begun + "; until test -e " + goOn + "; do sleep 0.05; done"}}}}}}))(t)
	config := filepath.Join(s.cfg.Env["HOME"], ".claude")
	testkit.OK(t, os.MkdirAll(config, 0o700))
	testkit.OK(t, os.WriteFile(filepath.Join(config, "settings.json"), settings, 0o600))
	s.cfg.SettingSources = []string{"user"}
	s.l.enterTimeout = time.Millisecond
	s.launch()
	id := s.send("THE-MESSAGE")
	waitFile(t, begun)
	testkit.Must(s.agent.Interrupt(context.Background()))(t)
	testkit.OK(t, os.WriteFile(goOn, nil, 0o600))
	turn := s.turnOf(id)
	if diff := cmp.Diff([]string{id}, turn.Unread); diff != "" || turn.Outcome != bridge.TurnInterrupted {
		t.Errorf("outcome %s, unread (-want +got):\n%s", turn.Outcome, diff)
	}
	s.turn("NEXT")
	if strings.Contains(model.lastRequest(), "THE-MESSAGE") {
		t.Error("the model sees the message all the same")
	}
}
