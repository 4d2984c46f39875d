package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"unicode"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// rude matches bytes that no output may contain.
var rude = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)

// mannered checks that an output contains nothing that a terminal or a viewer interprets.
func mannered(t *testing.T, what, text string) {
	t.Helper()
	if at := rude.FindStringIndex(text); at != nil {
		t.Errorf("%s has %q: …%.200q", what, text[at[0]:at[1]], text[max(0, at[0]-80):])
		return
	}
	for i, r := range text {
		if r == '\ufffd' && text[i] != 0xef || r >= 0x80 && r <= 0x9f || r >= 0x202a && r <= 0x202e ||
			r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029 ||
			r >= 0xe0000 && r <= 0xe007f && unicode.Is(unicode.Cf, r) {
			t.Errorf("%s has %U: …%.200q", what, r, text[max(0, i-80):])
			return
		}
	}
}

// TestHostileSurroundings: names of directories and files, the task, agents, configuration, variables and
// arguments may contain anything, and so may a claude's version and stderr. No command writes anything that a
// terminal interprets.
func TestHostileSurroundings(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	const bad = "n\x1b]0;owned\a\x1b[2J\u009b31m\u202egnp\u2066\U000e0041\u2028\x7f\r\b[red]"
	dir := hostilePlace(t, func(s string) string { return s })
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)))
	}
	write(".claude/settings.json", fmt.Sprintf(`{"env":{%q:"x"},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo \u001b]0;x\u0007\u009b2J\u202e"}]}]}}`, "A\u202e\u009bB"))
	write(".mcp.json", `{"mcpServers":{"a\u001b[2J\u009b":{"command":"c\u001b]0;x\u0007\u202e"}}}`)
	write(".claude/agents/a\x1b[2J.md",
		"---\nname: a\u202e\u009bb\ndescription: \"d\\e]0;x\\a\u009b2J\u2066\"\n---\nPrompt "+bad+"\n")
	write(".claude/agents/good.md", "---\nname: good\ndescription: \"d \u009b2J\u2066 \\e[2J\"\n---\nPrompt "+bad+"\n")
	s := prepare(t, []string{"ARBITER_MODEL=" + bad}, "--json", "--no-input", "--stand-in", "--scenario",
		scenarioFile(t, spin("echo spun")), "--task", bad)
	s.cmd.Dir = dir
	var out bytes.Buffer
	s.cmd.Stdout = &out
	_ = s.cmd.Run()
	mannered(t, "--json", out.String())
	mannered(t, "--json, stderr", s.stderr.String())
	run := regexp.MustCompile(`"session":"([^"]*)"`).FindStringSubmatch(out.String())
	if run == nil {
		t.Fatalf("no run: %s%s", out.String(), s.stderr.String())
	}
	liar := filepath.Join(dir, "claude\x1b[2J")
	write(filepath.Base(liar), "#!/bin/sh\nprintf '2.1.329 \\033]0;owned\\a\\302\\2332J (Claude Code)\\n'\nprintf 'err "+
		"\\033[2J\\233\\n' >&2\nexit 3\n")
	testkit.OK(t, os.Chmod(liar, 0o700))
	for _, args := range [][]string{
		{"sessions"}, {"sessions", "--json"}, {"sessions", "show", run[1]}, {"sessions", "show", "--json", run[1]},
		{"sessions", "show", bad}, {"sessions", bad}, {"sessions", "rm", bad},
		{"logs", run[1]}, {"logs", "--program", run[1]}, {"logs", "--audit", run[1]}, {"logs", "--audit", "--json", run[1]},
		{"logs", bad},
		{"logs", "--verify", bad}, {"replay", run[1]}, {"replay", "--decisions", run[1]}, {"replay", bad},
		{"agents"}, {"agents", "--json"}, {"agents", "--trust"}, {"agents", "--trust", "--json"},
		{"agents", "--trust", "good"}, {"agents", "show", "good", "--trust"}, {"agents", bad}, {"agents", "check", bad},
		{"agents", "check", filepath.Join(dir, ".claude/agents/a\x1b[2J.md")},
		{"decide", run[1], "--explain"}, {"decide", run[1], "--explain", "--json"}, {"decide", run[1], "--number", "1"},
		{"decide", run[1], "--number", "1", "--json"}, {"decide", bad}, {"decide", "--decider", bad},
		{"trust"}, {"trust", "--json"}, {"trust", bad}, {"grants"}, {"grants", bad}, {"version", "--claude", liar},
		{"version", "--json", "--claude", liar}, {"version", "--claude", bad}, {"scenarios"}, {"scenarios", bad},
		{"schema", bad},
		{"halt", bad}, {"attach", bad}, {"attach", "orch-1", "--session", bad}, {bad}, {"--" + bad},
		{"--max-cost", bad}, {"--json", "--permissions", bad}, {"--json", "--allow", bad + "("},
		{"--json", "--cwd", bad, "--task", "x"}, {"--json", "--scenario", bad, "--rehearse", "--task", "x"},
		{"--json", "--env", bad, "--task", "x"}, {"--json", "--no-input", "--resume", "--session", bad},
		{"--json", "--no-input", "--claude", liar, "--task", bad},
		{"--plain", "--no-input", "--claude", liar, "--task", bad}, {"--json", "--config", bad, "--task", "x"},
		{"--theme", bad},
	} {
		next := exec.Command("arbiter", args...)
		next.Env, next.Dir = s.cmd.Env, dir
		var stdout, stderr bytes.Buffer
		next.Stdout, next.Stderr = &stdout, &stderr
		_ = next.Run()
		mannered(t, fmt.Sprintf("arbiter %.60q, stdout", args), stdout.String())
		mannered(t, fmt.Sprintf("arbiter %.60q, stderr", args), stderr.String())
	}
}
