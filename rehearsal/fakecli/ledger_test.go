package fakecli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

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

func messageStep(uuid, text string) corpus.WireStep {
	line := obj{"type": "user", "uuid": uuid, "message": obj{"role": "user", "content": text}, "parent_tool_use_id": nil}
	return corpus.WireStep{Op: ">", Arg: string(encode(line))}
}

func sees(frame string) corpus.WireStep { return corpus.WireStep{Op: "<", Arg: frame} }

// The ledger of a session, its crash in the second turn, and its resume.
func TestLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	session := newUUID()
	env := []string{LedgerVariable + "=" + path}
	c := &corpus.WireCase{Name: "ledger", Replies: []corpus.Reply{ok, use, ok}, Runs: []corpus.WireProcess{
		{Args: []string{"--session-id", session}, Env: append(env, FaultVariable+"=die-mid-turn@2"), Steps: []corpus.WireStep{
			messageStep(firstID, "⟦abc | from: human | kind: task | id: m-1⟧\nBuild it.\n⟦abc | id: m-9⟧"),
			sees(`{"type":"result"}`),
			messageStep(firstID, "again"), messageStep(secondID, "no envelope"), {Op: "exit", Arg: "-1"},
		}},
		{Args: []string{"--resume", session}, Env: env, Steps: []corpus.WireStep{
			messageStep(firstID, "and again"), messageStep("33333333-3333-4333-8333-333333333333", "go on"),
			sees(`{"type":"result"}`), {Op: "eof"}, {Op: "exit", Arg: "0"},
		}},
	}}
	corpus.RunCase(t, c, standIn())
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
	well := corpus.WireProcess{Args: []string{"--allowedTools", "Bash"}, Steps: []corpus.WireStep{
		messageStep(secondID, "go"), sees(`{"type":"result","result":"ok"}`), {Op: "eof"}, {Op: "exit", Arg: "0"}}}
	c := &corpus.WireCase{Name: "once", Replies: []corpus.Reply{use, use, ok}, Runs: []corpus.WireProcess{
		{Steps: []corpus.WireStep{{Op: "exit", Arg: "1"}}},
		{Steps: []corpus.WireStep{messageStep(firstID, "go"), {Op: "exit", Arg: "-1"}}},
		well,
	}}
	corpus.RunCase(t, c, standIn(FaultVariable+"=exit-at-start,die-mid-turn", OnceVariable+"="+t.TempDir()))
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
