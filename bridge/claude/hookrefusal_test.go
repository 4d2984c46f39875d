package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestHookRefusesTheMessage: a message that a hook of the user keeps from the model has failed, and it is unread unless
// the session keeps it for its next request.
func TestHookRefusesTheMessage(t *testing.T) {
	onlyTheCLI(t, "runs no hooks of the user's settings")
	for name, c := range map[string]struct {
		command string
		kept    bool
	}{
		"exit 2": {command: "test -e $HOME/open || { echo no such words here >&2; exit 2; }"},
		"block":  {command: `test -e $HOME/open || echo '{"decision":"block","reason":"no such words here"}'`},
		"stop":   {command: `test -e $HOME/open || echo '{"continue":false,"stopReason":"no such words here"}'`, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "exit 2" {
				testkit.Long(t) // the CLI reads it as "block"
			}
			t.Parallel()
			s, model := stageFor(t, realSpec(t), verdictReply)
			settings, err := json.Marshal(map[string]any{"hooks": map[string]any{"UserPromptSubmit": []any{
				map[string]any{"hooks": []any{map[string]any{"type": "command", "command": c.command}}}}}})
			if err != nil {
				t.Fatal(err)
			}
			home := s.cfg.Env["HOME"]
			for path, text := range map[string]string{".claude/settings.json": string(settings)} {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s.cfg.SettingSources = []string{"user"}
			s.launch()
			turn := s.turn("THE-MESSAGE")
			if turn.Outcome != bridge.TurnFailed || turn.Category != bridge.CatHook ||
				!strings.Contains(turn.Error, "no such words here") || strings.Contains(turn.Error, "THE-MESSAGE") ||
				turn.Text != "" {
				t.Errorf("turn: %+v", turn)
			}
			if unread := slices.Equal(turn.Unread, turn.MessageIDs); unread == c.kept {
				t.Errorf("kept by the session: %t, but unread are %q", c.kept, turn.Unread)
			}
			if n := len(model.all()); n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
			if err := os.WriteFile(filepath.Join(home, "open"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if turn := s.turn("THE-NEXT"); turn.Outcome != bridge.TurnDone || turn.Category != "" {
				t.Errorf("the next turn: %+v", turn)
			}
			if had := strings.Contains(model.lastRequest(), "THE-MESSAGE"); had != c.kept {
				t.Errorf("the next request has the message: %t, want %t", had, c.kept)
			}
		})
	}
}
