// Package acptest is for tests: a checker of messages of the Agent Client Protocol, a fake agent that speaks it and
// misbehaves on command, and a scripted model on loopback for real agents. Agent and model do what a prompt says in
// double brackets:
//
//	[[say TEXT]] [[mode MODE]] [[shell COMMAND]] [[write PATH|TEXT]] [[read PATH]] [[tool NAME|JSON]]
//	[[verdict JSON]] [[fail TEXT]] [[cost USD]] [[die]]
//
// The fake agent alone knows the last two.
//
// A prompt of Arbiter that says nothing ends with the verdict `done`; if the prompt is for the Arbiter, with CONTINUE,
// with COMPLETE where the prompt has the words [Proven], or with HANDOFF where it is asked for that.
package acptest

import (
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Done is the verdict of a prompt that names none.
const Done = `{"expects_response":true,"kind":"done","message":"It is done.",` +
	`"handoff":{"accomplished":["all"],"remaining":[],"key_context":"nothing"}}`

// Proven has the Arbiter complete the task, and so does what quotes it.
const Proven = "Everything is proven"

const (
	wait     = `{"decision":"CONTINUE","message":"Patience.","reason":"r"}`
	complete = `{"decision":"COMPLETE","message":"It is done.","summary":"all of it","reason":"r"}`
	handOff  = `{"decision":"HANDOFF","message":"I go.","reason":"r",` +
		`"handoff":{"accomplished":["a plan"],"remaining":["the rest"],"key_context":"nothing"}}`
)

// op is one thing to do.
type op struct{ verb, arg string }

func (o op) two() (first, second string) {
	first, second, _ = strings.Cut(o.arg, "|")
	return first, second
}

var written = regexp.MustCompile(`(?s)\[\[(\w+) ?(.*?)\]\]`)

// opsOf reads the script of a prompt. What follows the last one is the verdict, unless the script fails or gives one.
func opsOf(prompt string, arbiter bool) (ops []op) {
	for _, record := range []string{"| kind: inheritance", "| kind: retry"} { // it quotes earlier scripts
		_, rest, ok := strings.Cut(prompt, record)
		if _, rest, _ = strings.Cut(rest, "| end⟧"); ok && (arbiter || strings.TrimSpace(rest) != "") {
			prompt = rest
		}
	}
	for _, m := range written.FindAllStringSubmatch(prompt, -1) {
		ops = append(ops, op{m[1], m[2]})
	}
	if n := len(ops); n > 0 && ops[n-1].verb == "fail" ||
		slices.ContainsFunc(ops, func(o op) bool { return o.verb == "verdict" }) {
		return ops
	}
	verdict := Done
	switch {
	case !arbiter:
	case strings.Contains(prompt, Proven):
		verdict = complete
	case strings.Contains(prompt, "| kind: renewal"):
		verdict = handOff
	default:
		verdict = wait
	}
	return append(ops, op{"verdict", verdict})
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
	configure := func(dir, file, text string) {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node := func(program string, more ...string) []string {
		return append([]string{bin("node", "node"), bin(name, program)}, more...)
	}
	spec := bridge.MakeSpec{Name: name}
	switch name {
	case "opencode":
		configure(".config/opencode", "opencode.json", `{"provider": {"local": {
			"npm": "@ai-sdk/openai-compatible", "name": "local",
			"options": {"baseURL": "`+m.Base+`/v1", "apiKey": "dummy"},
			"models": {"scripted": {"name": "scripted", "limit": {"context": 100000, "output": 4000},
				"cost": {"input": 1, "output": 1}}}}},
			"model": "local/scripted", "small_model": "local/scripted", "enabled_providers": ["local"],
			"share": "disabled"}`)
		spec.Command = []string{bin(name, "opencode"), "acp"}
		spec.Env = []string{"OPENCODE_DISABLE_MODELS_FETCH=1"}
	case "claude-acp":
		spec.Command = node("claude-agent-acp")
		spec.Env = []string{"ANTHROPIC_BASE_URL=" + m.Base, "ANTHROPIC_API_KEY=dummy",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	case "codex": // of a model that it knows, it expects other tools
		configure(".codex", "config.toml", `
model = "scripted"
model_provider = "local"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "local"
base_url = "`+m.Base+`/v1"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
`)
		configure("tmp", "empty", "")
		spec.Command = node("codex-acp")
		// It installs no helper of its sandbox below the directory for temporary files, where the home is.
		spec.Env = []string{"NO_BROWSER=1", "TMPDIR=" + filepath.Join(home, "tmp")}
	case "gemini":
		configure(".gemini", "settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}},
			"general": {"enableAutoUpdate": false, "sessionRetention": {"enabled": false}},
			"privacy": {"usageStatisticsEnabled": false}}`)
		configure(".gemini", ".env", "GEMINI_API_KEY=dummy\n")
		spec.Command = node("gemini", "--acp")
		spec.Env = []string{"GOOGLE_GEMINI_BASE_URL=" + m.Base}
	case "copilot":
		// The program of npm's package alone would die on a signal, and leave this one.
		spec.Command = []string{filepath.Join(dir, name, "node_modules/@github/copilot-linux-x64/copilot"), "--acp"}
		spec.Env = []string{"COPILOT_PROVIDER_BASE_URL=" + m.Base + "/v1", "COPILOT_PROVIDER_TYPE=openai",
			"COPILOT_MODEL=scripted", "COPILOT_OFFLINE=true"}
	}
	return spec
}

// Makes are those that tests play with: the fake one, and the real ones.
var Makes = []string{"fake", "opencode", "claude-acp", "codex", "gemini", "copilot"}

// The rows of the table in docs/makes.md: what a test of the driver tries with each make.
const (
	Version  = "tried with"
	Rules    = "deny rules about commands and edits"
	Reading  = "deny rules about reading"
	Reason   = "the model reads why it was denied"
	Context  = "context"
	Cost     = "cost"
	Failures = "a model that fails"
	Resume   = "resume"
)

// Rows are all of them, in order.
var Rows = []string{Version, Rules, Reading, Reason, Context, Cost, Failures, Resume}

// Findings that other tests go by.
const (
	Hold     = "hold"
	Pass     = "some calls pass"
	EndsTurn = "a denial ends the turn"
	Yes      = "yes"
	Known    = "known"
	Unknown  = "unknown"
)

//go:embed found.json
var found []byte

// Found is what the test has found, by make and row, when it was recorded.
func Found() map[string]map[string]string {
	all := map[string]map[string]string{}
	if err := json.Unmarshal(found, &all); err != nil {
		panic(err)
	}
	return all
}

// With are the makes about which this was found.
func With(row, finding string) (makes []string) {
	all := Found()
	for _, name := range Makes {
		if all[name][row] == finding {
			makes = append(makes, name)
		}
	}
	return makes
}
