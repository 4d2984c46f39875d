// Package acptest is for tests: a checker of messages of the Agent Client Protocol, a fake agent that speaks it and
// misbehaves on command, and a scripted model on loopback for real agents. Agent and model do what a prompt says in
// double brackets:
//
//	[[say TEXT]] [[mode MODE]] [[shell COMMAND]] [[write PATH|TEXT]] [[read PATH]] [[tool NAME|JSON]]
//	[[verdict JSON]] [[fail TEXT]]
//
// A prompt of Arbiter that says nothing ends with the verdict `done`.
package acptest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Done is the verdict of a prompt that names none.
const Done = `{"expects_response":true,"kind":"done","message":"It is done.",` +
	`"handoff":{"accomplished":["all"],"remaining":[],"key_context":"nothing"}}`

// op is one thing to do.
type op struct{ verb, arg string }

func (o op) two() (first, second string) {
	first, second, _ = strings.Cut(o.arg, "|")
	return first, second
}

var written = regexp.MustCompile(`(?s)\[\[(\w+) ?(.*?)\]\]`)

// opsOf reads the script of a prompt. What follows the last one is the verdict, unless the script fails or gives one.
func opsOf(prompt string) (ops []op) {
	for _, m := range written.FindAllStringSubmatch(prompt, -1) {
		ops = append(ops, op{m[1], m[2]})
	}
	if n := len(ops); n > 0 && (ops[n-1].verb == "fail" || ops[n-1].verb == "silent") {
		return ops
	}
	for _, o := range ops {
		if o.verb == "verdict" {
			return ops
		}
	}
	return append(ops, op{"verdict", Done})
}

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
