package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func TestMakes(t *testing.T) {
	var o runconfig.Options
	err := parseMakes("c.yaml", []byte(`model: opus
provider: {default: mine, arbiter: opencode}
makes:
  opencode: {command: [opencode, acp], env: [OPENAI_API_KEY, "A=b"]}
  mine:
    command: [mine]
    like: opencode
    accept_unasked: true
    max_turns: 3
    input_usd: 0.5
    output_usd: 2
`), &o)
	testkit.OK(t, err)
	want := []runconfig.Make{
		{MaxTurns: 3, MakeSpec: bridge.MakeSpec{Name: "mine", Command: []string{"mine"}, Like: "opencode",
			AcceptUnasked: true, InputUSD: 0.5, OutputUSD: 2}},
		{MaxTurns: runconfig.DefaultMakeTurns, MakeSpec: bridge.MakeSpec{Name: "opencode",
			Command: []string{"opencode", "acp"}, Env: []string{"OPENAI_API_KEY", "A=b"}}},
	}
	if diff := cmp.Diff(want, o.Makes); diff != "" || o.DefaultMake != "mine" || o.ArbiterMake != "opencode" {
		t.Error(diff, o.DefaultMake, o.ArbiterMake)
	}
	parse := func(text string) error { return parseMakes("c.yaml", []byte(text), &runconfig.Options{}) }
	for _, key := range []string{"default", "arbiter"} {
		if err := parse("provider: {" + key + ": mine}\n"); err == nil || !strings.Contains(err.Error(), `no make "mine"`) {
			t.Error(key, err)
		}
	}
	if err := parse("provider: {default: claude-code}\n"); err != nil {
		t.Error(err)
	}
	for text, problem := range map[string]string{
		"{}":                               "command is missing",
		"{command: [a], env: [API_KEY=x]}": "write only the name API_KEY",
		"{command: [a], env: [-x]}":        "not the name of a variable",
		"{command: [a], max_turns: 0}":     "max_turns",
		"{command: [a], input_usd: free}":  "US dollars",
		"{command: [a], mode: auto}":       `unknown field "mode"`,
	} {
		if err := parse("makes: {m: " + text + "}\n"); err == nil ||
			!strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, name := range []string{"claude", "Upper", "-x"} {
		if err := parse("makes: {" + name + ": {command: [a]}}\n"); err == nil {
			t.Errorf("%s is a name", name)
		}
	}
}
