package fakecli

import (
	"encoding/json"
	"testing"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

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
