package supervisor

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// longJournal is the journal of a run of so many turns of an Orchestrator, with what
// it says and does on the way: about 25 records a turn.
func longJournal(b *testing.B, turns int) (list []journal.Record, size int64) {
	var inputs []input.Input
	var s State
	at := time.Unix(1_800_000_000, 0)
	do := func(f input.Fact) {
		at = at.Add(time.Second)
		in := input.Input{At: at, Fact: f}
		inputs = append(inputs, in)
		s, _ = Apply(s, in)
	}
	agent := func(i int) roster.Agent { return *s.Agents[i] }
	happen := func(i int, body bridge.EventBody) {
		do(input.Happened{Event: bridge.Event{AgentRef: agent(i).AgentRef, Body: body}})
	}
	turn := func(i int, verdict string) {
		ids := agent(i).Turn
		for _, id := range ids {
			happen(i, bridge.Delivered{MessageID: id, Proof: "lifecycle"})
		}
		happen(i, bridge.Turn{MessageIDs: ids, Outcome: bridge.TurnDone, Verdict: json.RawMessage(verdict), CostUSD: 0.01})
	}
	do(input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", Task: "build", HumanPresent: true, MaxExchanges: 1 << 30}.WithDefaults()})
	do(input.Spawned{Agent: agent(0).AgentRef})
	do(input.ToolCalled{Call: "c", Params: bridge.ToolCallParams{AgentRef: agent(0).AgentRef, Tool: "spawn_orchestrator", Input: json.RawMessage(`{"prompt":"work"}`)}})
	do(input.Spawned{Agent: agent(1).AgentRef})
	turn(0, `{"decision":"CONTINUE","message":"m","reason":"r"}`)
	text := strings.Repeat("some words ", 40)
	for range turns {
		for range 7 {
			happen(1, bridge.Assistant{Text: text})
			happen(1, bridge.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"make test"}`)})
			happen(1, bridge.ToolResult{Text: text + text})
		}
		happen(1, bridge.Context{Tokens: 1000, Window: 200_000, Pct: 0.5})
		turn(1, `{"expects_response":false,"message":"on the way","kind":"progress"}`)
		if len(s.Conversation.WorkLog) > 20 {
			turn(1, `{"expects_response":true,"message":"May I?","kind":"question"}`)
			turn(0, `{"decision":"ADDRESS_ORCHESTRATOR","message":"Go on.","reason":"r","to":"orch-1"}`)
		}
	}
	list = records(b, inputs)
	for _, r := range list {
		size += int64(len(r.Payload))
	}
	return list, size
}

// BenchmarkFold makes a state of a long journal in memory, as a resume does. The
// baseline is json.Valid over the same bytes: a look at each, and nothing else.
func BenchmarkFold(b *testing.B) {
	list, size := longJournal(b, 2000)
	b.Run("state", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			var fold Fold
			for _, r := range list {
				if err := fold.Take(r); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(list)), "records")
	})
	b.Run("events", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			var fold Fold
			for _, r := range list {
				if _, err := fold.Replay(r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("baseline=json.Valid", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			for _, r := range list {
				if !json.Valid(r.Payload) {
					b.Fatal("not valid")
				}
			}
		}
	})
}

// BenchmarkEncodeInput is what each input costs before it is buffered for the disk.
func BenchmarkEncodeInput(b *testing.B) {
	ref := bridge.AgentRef{ID: "orch-1", Generation: 1}
	text := strings.Repeat("some words ", 90)
	for name, f := range map[string]input.Fact{
		"commanded":   input.Commanded{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r", Body: contract.Say{Text: "Port 8080, and mind the tests."}}},
		"assistant":   input.Happened{Event: bridge.Event{AgentRef: ref, Body: bridge.Assistant{Text: text}}},
		"turn":        input.Happened{Event: bridge.Event{AgentRef: ref, Body: bridge.Turn{MessageIDs: []string{"m"}, Outcome: bridge.TurnDone, Verdict: json.RawMessage(`{"expects_response":false,"message":"on the way","kind":"progress"}`)}}},
		"permission":  input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: ref, Request: "p", Tool: "Bash", Input: json.RawMessage(`{"command":"make && ls"}`)}, Behavior: "ask"},
		"rang":        input.Rang{Key: "watch/orch-1/1"},
		"tool_called": input.ToolCalled{Call: "c", Params: bridge.ToolCallParams{AgentRef: ref, Tool: "status", Input: json.RawMessage(`{}`)}},
	} {
		b.Run(name, func(b *testing.B) {
			in := input.Input{At: time.Unix(1_800_000_000, 0), Fact: f}
			b.ReportAllocs()
			for b.Loop() {
				raw, err := input.EncodeInput(in)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(raw)))
			}
		})
	}
}
