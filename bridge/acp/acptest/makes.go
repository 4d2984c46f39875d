package acptest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// MakesEnv names the directory in which scripts/setup --makes has installed the real makes.
const MakesEnv = "TEST_MAKES"

// Real returns a real make that asks this model, configured in a home directory. It skips the test if the make is not
// installed.
func (m *Model) Real(t testing.TB, name, home string) bridge.MakeSpec {
	t.Helper()
	dir := os.Getenv(MakesEnv)
	if dir == "" {
		t.Skip("the real makes are not installed: run scripts/setup --makes")
	}
	bin := func(make, name string) string { return filepath.Join(dir, make, "node_modules", ".bin", name) }
	if name == "opencode" {
		config := filepath.Join(home, ".config", "opencode")
		if err := os.MkdirAll(config, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(config, "opencode.json"), []byte(`{"provider": {"local": {
			"npm": "@ai-sdk/openai-compatible", "name": "local",
			"options": {"baseURL": "`+m.Base+`/v1", "apiKey": "dummy"},
			"models": {"scripted": {"name": "scripted", "limit": {"context": 100000, "output": 4000}}}}},
			"model": "local/scripted", "small_model": "local/scripted", "enabled_providers": ["local"],
			"share": "disabled"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		return bridge.MakeSpec{Name: name, Command: []string{bin(name, "opencode"), "acp"},
			Env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1"}}
	}
	return bridge.MakeSpec{Name: name,
		Command: []string{bin("node", "node"), bin(name, "claude-agent-acp")},
		Env: []string{"ANTHROPIC_BASE_URL=" + m.Base, "ANTHROPIC_API_KEY=dummy",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}}
}
