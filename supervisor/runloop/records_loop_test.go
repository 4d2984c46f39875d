package runloop

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
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
		testkit.Same(t, "strangers told of", 3, told)
		by := map[string]int{}
		for _, r := range kept.records {
			in := testkit.Must(input.DecodeInput(r.Payload))(t)
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

// TestLoopTellsTheEventLog: the log contains what the frontends receive, in the same order, except for pieces
// of text; and a snapshot at the end contains the state after all inputs.
func TestLoopTellsTheEventLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		n := live(t, recorded, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Hour)
		n.loop.Put(input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
			Body: bridge.Delta{Text: "a piece"}}})
		n.loop.Trouble(io.ErrShortWrite) // the loop itself reports this
		time.Sleep(time.Second)
		n.loop.Trouble(nil)
		n.stop()
		var said []contract.Event
		for _, e := range n.events {
			if _, piece := e.Body.(contract.Delta); !piece {
				said = append(said, e)
			}
		}
		if len(said) != len(recorded.told) || len(said) < 6 {
			t.Fatalf("%d events were said, %d are in the log", len(said), len(recorded.told))
		}
		alone := 0
		for i, line := range recorded.told {
			e, err := contract.DecodeLine(line.Line)
			if err != nil || e.Seq != uint64(i+1) || e.Body.EventName() != said[i].Body.EventName() {
				t.Errorf("line %d is %s: %v; said was %+v", i+1, line.Line, err, said[i])
			}
			if line.Input == 0 {
				alone++
			}
		}
		testkit.Same(t, "lines that follow from no input: the trouble and its end", 2, alone)
		var fold supervisor.Replayer
		testkit.OK(t, fold.Take(recorded.snapshot))
		if a, b := fingerprint(t, n.loop.Snapshot()), fingerprint(t, &fold.State); a != b {
			t.Error("the last snapshot is of another state")
		}
	})
}

// TestSnapshotsAreTaken: after so many inputs, and after so many bytes of them.
func TestSnapshotsAreTaken(t *testing.T) {
	for name, text := range map[string]string{"inputs": "x", "bytes": string(bytes.Repeat([]byte("x"), 64<<10))} {
		t.Run(name, func(t *testing.T) {
			recorded := &fakeJournal{forget: true}
			l := NewLoop(policy.Policy{}, func(time.Time, contract.Event) {}, slog.New(slog.DiscardHandler))
			recorded.loop = l
			l.Record(recorded)
			l.applyInput(t.Context(),
				input.Input{At: time.Unix(1, 0),
					Body: input.Began{Options: runconfig.Options{Run: testRun}.WithDefaults()}})
			n := 0
			for recorded.snapshot.Seq == 0 && n < 2*snapshotInputs {
				n++
				l.applyInput(t.Context(),
					input.Input{At: time.Unix(1, 0),
						Body: input.AgentEvent{
							Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
								Body: bridge.Assistant{Text: text}}}})
			}
			if want := min(snapshotInputs, snapshotBytes/len(text)) + 1; n > want || recorded.snapshot.Seq == 0 {
				t.Errorf("after %d inputs of %d bytes there is a snapshot of %d", n, len(text), recorded.snapshot.Seq)
			}
		})
	}
}
