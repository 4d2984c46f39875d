package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// TestGrantsAreListedAndTakenBack: grants of a workspace are listed in that workspace and nowhere else. rm
// removes them by number or rule, all that it was given or none. Grants that cannot be trusted are reported
// with an exit code.
func TestGrantsAreListedAndTakenBack(t *testing.T) {
	state, work := t.TempDir(), t.TempDir()
	store := testkit.Must(trust.OpenGrants(state, work))(t)
	defer store.Close()
	action := strings.Repeat("ab", 32)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	give := func() {
		t.Helper()
		for _, g := range []trust.Grant{
			{Rule: "Bash(git *)", Run: "d4a65516-1d04-49dd-95ac-721a5047b226", At: at}, {Rule: "Edit(src/**)", At: at},
			{Action: action, Tool: "Bash", At: at},
		} {
			testkit.OK(t, store.Add(g))
		}
	}
	give()
	try := func(want contract.Exit, output string, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		args = append(append([]string{"arbiter", "grants"}, args...), "--state-dir", state, "--cwd", work)
		if code := run(args, strings.NewReader(""), &out, &errs); code != int(want) ||
			!strings.Contains(out.String()+errs.String(), output) {
			t.Errorf("%v: code %d, %s%s", args[1:], code, out.String(), errs.String())
		}
		return out.String()
	}
	try(contract.ExitComplete, "in run d4a65516 (arbiter logs d4a65516 --audit --state-dir "+state+" shows")
	var r subcommands.GrantsReport
	if err := json.Unmarshal([]byte(try(contract.ExitComplete, "", "ls", "--json")), &r); err != nil ||
		len(r.Grants) != 3 || r.Grants[2].Action != action {
		t.Errorf("%v, %+v", err, r)
	}
	for output, args := range map[string][]string{
		"there is no grant 4":      {"rm", "1", "4"},
		"there is no grant 0":      {"rm", "0"},
		`there is no grant "Bash"`: {"rm", "Bash"},
		`there is no grant ""`:     {"rm", ""},
		"give numbers or rules":    {"rm"},
		"or --all":                 {"rm", "--all", "1"},
		`no command "drop"`:        {"drop"},
		"takes no argument":        {"ls", "x"},
		"unknown flag --al;":       {"rm", "--al"},
		"there is no grant 999999": {"rm", "999999"},
	} {
		try(contract.ExitUsage, output, args...)
	}
	if kept, _, _ := store.Load(); len(kept) != 3 {
		t.Errorf("something is gone: %v", kept)
	}
	try(contract.ExitComplete, "Removed: Edit(src/**)", "rm", "2", "Bash(git *)")
	try(contract.ExitComplete, action)
	try(contract.ExitComplete, "Removed: one exact action of Bash", "rm", action)
	try(contract.ExitComplete, "Nothing is always allowed here.")

	give()
	raw := testkit.Must(os.ReadFile(store.Path()))(t)
	raw = []byte(strings.Replace(string(raw), `"human"`, `"orch-1"`, 1))
	testkit.OK(t, os.WriteFile(store.Path(), raw, 0o600))
	try(contract.ExitFailed, "only a human gives any")
	try(contract.ExitComplete, "Removed: 3.", "rm", "--all")
	try(contract.ExitComplete, "Removed: 0.", "rm", "--all")
	testkit.OK(t, os.WriteFile(store.Path(), []byte("{"), 0o600))
	try(contract.ExitEnvironment, "then remove it")
	testkit.OK(t, os.Chmod(store.Path(), 0o666))
	try(contract.ExitEnvironment, "not safe to use", "rm", "--all")
	var errs strings.Builder
	if code := run([]string{"arbiter", "grants", "--cwd", work + "/none"}, nil, &errs,
		&errs); code != int(contract.ExitUsage) {
		t.Errorf("of no workspace: %d, %s", code, errs.String())
	}
}

// TestRulesForUnknownTools: a rule for an unknown tool is reported, and an empty value is not taken for the
// default.
func TestRulesForUnknownTools(t *testing.T) {
	try := func(want contract.Exit, output string, args ...string) {
		t.Helper()
		var out, errs strings.Builder
		args = append([]string{"arbiter"}, args...)
		if code := run(args, strings.NewReader(""), &out, &errs); code != int(want) ||
			!strings.Contains(errs.String(), output) {
			t.Errorf("%v: code %d, %s", args[1:], code, errs.String())
		}
	}
	state := t.TempDir()
	o := runconfig.Options{
		Allow: []string{"Edit"},
		Deny:  []string{"Bsh", "mcp__any"},
		Ask:   []string{"NotebookEdit", "Raed"},
	}
	_, err := settings.CheckRules(o)
	if got := settings.UnknownTools(o); err != nil || !strings.HasSuffix(got, "never apply: --deny Bsh, --ask Raed") {
		t.Errorf("%v, %q", err, got)
	}
	try(contract.ExitUsage, "--cwd is empty", "trust", "--yes", "--cwd", "", "--state-dir", state)
	try(contract.ExitUsage, "the RUN is empty", "halt", "", "--state-dir", state)
	try(contract.ExitUsage, "no run is live in", "halt", "--state-dir", state)
	try(contract.ExitUsage, "use true or false", "--trust=maybe")
}
