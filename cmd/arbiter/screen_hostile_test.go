package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// some contains examples of everything that agents should not write, in few characters.
const some = "w\x1b[2J\x1b[H\x1b]0;owned\a\x1b]52;c;b3duZWQ=\a\x1b[6n" +
	"\x1bP$qm\x1b\\\u009b31m\u009d2;owned\u009c[red]tag[-] [\"r\"]in[\"\"] [:::https://evil.example]link[:::-]" +
	"\u202Egnp\u202C \U000E0041e\u0301\u0301\u0301\u0301\u0301\u0301\b\b\b\x7f ▌ You 世界"

// hostilePlay returns the scenario of hostile agents, with fit applied to their texts.
func hostilePlay(t *testing.T, fit func(string) string) string {
	t.Helper()
	raw := testkit.Must(os.ReadFile("testdata/scenarios/hostile.yaml"))(t)
	quote := func(text string) string { // for YAML, and for a template
		quoted := strconv.QuoteToASCII(strings.ReplaceAll(fit(text), "{{", `{{"{{"}}`))
		return quoted[1 : len(quoted)-1]
	}
	var steps strings.Builder
	for i, text := range tuitest.Hostile() {
		if len(text) > 4000 {
			text = strings.ToValidUTF8(text[:4000], "")
		}
		fmt.Fprintf(&steps, "      - {say: \"%d %s\", use: [{tool: Bash, input: {command: \"true\", description: \"%d "+
			"%s\"}}], usage: *usage}\n", i, quote(text), i, quote(text))
	}
	play := strings.Replace(string(raw), "      # STEPS\n", steps.String(), 1)
	word := regexp.MustCompile(`"[^"\n]*SOME[^"\n]*"|\b(It stands\. )?SOME\b`)
	play = word.ReplaceAllStringFunc(play, func(s string) string {
		return `"` + strings.ReplaceAll(strings.Trim(s, `"`), "SOME", quote(some)) + `"`
	})
	return scenarioFile(t, strings.Replace(play, `# "`+quote(some)+`"`, "#", 1))
}

// hostilePlace creates a workspace with hostile names.
func hostilePlace(t *testing.T, fit func(string) string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fit("w\x1b]0;owned\a\x1b[2J[red]\u202Ex"))
	testkit.OK(t, os.Mkdir(dir, 0o700))
	for _, name := range []string{"a\x1b]0;owned\ab.md", "[red]c[-].md", "d\ne\r\u009b2J.md", "\u202Efdm.md",
		"\xff\xfe.md"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("# "+some+"\n"), 0o600))
	}
	return dir
}

// gutter matches the beginning of a row of the conversation.
var gutter = regexp.MustCompile(`^([▌█▸▾ ] |[▌█▸▾]?$)`)

// harmless checks that all output so far is arbiter's own, and that nothing of the agents' text has queried the
// terminal or changed its clipboard or title.
func (p *pane) harmless(where string, s pty.Screen) {
	p.t.Helper()
	out := whole(p.Output())
	faults := pty.FullScreen.Check(out)
	testkit.Need(p.t, faults == nil, "%s: sent %q", where, faults)
	for _, q := range pty.Sequences(out) {
		testkit.Need(p.t, q.Kind != pty.OSC || q.Name == "2" && strings.Contains(q.Data, "arbiter – ") ||
			q.Name == "8" && q.Data == ";" || q.Name == "777" &&
			strings.HasPrefix(q.Data, "notify;Something waits for you;"), "%s: sent %v", where, q)
	}
	testkit.Need(p.t, len(p.Answers()) == 0 && s.Clipboard == "" && !strings.Contains(s.Title, "\x1b"),
		"%s: the terminal answered %q, has %q on its clipboard and the title %q", where, p.Answers(), s.Clipboard,
		s.Title)
	for y, row := range s.Rows() {
		testkit.Need(p.t, sanitize.Text(row) == row, "%s: row %d is %q", where, y, row)
		for _, c := range s.Cells[y] {
			testkit.Need(p.t, c.Link.IsZero() && c.Style.Attrs&(uv.AttrBlink|uv.AttrRapidBlink|uv.AttrConceal) == 0,
				"%s: row %d has %+v", where, y, c)
		}
	}
	above := func(row string) bool { return strings.HasPrefix(row, "────") } // the conversation
	if at := slices.IndexFunc(s.Rows(), above); at > 0 && s.Shows("THE WEAVING") {
		for y := at + 1; !strings.HasPrefix(s.Row(y), "›") && y < len(s.Cells)-1; y++ {
			testkit.Need(p.t, gutter.MatchString(s.Row(y)), "%s: row %d of the conversation is %q", where, y, s.Row(y))
		}
	}
}

// whole returns the output without an incomplete character or sequence at its end.
func whole(out []byte) []byte {
	list := pty.Sequences(out)
	for len(list) > 0 && list[len(list)-1].Kind == pty.Broken {
		out = out[:len(out)-len(list[len(list)-1].Bytes)]
		list = list[:len(list)-1]
	}
	return out
}

// TestHostileTitles: a run with a hostile title is listed, resumed and left.
func TestHostileTitles(t *testing.T) {
	t.Parallel()
	p := show(t, pty.Size{Columns: 100, Rows: 30}, hostilePlace(t, func(s string) string { return s }), nil,
		"--stand-in", "--scenario", scenarioFile(t, brief), "--task", some)
	p.harmless("the end", p.await("It is woven.", "It is done"))
	p.leave()
	next := show(t, pty.Size{Columns: 100, Rows: 30}, p.cmd.Dir, p.cmd.Env, "--stand-in", "--rehearse")
	next.harmless("the oracle", next.await("Speak, mortal.", "F4"))
	next.press("F4")
	next.harmless("the sessions", next.await("[red]tag[-]"))
	next.press("Enter")
	next.harmless("its report", next.await("THE REPORT"))
	next.press("Esc")
	next.await("RUNS")
	next.press("c")
	next.harmless("taken up", next.await("It is woven.", "THE WEAVING"))
	next.leave()
}

// TestHostilePlain: --plain, and arbiter's other output, contain no control characters.
func TestHostilePlain(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := prepare(t, nil, "--plain", "--stand-in", "--scenario", hostilePlay(t, func(text string) string {
		return text
	}), "--task", some, "--allow", "Write")
	s.cmd.Dir = hostilePlace(t, func(text string) string { return text })
	var out bytes.Buffer
	s.cmd.Stdout = &out
	if err := s.cmd.Run(); err != nil || s.cmd.ProcessState.ExitCode() != int(contract.ExitComplete) {
		t.Errorf("%v\n%s\n%s", err, out.String(), s.stderr.String())
	}
	for name, text := range map[string]string{"stdout": out.String(), "stderr": s.stderr.String()} {
		testkit.Check(t, sanitize.Text(text) == text && len(text) != 0, "%s: %.2000q", name, text)
		faults := (pty.OutputRules{Controls: "\n\t"}).Check([]byte(text))
		testkit.Check(t, faults == nil, "%s has %q", name, faults)
	}
}

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
	testkit.Need(t, run != nil, "no run: %s%s", out.String(), s.stderr.String())
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
