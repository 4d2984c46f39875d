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
		"../../docs/configuration.md": configurationPage(),
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
2. the environment variable
3. ` + "`.arbiter/config.yaml`" + ` in the workspace, if you [trust](permissions.md#trust) the workspace
4. ` + "`config.yaml`" + ` in your configuration directory: ` + "`$XDG_CONFIG_HOME/arbiter`" + `, else ` + "`~/.config/arbiter`" + `
   (macOS: ` + "`~/Library/Application Support/arbiter`" + `); ` + "`--config FILE`" + ` reads another file instead
5. the default

The keys of the file are the names of the flags. Repeatable flags are lists:

` + "```yaml" + `
model: opus
max-cost: 5
timeout: 2h
allow:
  - Bash(go test *)
  - Edit(src/**)
` + "```" + `

The settings of the decider may be written as a block, with the keys kind, provider, model, base_url, key_env,
max_tokens, temperature, effort and timeout ([deciders](deciders.md#providers)):

` + "```yaml" + `
decider: {kind: hybrid, provider: openai, base_url: "http://127.0.0.1:11434/v1", model: "qwen3:8b"}
` + "```" + `

Arbiter refuses an unknown key or a wrong value with the file and the line, and a variable whose name begins like
these and is none of them. ` + "`arbiter schema config`" + ` prints a JSON Schema of the file, for editors.

A run keeps the settings that it started with. With ` + "`--resume`" + `, a flag or a variable changes a setting.
`

func configurationPage() string {
	var b strings.Builder
	b.WriteString(configurationHead)
	group := ""
	for _, s := range settings.Table {
		f := command.FlagDoc(s.Flag())
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n\n| flag | file | variable | default | |\n|---|---|---|---|---|\n", group)
		}
		file := "yes"
		if s.Flagged {
			file = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", cell(f.Term()), file, code(f.Env), code(f.Default),
			cell(about(f)))
	}
	return b.String()
}

const commandsHead = `# Command reference

This page is generated from the program's own table of commands
(` + "`go test ./cmd/arbiter -run TestReferencePages -freeze`" + `). ` + "`arbiter COMMAND --help`" + ` and
` + "`arbiter man | man -l -`" + ` say the same. ` + "`arbiter`" + ` without a command starts or resumes a run; its flags
are in the [configuration reference](configuration.md).
`

func commandsPage() string {
	var b strings.Builder
	b.WriteString(commandsHead)
	for _, c := range command.All(env{}.app())[1:] {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```text\n%s\n```\n", strings.TrimPrefix(c.HelpName, "arbiter "),
			strings.ToUpper(c.Usage[:1])+c.Usage[1:], strings.Join(command.Synopsis(c), "\n"))
		if c.Description != "" {
			b.WriteString("\n" + described(c.Description))
		}
		shared := false
		var rows strings.Builder
		for _, f := range command.Flags(c) {
			if f.Category != "" { // a setting, of which the other page tells
				shared = true
				continue
			}
			text := about(f)
			if f.Default != "" && f.Default != "0" && !strings.Contains(text, "(default: ") {
				text += " (default: " + f.Default + ")"
			}
			fmt.Fprintf(&rows, "| `%s` | %s |\n", cell(f.Term()), cell(text))
		}
		if rows.Len() > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n" + rows.String())
		}
		if shared {
			b.WriteString("\nIt also reads settings of the [configuration](configuration.md); `--help` lists them.\n")
		}
	}
	return b.String()
}

// described is a description as Markdown: lines that begin with a space are examples.
func described(text string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if example := strings.HasPrefix(line, " "); example != inside && strings.TrimSpace(line) != "" {
			inside = example
			b.WriteString(map[bool]string{true: "```text\n", false: "```\n\n"}[inside])
		}
		if inside && strings.TrimSpace(line) == "" {
			continue
		}
		b.WriteString(strings.ReplaceAll(strings.TrimPrefix(line, "  "), "<", "\\<"))
	}
	if inside {
		b.WriteString("```\n")
	}
	return b.String()
}

func about(f command.Flag) string {
	if f.Repeats {
		return f.About + " (repeatable)"
	}
	return f.About
}

func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + s + "`"
}

// cell escapes the character that would end a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
