package supervisor

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// weave is a run without an end, input by input: an Orchestrator works, and the Arbiter rules.
func weave(b *testing.B, inputs int, take func(input.Input)) {
	b.Helper()
	var s State
	at, n := time.Unix(1_800_000_000, 0), 0
	var do func(input.Body)
	do = func(f input.Body) {
		if n == inputs {
			return
		}
		n++
		at = at.Add(time.Second)
		in := input.Input{At: at, Body: f}
		var out []input.Effect
		s, out = Apply(s, in)
		take(in)
		for _, e := range out {
			if note, ok := e.(input.Note); ok {
				do(input.Decided(note.Decision)) // as the loop records it
			}
		}
	}
	happen := func(i int, body bridge.EventBody) {
		do(byBridge(s.Agents[i].AgentRef, body))
	}
	turn := func(i int, verdict string) {
		ids := s.Agents[i].Turn
		for _, id := range ids {
			happen(i, bridge.Delivered{MessageID: id, Proof: "lifecycle"})
		}
		happen(i, bridge.Turn{MessageIDs: ids, Outcome: bridge.TurnDone, Verdict: json.RawMessage(verdict), CostUSD: 0.01,
			Tools: 5})
	}
	do(input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", Task: "build", HumanPresent: true,
		MaxExchanges: 1 << 30, MaxIterations: 1 << 30}.WithDefaults()})
	do(input.Spawned{Agent: s.Agents[0].AgentRef})
	turn(0, `{"decision":"SELECT_MODE","message":"work","reason":"r","mode":"developer"}`)
	do(input.Spawned{Agent: s.Agents[1].AgentRef})
	done := `{"expects_response":true,"message":"done","kind":"done","handoff":{"accomplished":["a"],"remaining":[],"key_context":"k","decisions":[],"constraints":[],"files":[],"checks":[],"open_questions":[],"claims":[]}}`
	text := strings.Repeat("words ", 12)
	for n < inputs {
		for range 5 {
			happen(1, bridge.Assistant{Text: text})
			happen(1, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: json.RawMessage(`{"command":"make test"}`)})
			happen(1, bridge.ToolResult{ToolUse: "t", Text: text})
			happen(1, bridge.Context{Tokens: 1000, Window: 200_000, Pct: 0.5})
		}
		turn(1, `{"expects_response":false,"message":"on the way","kind":"progress"}`)
		turn(1, done)
		turn(0, `{"decision":"CONTINUE","message":"Go on.","reason":"r","to":"orch-1"}`)
	}
}

// BenchmarkResumeMillion resumes a run of 1,000,000 events, up to the first state: from the last snapshot and
// the inputs after it. The baseline is the replay of all its inputs, except those that are only informative.
func BenchmarkResumeMillion(b *testing.B) {
	const events = 1_000_000
	dir := b.TempDir()
	store, err := journal.OpenStore(dir)
	testkit.OK(b, err)
	defer store.Close()
	big := journal.Options{MaxBytes: 4 << 30}
	snapped := millionEvents(b, store, testRun, events, big, 4000)
	whole := millionEvents(b, store, "whole", events, big, 0)
	testkit.OK(b, errors.Join(snapped.Close(), whole.Close()))
	var resumed, replayed time.Duration
	var resumedBytes, replayedBytes uint64
	took := func(sum *time.Duration, bytes *uint64, do func()) {
		var was, is runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&was)
		began := time.Now()
		do()
		*sum += time.Since(began)
		runtime.ReadMemStats(&is)
		*bytes += is.TotalAlloc - was.TotalAlloc
	}
	for b.Loop() {
		var got State
		var run *journal.Run
		took(&resumed, &resumedBytes, func() {
			run, _, err = store.Open(testRun, 0, big, func(r *journal.Recovered) (snapshot []byte, err error) {
				got, snapshot, err = Restore(r, RecordEvents)
				return snapshot, err
			})
		})
		testkit.OK(b, errors.Join(err, run.Close()))
		var fold Replayer
		took(&replayed, &replayedBytes, func() {
			_, err = store.Read("whole", func(r journal.Record) error {
				if r.Kind == journal.Narration {
					return nil
				}
				return fold.Take(r)
			})
		})
		testkit.Need(b, err == nil && fold.State.Task.History.Len() != 0 &&
			cmp.Equal(fold.State.Task.History, got.Task.History), "the states differ: %v", err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(resumed.Seconds()*1000/float64(b.N), "resume-ms")
	b.ReportMetric(replayed.Seconds()*1000/float64(b.N), "replay-ms")
	b.ReportMetric(float64(replayed)/float64(resumed), "×faster")
	b.ReportMetric(float64(resumedBytes)/float64(b.N)/(1<<20), "resume-MB")
	b.ReportMetric(float64(replayedBytes)/float64(b.N)/(1<<20), "replay-MB")
}

// millionEvents writes a run like the loop does, with a snapshot after so many inputs; 0: none.
func millionEvents(b *testing.B, store *journal.Store, id string, events int, o journal.Options,
	snapshots int) *journal.Run {
	b.Helper()
	run := testkit.Must(store.Create(journal.Meta{Run: id}, o))(b)
	var s State
	var telling LogEncoder
	n := 0
	weave(b, events, func(in input.Input) {
		payload := testkit.Must(input.EncodeInput(in))(b)
		kind := journal.Input
		if input.Narrates(in.Body) {
			kind = journal.Narration
		}
		seq := testkit.Must(run.Append(kind, payload))(b)
		var out []input.Effect
		s, out = Apply(s, in)
		if n++; n%10_000 == 0 {
			testkit.OK(b, run.Sync(b.Context()))
		}
		if snapshots == 0 {
			return
		}
		for _, x := range RecordEvents(nil, Replayed{Input: in, Effects: out}, nil) {
			line, err := telling.Content(seq, in.At, x)
			if err == nil {
				err = run.AppendEvents(line)
			}
			testkit.OK(b, err)
		}
		if n%snapshots == 0 {
			run.Snapshot(Snapshot{State: s, Seq: telling.Seq}.Encode)
		}
	})
	return run
}
