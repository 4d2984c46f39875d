package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
)

// agentFiles are the files of a workspace, by their path below .claude/agents. The names of files that Claude
// Code accepts and arbiter rejects begin with ~; the documentation of the package agents lists these cases.
var agentFiles = map[string]string{
	"plain.md":      "---\nname: plain\ndescription: d\n---\nx\n",
	"sub/deep/n.md": "---\nname: nested\ndescription: d\n---\nx\n",
	".hidden/h.md":  "---\nname: hidden\ndescription: d\n---\nx\n",
	"crlf.md":       "---\r\nname: crlf\r\ndescription: d\r\n---\r\nx\r\n",
	"bom.md":        "\xef\xbb\xbf---\nname: bom\ndescription: d\n---\nx\n",
	"closed.md":     "---\nname: closed\ndescription: d\n---",
	"fences.md":     "--- \nname: fences\ndescription: d\n--- \nx",
	"blank.md":      "---\nname: two words\ndescription: d\n---\nx\n",
	"dots.md":       "---\nname: A_1.b-c\ndescription: d\n---\nx\n",
	"colon.md":      "---\nname: colon\ndescription: Use when: it's \"so\"\n---\nx\n",
	"example.md": "---\nname: example\ndescription: Use: <example>a: b</example>\\nand then\ntools: Read, " +
		"Bash\n---\nx\n",
	"folded.md":        "---\nname: folded\ndescription: >\n  a\n  b\n---\nx\n",
	"hash.md":          "---\nname: hash\ndescription: a # b\n---\nx\n",
	"tools.md":         "---\nname: tools\ndescription: d\ntools: Read, Bash(git log, git show)\n---\nx\n",
	"list.md":          "---\nname: list\ndescription: d\ntools: [Read, \"Bash(git *)\"]\n---\nx\n",
	"model.md":         "---\nname: model\ndescription: d\nmodel: opus\n---\nx\n",
	"ours.md":          "---\nname: ours\ndescription: d\nmaxCost: 2.5\ntimeout: 1h\n---\nx\n",
	"empty.md":         "",
	"bare.md":          "x\n",
	"unclosed.md":      "---\nname: unclosed\ndescription: d\n",
	"unnamed.md":       "---\ndescription: d\n---\nx\n",
	"undescribed.md":   "---\nname: undescribed\n---\nx\n",
	"number.md":        "---\nname: 12\ndescription: d\n---\nx\n",
	"mapped.md":        "---\nname: mapped\ndescription: [a, b]\n---\nx\n",
	"scoped.md":        "---\nname: \"a:b\"\ndescription: d\n---\nx\n",
	"before.md":        "\n---\nname: before\ndescription: d\n---\nx\n",
	"other.MD":         "---\nname: other\ndescription: d\n---\nx\n",
	"~comma.md":        "---\nname: \"a,b\"\ndescription: d\n---\nx\n",
	"~star.md":         "---\nname: \"a*\"\ndescription: d\n---\nx\n",
	"~line.md":         "---\nname: \"a\\nb\"\ndescription: d\n---\nx\n",
	"~utf8.md":         "---\nname: utf8\ndescription: \xff\n---\nx\n",
	"~twice.md":        "---\nname: once\nname: twice\ndescription: d\n---\nx\n",
	"~alias.md":        "---\nname: &a alias\ndescription: *a\n---\nx\n",
	"~case.md":         "---\nname: case\ndescription: d\ntools: read\n---\nx\n",
	"~effort.md":       "---\nname: effort\ndescription: d\neffort: gigantic\n---\nx\n",
	"~large.md":        "---\nname: large\ndescription: d\n---\n" + strings.Repeat("x", agents.MaxFile),
	"~unreadable.md":   "---\nname: [\ndescription: d\n---\nx\n",
	"~slip.md":         "---\nname: slip\ndescription: d\ndisallowed-tools: Write\n---\nx\n",
	"~noNumber.md":     "---\nname: noNumber\ndescription: d\nmaxTurns: many\n---\nx\n",
	"~tag.md":          "---\nname: \"tag\U000E0041\"\ndescription: d\n---\nx\n",
	"~toolsNumber.md":  "---\nname: toolsNumber\ndescription: d\ntools: 3\n---\nx\n",
	"~toolsNothing.md": "---\nname: toolsNothing\ndescription: d\ntools: []\n---\nx\n",
}

// TestAgentFilesLikeClaude: arbiter accepts the same agent files as the real CLI, except for the
// differences that the documentation lists.
func TestAgentFilesLikeClaude(t *testing.T) {
	testkit.Long(t)
	claude := neededClaude(t)
	home := t.TempDir()
	repo := filepath.Join(home, "repo")
	write := func(path, src string) {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(src), 0o600))
	}
	cwd := filepath.Join(repo, "a", "b")
	for path, src := range agentFiles {
		write(filepath.Join(cwd, ".claude", "agents", path), src)
	}
	for dir, from := range map[string]string{home: "the user", repo: "the root", filepath.Join(repo, "a"): "between",
		cwd: "here"} {
		write(filepath.Join(dir, ".claude", "agents", "shared.md"), "---\nname: shared\ndescription: from "+from+
			"\n---\nx\n")
		write(filepath.Join(dir, ".claude", "agents", "from.md"), "---\nname: "+from+"\ndescription: d\n---\nx\n")
	}
	testkit.OK(t, os.Mkdir(filepath.Join(repo, ".git"), 0o700))

	env := map[string]string{"HOME": home}
	found := agents.Discover(agents.UserPlaces(cwd, true, func(k string) string { return env[k] }))
	ours := map[string]string{}
	for _, a := range found.Agents {
		if a.Source != agents.BuiltinSource {
			ours[a.Name] = strings.TrimSpace(a.Description)
		}
	}
	theirs := claudesAgents(t, claude, home, cwd)
	stricter := map[string]bool{"a,b": true, "a*": true, "a\nb": true, "utf8": true, "twice": true, "alias": true,
		"case": true, "effort": true, "large": true, "[": true, "slip": true, "noNumber": true, "tag\U000E0041": true,
		"toolsNumber": true, "toolsNothing": true}
	for name := range stricter {
		_, ok := theirs[name]
		testkit.Check(t, ok, "the CLI does not take %q either: the documentation is out of date", name)
		delete(theirs, name)
	}
	for _, name := range []string{"claude", "Explore", "Plan", "general-purpose", "statusline-setup"} { // built in
		delete(theirs, name)
	}
	testkit.Same(t, "the CLI's (-) and arbiter's (+)", theirs, ours)
}

// claudesAgents are the names and descriptions that the CLI reports when it is initialized.
func claudesAgents(t *testing.T, claude, home, cwd string) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json",
		"--verbose", "--permission-mode", "default", "--setting-sources", "user,project")
	cmd.Dir = cwd
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-rehearsal-0000",
		"ANTHROPIC_BASE_URL=http://127.0.0.1:9", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	stdin := testkit.Must(cmd.StdinPipe())(t)
	stdout := testkit.Must(cmd.StdoutPipe())(t)
	testkit.OK(t, cmd.Start())
	defer func() {
		stdin.Close()
		testkit.Works(t, "claude", cmd.Wait())
	}()
	testkit.Must(stdin.Write([]byte(`{"type":"control_request","request_id":"one","request":{"subtype":"initialize"}}` +
		"\n")))(t)
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var frame struct {
			Type     string
			Response struct {
				Response struct {
					Agents []struct{ Name, Description string }
				}
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &frame); err != nil || frame.Type != "control_response" {
			continue
		}
		list := map[string]string{}
		for _, a := range frame.Response.Response.Agents {
			list[a.Name] = strings.TrimSpace(a.Description)
		}
		return list
	}
	t.Fatalf("no answer to initialize: %v", lines.Err())
	return nil
}
