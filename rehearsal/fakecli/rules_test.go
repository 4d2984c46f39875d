package fakecli

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestParseFlags(t *testing.T) {
	f := parseFlags([]string{"-p", "--setting-sources", "", "--tools", "Bash", "Read", "--model=opus", "--allowedTools",
		"Bash(a, b) Edit",
		"--resume", "an-id", "--verbose", "--system-prompt", "- be brief"})
	want := flags{"-p": nil, "--setting-sources": {""}, "--tools": {"Bash", "Read"}, "--model": {"opus"},
		"--allowedTools": {"Bash(a, b) Edit"}, "--resume": {"an-id"}, "--verbose": nil, "--system-prompt": {"- be brief"}}
	testkit.Same(t, "options", want, f)
	testkit.Same(t, "rules", []string{"Bash(a, b)", "Edit"}, splitRules(f["--allowedTools"]))
}

func TestRootNeedsASandboxToBypass(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root needs one")
	}
	t.Setenv("IS_SANDBOX", "")
	var stderr bytes.Buffer
	code := Main([]string{"--permission-mode", "bypassPermissions"}, strings.NewReader(""), &bytes.Buffer{}, &stderr)
	want := "cannot be used with root/sudo privileges"
	testkit.Check(t, code == 1 && strings.Contains(stderr.String(), want), "exit code %d, %q", code, stderr.String())
}

// The cases in testdata judge commands and files; here are the tools that the CLI has only with a network or
// a host, with the judgements of CLI 2.1.329.
func TestJudgeByTool(t *testing.T) {
	s := &session{cwd: "/w", mode: "default", fixed: slices.Concat(
		parseRules("allow", []string{"WebFetch(domain:h.com)", "mcp__lab__*", "mcp__one__t", "Edit(//w/a)",
			"Edit(//w/dir/*)", "Edit(//out/**)", "Edit(//w/s?/t)", "Read(//logs/*.log)"}),
		parseRules("ask", []string{"mcp__lab__asked"}),
		parseRules("deny", []string{"mcp__lab__no", "Agent(Plan)", "WebFetch(domain:bad.com)"}))}
	for call, want := range map[[2]string]string{
		{"WebFetch", `{"url":"https://h.com/x"}`}:      "allow",
		{"WebFetch", `{"url":"https://sub.h.com/x"}`}:  "ask",
		{"WebFetch", `{"url":"https://bad.com"}`}:      "deny",
		{"mcp__lab__spawn", `{}`}:                      "allow",
		{"mcp__lab__asked", `{}`}:                      "ask",
		{"mcp__lab__no", `{}`}:                         "deny",
		{"mcp__laboratory__spawn", `{}`}:               "ask",
		{"mcp__one__t", `{}`}:                          "allow",
		{"mcp__one__tt", `{}`}:                         "ask",
		{"Agent", `{"subagent_type":"Explore"}`}:       "allow",
		{"Agent", `{"subagent_type":"Plan"}`}:          "deny",
		{"Write", `{"file_path":"/w/a"}`}:              "allow",
		{"Write", `{"file_path":"/w/b/a"}`}:            "ask",
		{"Write", `{"file_path":"/w/dir/deep/a"}`}:     "allow",
		{"Write", `{"file_path":"/w/s1/t"}`}:           "allow",
		{"Write", `{"file_path":"/w/s12/t"}`}:          "ask",
		{"Write", `{"file_path":"/out/.npmrc"}`}:       "ask",
		{"Read", `{"file_path":"/out/x"}`}:             "allow",
		{"Read", `{"file_path":"/logs/a.log"}`}:        "allow",
		{"Read", `{"file_path":"/logs/a.txt"}`}:        "ask",
		{"Bash", `{"command":"foo {a,b}"}`}:            "ask",
		{"Bash", `{"command":"cd dir && touch a"}`}:    "ask",
		{"Bash", `{"command":"cd dir && ls | wc -l"}`}: "allow",
	} {
		got := s.judge(toolCall{Name: call[0], Input: []byte(call[1])})
		testkit.Check(t, got.behavior == want, "%s: %s, want %s", call, got.behavior, want)
	}
}
