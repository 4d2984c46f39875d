package claude

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// TestLiveSettingsHold: a hook that is added to the workspace's settings in the middle of a session does
// not run in that session.
func TestLiveSettingsHold(t *testing.T) {
	if len(realSpec(t).Args) > 0 {
		t.Skip("the stand-in reads no settings")
	}
	s, _ := live(t,
		reply{tools: []call{bash("touch one")}}, reply{text: "first"},
		reply{tools: []call{bash("touch two")}}, reply{text: "second"})
	s.host.permission = (&questions{}).allow
	file, mark := filepath.Join(s.dir, ".claude", "settings.json"), filepath.Join(t.TempDir(), "mark")
	settings := func(word string) {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		text := `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"echo ` + word + ` >> ` + mark +
			`"}]}]}}`
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings("before")
	s.cfg.SettingSources, s.cfg.Hooks = []string{"user", "project"}, &bridge.HookConfig{Role: "orchestrator"}
	s.launch()
	s.turn("go")
	settings("after")
	await(s.host, 1, func(n bridge.Notice) bool {
		return strings.Contains(n.Text, "settings.json was changed while the agent runs")
	})
	s.turn("go on")
	if raw, err := os.ReadFile(mark); err != nil || string(raw) != "before\nbefore\n" {
		t.Errorf("the hooks that ran: %q, %v", raw, err)
	}
}
