package runloop

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestRecordsSayWhoTheyAreFrom: in a whole run of the loop every record has a sender, records of
// agents with session and generation, and events of unknown agents are dropped.
func TestRecordsSayWhoTheyAreFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &fakeJournal{}
		var answers []string
		port := &fakePort{}
		port.answer = func(f *fakePort, p bridge.MessageParams) {
			for _, ref := range []bridge.AgentRef{{ID: "human", Generation: 1}, {ID: "orch-7", Generation: 1},
				{ID: "arbiter", Generation: 9}} {
				f.event(ref, bridge.Turn{MessageIDs: []string{p.MessageID}, Outcome: bridge.TurnDone,
					Verdict: json.RawMessage(`{"decision":"COMPLETE","message":"m","reason":"r","summary":"s"}`)})
				r, err := f.loop.ToolCall(t.Context(),
					bridge.ToolCallParams{AgentRef: ref, Tool: "spawn_orchestrator",
						Input: json.RawMessage(`{"prompt":"work"}`)})
				q, err2 := f.loop.Permission(t.Context(),
					bridge.PermissionParams{AgentRef: ref, Request: "r-" + ref.String(), Tool: "Read",
						Input: json.RawMessage(`{}`)})
				if err != nil || err2 != nil || !r.IsError || q.Behavior != bridge.Deny {
					t.Errorf("%s: %+v %v, %+v %v", ref, r, err, q, err2)
				}
				answers = append(answers, r.Text)
			}
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}
		n := live(t, kept, port, func(o *runconfig.Options) { o.Task = "build" })
		if exit := n.over(); exit != contract.ExitComplete || len(answers) != 3 {
			t.Fatalf("exit %d, answers %q", exit, answers)
		}
		told := 0
		for _, e := range n.events {
			if b, ok := e.Body.(contract.Error); ok && strings.Contains(b.Message, "was dropped") {
				told++
			}
		}
		if told != 3 {
			t.Errorf("%d strangers were told of, want 3", told)
		}
		by := map[string]int{}
		for _, r := range kept.records {
			in, err := input.DecodeInput(r.Payload)
			if err != nil {
				t.Fatal(err)
			}
			by[in.From.By]++
			if agent := in.From.By == "arbiter"; agent != (in.From.Session != "") || agent != (in.From.Gen == 1) {
				t.Errorf("from %+v: %s", in.From, r.Payload)
			}
		}
		if by["arbiter"] == 0 || by["supervisor"] == 0 || by["human"] != 1 || len(by) != 3 {
			t.Errorf("records by sender: %v", by)
		}
	})
}
