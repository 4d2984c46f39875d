package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// TestReferencePages checks that the pages of settings and of commands agree with the tables that the program
// uses. `go test ./cmd/arbiter -run TestReferencePages -freeze` writes them, before
// TestFrozenHelp reads them.
func TestReferencePages(t *testing.T) {
	for path, got := range map[string]string{
		"../../docs/configuration.md": configurationPage(t),
		"../../docs/commands.md":      commandsPage(),
	} {
		if *freeze {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s is not what the program says; go test ./cmd/arbiter -run TestReferencePages -freeze writes it (-file "+
				"+now):\n%s", path, diff)
		}
	}
}

const configurationHead = `# Configuration reference

This page is generated from the program's own table of settings
(` + "`go test ./cmd/arbiter -run TestReferencePages -freeze`" + `).

Arbiter reads each setting from the first of these places that names it:

1. the flag on the command line
2. the environment variable: ` + "`ARBITER_`" + ` and the name of the flag in capitals, such as ` + "`ARBITER_MAX_COST`" + `
3. ` + "`.arbiter/config.yaml`" + ` in the workspace, if you [trust](permissions.md#trust) the workspace
4. ` + "`config.yaml`" + ` in your configuration directory: ` + "`$XDG_CONFIG_HOME/arbiter`" + `, else ` + "`~/.config/arbiter`" + `
   (macOS: ` + "`~/Library/Application Support/arbiter`" + `); ` + "`--config FILE`" + ` reads another file instead
5. the default

In the list below, † is a flag only, ‡ a flag or a line of a file, § a flag or a variable. The keys of the file are the
names of the flags. Repeatable flags are lists:

` + "```yaml" + `
model: opus
max-cost: 5
allow:
  - Bash(go test *)
  - Edit(src/**)
decider: {kind: hybrid, provider: openai, base_url: "http://127.0.0.1:11434/v1", model: "qwen3:8b"}
` + "```" + `

The settings of the decider may be a block, with the keys kind, provider, model, base_url, key_env,
max_tokens, temperature, effort and timeout ([deciders](deciders.md#providers)).

Arbiter refuses an unknown key or variable, and a wrong value, with the file and the line.
` + "`arbiter schema config`" + ` prints a JSON Schema of the file, for editors.
A run keeps the settings that it started with. With ` + "`--resume`" + `, a flag or a variable changes a setting.
`

func configurationPage(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(configurationHead)
	group := ""
	for _, s := range settings.Table {
		f := command.FlagDoc(s.Flag())
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n\n", group)
		}
		if f.Env != "" && f.Env != "ARBITER_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) {
			t.Errorf("the page does not say that --%s has the variable %s", f.Name, f.Env)
		}
		mark := map[[2]bool]string{{true, false}: "†", {false, false}: "‡", {true, true}: "§"}[[2]bool{s.Flagged,
			f.Env != ""}]
		fmt.Fprintf(&b, "- `%s`%s: %s\n", f.Term(), mark, about(f))
	}
	return b.String()
}

const commandsHead = `# Command reference

This page is generated from the program's own table of commands
(` + "`go test ./cmd/arbiter -run TestReferencePages -freeze`" + `). ` + "`arbiter COMMAND --help`" + ` and
` + "`arbiter man | man -l -`" + ` also explain each command, with examples. ` + "`arbiter`" + ` without a command starts or resumes
a run; its flags are in the [configuration reference](configuration.md).

Exit codes of all commands: 0 done, also if there is nothing to list; 2 bad usage, or there is no such run, agent,
request, file or commit, or the run refuses; 5 a file, a directory or Git cannot be read or written, or arbiter does not answer;
130, 143 ended by a signal. The help of a command says what else its codes mean. Those of a run are in the
[contract](contract.md#exit-codes).

## Flags of several commands

`

func commandsPage() string {
	var b strings.Builder
	b.WriteString(commandsHead)
	all, count := command.All(env{}.app())[1:], map[string]int{}
	for _, c := range all {
		for _, f := range command.Flags(c) {
			line := flagLine(f)
			if f.Category == "" {
				count[line]++
			}
			if f.Category == "" && count[line] == 3 {
				b.WriteString(line)
			}
		}
	}
	for _, c := range all {
		fmt.Fprintf(&b, "\n## %s\n\n%s: `%s`\n", strings.TrimPrefix(c.HelpName, "arbiter "),
			strings.ToUpper(c.Usage[:1])+c.Usage[1:], strings.Join(command.Synopsis(c), "` or `"))
		var own, also []string
		settings := ""
		for _, f := range command.Flags(c) {
			switch line := flagLine(f); {
			case f.Category != "": // the other page tells of it
				settings = " and [settings](configuration.md) that `--help` lists"
			case count[line] > 2:
				also = append(also, "`--"+f.Name+"`")
			default:
				own = append(own, line)
			}
		}
		if own != nil {
			b.WriteString("\n" + strings.Join(own, ""))
		}
		if also != nil || settings != "" {
			fmt.Fprintf(&b, "\nAlso %s.\n", strings.TrimPrefix(strings.Join(also, ", ")+settings, " and "))
		}
	}
	return b.String()
}

// flagLine is the line about a flag of a command.
func flagLine(f command.Flag) string { return fmt.Sprintf("- `%s`: %s\n", f.Term(), about(f)) }

// about is what the help says of a flag, without its variable.
func about(f command.Flag) string {
	text := f.About
	if f.Repeats {
		text += " (repeatable)"
	}
	nought := (f.Default == "0" || f.Default == "0s") && !strings.Contains(text, "0: ")
	if f.Default != "" && !nought && !strings.Contains(text, "(default: ") {
		text += " (default: " + f.Default + ")"
	}
	return text
}
