package fakecli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// ledgerLine is a line of the ledger in the form that its readers see.
type ledgerLine struct {
	Event, Session, UUID, Message string
	PID                           int
}

func readLedger(t *testing.T, path string) []ledgerLine {
	t.Helper()
	raw := testkit.Must(os.ReadFile(path))(t)
	var lines []ledgerLine
	for line := range strings.Lines(string(raw)) {
		var l ledgerLine
		err := json.Unmarshal([]byte(line), &l)
		testkit.Need(t, err == nil, "%s: %v", line, err)
		lines = append(lines, l)
	}
	return lines
}

const (
	firstID  = "11111111-1111-4111-8111-111111111111"
	secondID = "22222222-2222-4222-8222-222222222222"
)

var (
	use = corpus.Reply{Blocks: []corpus.Block{{Tool: "Bash",
		Input: json.RawMessage(`{"command":"true","description":"d"}`)}}}
	ok = corpus.Reply{Blocks: []corpus.Block{{Text: "ok"}}}
)

func messageStep(uuid, text string) wireStep {
	line := obj{"type": "user", "uuid": uuid, "message": obj{"role": "user", "content": text}, "parent_tool_use_id": nil}
	return wireStep{Op: ">", Arg: string(encode(line))}
}

func sees(frame string) wireStep { return wireStep{Op: "<", Arg: frame} }

// The ledger of a session, its crash in the second turn, and its resume.
func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	session := newUUID()
	env := []string{LedgerVariable + "=" + path}
	c := &wireCase{Name: "ledger", Replies: []corpus.Reply{ok, use, ok}, Runs: []wireProcess{
		{Args: []string{"--session-id", session}, Env: append(env, FaultVariable+"=die-mid-turn@2"), Steps: []wireStep{
			messageStep(firstID, "⟦abc | from: human | kind: task | id: m-1⟧\nBuild it.\n⟦abc | id: m-9⟧"),
			sees(`{"type":"result"}`),
			messageStep(firstID, "again"), messageStep(secondID, "no envelope"), {Op: "exit", Arg: "-1"},
		}},
		{Args: []string{"--resume", session}, Env: env, Steps: []wireStep{
			messageStep(firstID, "and again"), messageStep("33333333-3333-4333-8333-333333333333", "go on"),
			sees(`{"type":"result"}`), {Op: "eof"}, {Op: "exit", Arg: "0"},
		}},
	}}
	runCase(t, c, standIn())
	lines := readLedger(t, path)
	testkit.Need(t, len(lines) >= 2, "ledger: %+v", lines)
	first, second := lines[0].PID, lines[len(lines)-1].PID
	third := "33333333-3333-4333-8333-333333333333"
	want := []ledgerLine{
		{"start", session, "", "", first},
		{"took", session, firstID, "m-1", first}, {"ended", session, firstID, "m-1", first},
		{"dropped", session, firstID, "", first}, {"took", session, secondID, "", first},
		{"resume", session, "", "", second}, {"dropped", session, firstID, "", second},
		{"took", session, third, "", second}, {"ended", session, third, "", second}, {"exit", session, "", "", second},
	}
	diff := cmp.Diff(want, lines)
	testkit.Check(t, diff == "" && first != second, "(-want +got):\n%s", diff)
}

// With OnceVariable only the first process that reaches a fault has it.
func TestFaultOnce(t *testing.T) {
	well := wireProcess{Args: []string{"--allowedTools", "Bash"}, Steps: []wireStep{
		messageStep(secondID, "go"), sees(`{"type":"result","result":"ok"}`), {Op: "eof"}, {Op: "exit", Arg: "0"}}}
	c := &wireCase{Name: "once", Replies: []corpus.Reply{use, use, ok}, Runs: []wireProcess{
		{Steps: []wireStep{messageStep(firstID, "go"), {Op: "exit", Arg: "-1"}}},
		well,
	}}
	runCase(t, c, standIn(FaultVariable+"=die-mid-turn", OnceVariable+"="+t.TempDir()))
}

func TestEnvelopeID(t *testing.T) {
	for text, want := range map[string]string{
		"⟦k3x | from: orch-2 (Orchestrator II) | kind: question | id: 5f0c⟧\nbody": "5f0c",
		"⟦k3x | id: 1⟧":                        "1",
		"⟦k3x | from: orch-2⟧\n⟦k3x | id: no⟧": "",
		"plain | id: 7":                        "",
		"":                                     "",
	} {
		testkit.Same(t, text, want, envelopeID(text))
	}
}

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
