package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// printed runs arbiter in this process and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if code := run(append([]string{"arbiter"}, args...), strings.NewReader(""), &out, &errs); code != 0 ||
		errs.String() != "" {
		t.Fatalf("arbiter %s: exit code %d, %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestHelpOfEveryCommand: the help names the command, its arguments and all its flags, and fits into 80
// columns. Only lines that are to be typed as shown may be longer.
func TestHelpOfEveryCommand(t *testing.T) {
	all := command.All(env{}.app())
	if len(all) < 20 {
		t.Fatalf("only %d commands", len(all))
	}
	for _, c := range all {
		text := printed(t, append(strings.Fields(c.HelpName)[1:], "--help")...)
		if !strings.HasPrefix(text, c.HelpName+" - ") || strings.Contains(text, "GLOBAL") {
			t.Errorf("%s: %s", c.HelpName, text)
		}
		for _, f := range command.Flags(c) {
			if !strings.Contains(text, "\n  "+f.Term()) {
				t.Errorf("%s: --%s is missing", c.HelpName, f.Name)
			}
		}
		for line := range strings.Lines(text) {
			kept := strings.HasPrefix(line, "  ") && strings.Contains(c.Description, strings.TrimSpace(line))
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !kept {
				t.Errorf("%s: %d columns: %s", c.HelpName, n, line)
			}
		}
		if c.Usage == "" || strings.HasSuffix(c.Usage, ".") {
			t.Errorf("%s: its usage is %q", c.HelpName, c.Usage)
		}
	}
}

// kinds are the names for the kinds of values that flags and arguments take; completion uses them.
var kinds = strings.Fields(
	"TEXT N TIME RUN DIR FILE PATH REQUIREMENTS.md AGENT NAME SCENARIO RULE NUMBER MODEL RECORD WAYS KEY " +
		"REQUEST all OPTION NAME=VALUE MODEL=TOKENS DOLLARS PERCENT TOKENS MIB N,N COMMAND - -- RUN_FLAG ADDRESS:PORT URL " +
		"TEMPERATURE LIST HOST VARIABLE ISSUE COMMIT --at")

// TestEveryFlagIsDocumented: each flag has a text, a known kind of value, and the variable and heading that the
// table of settings gives it.
func TestEveryFlagIsDocumented(t *testing.T) {
	type form struct {
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
	}
	var schema struct {
		Properties map[string]struct {
			form
			AnyOf []form `json:"anyOf"` // of a setting that can also be a block; the first is its plain form
		} `json:"properties"`
	}
	testkit.OK(t, json.Unmarshal([]byte(printed(t, "schema", "config")), &schema))
	for _, c := range command.All(env{}.app()) {
		for _, f := range command.Flags(c) {
			where := c.HelpName + " --" + f.Name
			if f.About == "" || strings.Contains(f.About, "`") || strings.HasSuffix(f.About, ".") {
				t.Errorf("%s: its text is %q", where, f.About)
			}
			if f.Value != "" && command.Choices(f.Value) == nil && !slices.Contains(kinds, f.Value) {
				t.Errorf("%s takes %s, which nothing knows", where, f.Value)
			}
			if c.HelpName == c.Name && f.Category == "" {
				t.Errorf("%s is under no heading", where)
			}
		}
		what, _, _ := strings.Cut(c.ArgsUsage, " | ")
		for arg := range strings.FieldsSeq(what) {
			arg = strings.Trim(arg, "[]…")
			for one := range strings.SplitSeq(arg, "|") {
				if command.Choices(arg) == nil && !slices.Contains(kinds, one) {
					t.Errorf("%s takes %s, which nothing knows", c.HelpName, one)
				}
			}
		}
	}
	for i, f := range command.Flags(command.Root(env{}.app())) {
		s := settings.Table[i]
		property, known := schema.Properties[s.Name]
		if len(property.AnyOf) > 0 {
			property.form = property.AnyOf[0]
		}
		if s.Name == "hosts" {
			continue // in the file, hosts is the block that defines them
		}
		if f.Name != s.Name || known == s.Flagged ||
			known && (property.Description != f.About || !slices.Equal(property.Enum, command.Choices(f.Value))) {
			t.Errorf("--%s: the schema of the configuration says %+v", s.Name, property)
		}
		want := "ARBITER_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
		if s.Env == "-" || s.Kind == settings.KindList {
			want = ""
		}
		if f.Env != want {
			t.Errorf("--%s: its variable is %q, want %q", s.Name, f.Env, want)
		}
	}
}

// TestChoicesAreTaken: a flag accepts the values that its help lists, and no others.
func TestChoicesAreTaken(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_STATE_HOME", "")
	for _, f := range command.Flags(command.Root(env{}.app())) {
		words := command.Choices(f.Value)
		if words == nil {
			continue
		}
		for _, word := range append(words, "nonsense") {
			// Without a terminal the screen is refused, but only after all flags were read.
			var out, errs strings.Builder
			code := run([]string{"arbiter", "--i-accept-the-risk", "--" + f.Name, word}, strings.NewReader(""), &out,
				&errs)
			refused := strings.Contains(errs.String(), fmt.Sprintf("--%s %q", f.Name, word))
			if code != int(contract.ExitUsage) && code != int(contract.ExitEnvironment) ||
				refused != (word == "nonsense") {
				t.Errorf("--%s %s: exit code %d, %s", f.Name, word, code, errs.String())
			}
		}
	}
}

// TestManualPage: the page has every command and flag, and groff and mandoc report nothing about it.
func TestManualPage(t *testing.T) {
	page := printed(t, "man")
	if i := strings.IndexFunc(page, func(r rune) bool { return r >= utf8.RuneSelf }); i >= 0 {
		t.Errorf("not ASCII, which groff needs: %.40q", page[i:])
	}
	plain := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(ti`, "~", `\(ha`, "^", `\(ga`, "`", `\e`, `\`, `\fB`, "",
		`\fR`, "").Replace(page)
	for _, c := range command.All(env{}.app()) {
		if c.HelpName != c.Name && !strings.Contains(plain, ".SS \""+c.HelpName+"\"\n") {
			t.Errorf("%s is missing", c.HelpName)
		}
		for _, f := range command.Flags(c) {
			if !strings.Contains(plain, "\n"+f.Term()+"\n") {
				t.Errorf("%s --%s is missing", c.HelpName, f.Name)
			}
		}
	}
	for _, want := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS", "SIGNALS",
		"ENVIRONMENT", "FILES", "EXAMPLES"} {
		if !strings.Contains(page, ".SH \""+want+"\"\n") {
			t.Errorf("no %s", want)
		}
	}
	for _, tool := range [][]string{
		{"groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z"},
		{"mandoc", "-T", "lint", "-W", "warning"},
	} {
		path, err := exec.LookPath(tool[0])
		if err != nil {
			continue
		}
		cmd := exec.Command(path, tool[1:]...)
		cmd.Stdin = strings.NewReader(page)
		out, _ := cmd.CombinedOutput()
		for line := range strings.Lines(string(out)) {
			// The page has no date, so that the same source gives the same program on every day.
			if !strings.Contains(line, "missing date") {
				t.Errorf("%s: %s", tool[0], line)
			}
		}
	}
}

// TestExitCodesAreDocumented: the help has all exit codes of the contract, and no others.
func TestExitCodesAreDocumented(t *testing.T) {
	codes := map[string]bool{}
	for _, e := range preface.Exits {
		codes[e.Term] = true
	}
	for code := range contract.Exit(256) {
		known := !strings.HasPrefix(code.String(), "exit code")
		if documented := codes[strconv.Itoa(int(code))]; documented != known {
			t.Errorf("exit code %d: told %v, in the contract %v", code, documented, known)
		}
	}
}

// TestTypingErrors: an error names the mistyped word, and suggests what was probably meant.
func TestTypingErrors(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Chdir(home)
	for line, want := range map[string]string{
		"sesions": "\"sesions\" is neither a command nor a requirements file; did you mean " +
			"sessions?\nTry: arbiter --help",
		"resume":                     "\"resume\" is neither a command nor a requirements file; did you mean --resume?",
		"sesions ls":                 "did you mean sessions?",
		"sessions shwo":              "sessions has no command \"shwo\": did you mean show?\nTry: arbiter sessions --help",
		"grants frob":                "use one of ls, rm",
		"--jsn":                      "unknown flag --jsn; did you mean --json?",
		"-j":                         "unknown flag -j",
		"--frobnicate":               "unknown flag --frobnicate\nTry: arbiter --help",
		"logs RUN --audti":           "unknown flag --audti; did you mean --audit?\nTry: arbiter logs --help",
		"sessions show --jsn RUN":    "did you mean --json?\nTry: arbiter sessions show --help",
		"--task":                     "--task needs a value: TEXT",
		"attach orch-1 --session":    "--session needs a value: RUN\nTry: arbiter attach --help",
		"--max-cost much":            "--max-cost \"much\": use a number",
		"--max-iterations 1.5":       "--max-iterations \"1.5\": use a whole number",
		"--timeout 5":                "--timeout \"5\": use a number with a unit, such as 90s, 15m or 2h",
		"--json=maybe":               "--json \"maybe\": use true or false",
		"spec.md --json":             "flags go before the requirements file: --json comes after spec.md",
		"a.md b.md":                  "give one requirements file, not 2",
		"logs":                       "no run has worked in",
		"logs a b":                   "logs: give at most one RUN",
		"version x":                  "version takes no argument: leave out x",
		"man x":                      "man takes no argument: leave out x",
		"completion":                 "completion: give one shell: bash, zsh, fish",
		"completion ksh":             "use one of bash, zsh, fish",
		"scenarios smal-job":         "there is no built-in scenario \"smal-job\": use one of",
		"agents show plnner":         "there is no agent \"plnner\"",
		"sessions show --bad --help": "",
	} {
		var out, errs strings.Builder
		code := run(append([]string{"arbiter"}, strings.Fields(line)...), strings.NewReader(""), &out, &errs)
		if want == "" {
			if code != 0 {
				t.Errorf("%s: exit code %d, %s", line, code, errs.String())
			}
			continue
		}
		if code != int(contract.ExitUsage) || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", line, code, errs.String())
		}
	}
}
