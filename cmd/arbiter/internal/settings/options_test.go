package settings

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestEverySettingIsInOneGroup: a setting is either an option of the run, or concerns only this start of the
// program. An option that is given again at a resume replaces the old value.
func TestEverySettingIsInOneGroup(t *testing.T) {
	start := []string{ // of this start, of the screen, or handled separately: see Over and ResumeSandbox
		"json", "task", "task-from", "resume", "session", "cwd", "claude", "i-accept-the-risk", "sandbox", "sandbox-write",
		"sandbox-hide", "network", "allow-host", "trust", "pid-namespace", "share-workspace",
		"plain", "theme", "ascii", "ritual", "sound",
		"reduced-motion",
		"no-mouse", "notify", "on-hangup",
		"hosts", "resume-or-begin", "detach", "no-input", "rehearse", "scenario", "stand-in", "state-dir", "config", "debug",
		"max-journal",
	}
	for _, s := range Table {
		if at, isOption := optionOf[s.Name], slices.Contains(start, s.Name); (at != nil) == isOption {
			t.Errorf("%s: is it an option of the run (options.go), or of this start alone?", s.Name)
		}
	}
	for name, at := range optionOf {
		testkit.Check(t, slices.ContainsFunc(Table, func(s Setting) bool { return s.Name == name }),
			"there is no setting %s", name)
		var old, now runconfig.Options
		v := reflect.ValueOf(at(&now)).Elem()
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Float64:
			v.SetFloat(7)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
		default:
			t.Fatalf("%s is a %s", name, v.Kind())
		}
		want := old
		if takeOver(&old, &now, map[string]bool{}); !reflect.DeepEqual(old, want) {
			t.Errorf("%s is taken over, and was not named", name)
		}
		if takeOver(&old, &now, map[string]bool{name: true}); !reflect.DeepEqual(old, now) {
			t.Errorf("%s is not taken over", name)
		}
	}
}

// TestResumeWithAnotherDecider: options given at a resume replace the original ones, and other options keep their
// values.
func TestResumeWithAnotherDecider(t *testing.T) {
	begun := runconfig.Options{
		Decider: "hybrid", DeciderModel: "m", DeciderEffort: "low", DeciderTimeout: time.Minute, DecisionCache: true,
		MaxTotalFailures: 5,
	}
	now := runconfig.Options{Decider: "rules", DeciderModel: "n", DeciderEffort: "max", DeciderTimeout: time.Hour,
		MaxTotalFailures: 7}
	of := func(o runconfig.Options) []any {
		return []any{o.Decider, o.DeciderModel, o.DeciderEffort, o.DeciderTimeout, o.DecisionCache, o.MaxTotalFailures}
	}
	testkit.Same(t, "nothing was named", of(begun), of(Choices{Options: now}.Over(begun)))
	given := map[string]bool{}
	for _, s := range Table {
		given[s.Name] = true
	}
	testkit.Same(t, "all was named", of(now), of(Choices{Options: now, Given: given}.Over(begun)))
}

// TestSetFlagsAreThoseThatCLISays: setFlags agrees with urfave/cli about each flag.
func TestSetFlagsAreThoseThatCLISays(t *testing.T) {
	t.Setenv("ARBITER_MAX_FAILURES", "7")
	t.Setenv("ARBITER_CLAUDE", "")
	for _, args := range [][]string{
		{},
		{"--json", "--task", ""},
		{"--max-exchanges", "3", "--allow", "Read", "--allow", "Edit"},
		{"--cwd", "/a", "doctor"},
		{"doctor", "--cwd", "/b"},
		{"--claude", "/c", "doctor", "--cwd", "/b"},
	} {
		compared := false
		compare := func(c *cli.Context) error {
			compared = true
			set := setFlags(c)
			for _, s := range Table {
				got, want := set[s.Name], c.IsSet(s.Name)
				testkit.Check(t, got == want, "%q: --%s is set: %v, urfave/cli says %v", args, s.Name, got, want)
			}
			return nil
		}
		app := &cli.App{Name: "arbiter", Flags: Flags(), Action: compare, Commands: []*cli.Command{
			{Name: "doctor", Flags: []cli.Flag{FlagOf("cwd"), FlagOf("claude")}, Action: compare},
		}}
		err := app.Run(append([]string{"arbiter"}, args...))
		testkit.Check(t, err == nil && compared, "%q: %v, compared %v", args, err, compared)
	}
}

// TestAnEmptyVariableSetsNothing: neither over a configuration file, nor over what a run began with.
func TestAnEmptyVariableSetsNothing(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	t.Chdir(t.TempDir())
	for _, name := range []string{"MODEL", "SANDBOX", "DECISION_CACHE", "MAX_COST"} {
		t.Setenv("ARBITER_"+name, "")
	}
	file := filepath.Join(home, "c.yaml")
	testkit.OK(t, os.WriteFile(file, []byte("decision-cache: true\n"), 0o600))
	testkit.OK(t, Parsed([]string{"--config", file, "--max-memory", "99999999999999"}, func(c *cli.Context) error {
		got, err := ReadChoices(c)
		testkit.Check(t, got.Options.DecisionCache && got.Options.MaxMemory > 0, "options %+v", got.Options)
		begun := runconfig.Options{Model: "haiku", Permissions: "rules", DecisionCache: true, MaxCostUSD: 2}
		over := got.Over(begun)
		testkit.Same(t, "model", "haiku", over.Model)
		testkit.Check(t, over.DecisionCache && !got.Given["sandbox"] && over.MaxCostUSD == 2, "resumed with %+v", over)
		return err
	}))
	testkit.OK(t, Parsed([]string{"--config", file, "--decision-cache=false"}, func(c *cli.Context) error {
		got, err := ReadChoices(c)
		over := got.Over(runconfig.Options{Model: "haiku", Permissions: "rules", DecisionCache: true})
		testkit.Check(t, !got.Options.DecisionCache && !over.DecisionCache, "the flag does not count: %+v", got.Options)
		return err
	}))
}

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
	err = parse("provider: {default: claude-code}\n")
	testkit.Check(t, err == nil, "%v", err)
	for text, problem := range map[string]string{
		"{}":                               "command is missing",
		"{command: [a], env: [API_KEY=x]}": "write only the name API_KEY",
		"{command: [a], env: [-x]}":        "not the name of a variable",
		"{command: [a], max_turns: 0}":     "max_turns",
		"{command: [a], input_usd: free}":  "US dollars",
		"{command: [a], mode: auto}":       `unknown field "mode"`,
	} {
		testkit.Fails(t, text, parse("makes: {m: "+text+"}\n"), problem)
	}
	for _, name := range []string{"claude", "Upper", "-x"} {
		err := parse("makes: {" + name + ": {command: [a]}}\n")
		testkit.Check(t, err != nil, "%s is a name", name)
	}
}
