package supervisor

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// BenchmarkApplyEvents applies what a run of 400 turns was told: what agents say and do on
// the way, and the rest. The baseline is decoding the same facts, which whoever applies
// them has to do first.
func BenchmarkApplyEvents(b *testing.B) {
	list, _ := longJournal(b, 400)
	var raw [2][][]byte
	var inputs [2][]Input
	for _, r := range list {
		in, err := DecodeInput(r.Payload)
		if err != nil {
			b.Fatal(err)
		}
		kind := 0
		if !Narrates(in.Fact) {
			kind = 1
		}
		raw[kind], inputs[kind] = append(raw[kind], r.Payload), append(inputs[kind], in)
	}
	for kind, name := range []string{"narration", "turns"} {
		b.Run(name, func(b *testing.B) {
			var midway State
			for _, in := range inputs[1][:len(inputs[1])/2] {
				midway, _ = Apply(midway, in)
			}
			var applied, decoded time.Duration
			var was, is runtime.MemStats
			allocs := uint64(0)
			for b.Loop() {
				s := midway // what only tells fits any state
				if kind == 1 {
					s = State{}
				}
				runtime.ReadMemStats(&was)
				began := time.Now()
				for _, in := range inputs[kind] {
					s, _ = Apply(s, in)
				}
				applied += time.Since(began)
				runtime.ReadMemStats(&is)
				allocs += is.Mallocs - was.Mallocs
				began = time.Now()
				for _, payload := range raw[kind] {
					if _, err := DecodeInput(payload); err != nil {
						b.Fatal(err)
					}
				}
				decoded += time.Since(began)
			}
			events := float64(len(inputs[kind]) * b.N)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(events/applied.Seconds(), "events/s")
			b.ReportMetric(float64(allocs)/events, "allocs/event")
			b.ReportMetric(events/decoded.Seconds(), "decode-events/s")
			b.ReportMetric(float64(applied)/float64(decoded), "×decode")
		})
	}
}

// weave is a run without an end, fact by fact: an Orchestrator works, and the Arbiter rules.
func weave(b *testing.B, facts int, take func(Input)) {
	b.Helper()
	var s State
	at, n := time.Unix(1_800_000_000, 0), 0
	var do func(Fact)
	do = func(f Fact) {
		if n == facts {
			return
		}
		n++
		at = at.Add(time.Second)
		in := Input{At: at, Fact: f}
		var out []Effect
		s, out = Apply(s, in)
		take(in)
		for _, e := range out {
			if note, ok := e.(Note); ok {
				do(note.Decision) // as the loop records it
			}
		}
	}
	happen := func(i int, body bridge.EventBody) {
		do(Happened{bridge.Event{AgentRef: s.Agents[i].AgentRef, Body: body}})
	}
	turn := func(i int, verdict string) {
		ids := s.Agents[i].Turn
		for _, id := range ids {
			happen(i, bridge.Delivered{MessageID: id, Proof: "lifecycle"})
		}
		happen(i, bridge.Turn{MessageIDs: ids, Outcome: bridge.TurnDone, Verdict: json.RawMessage(verdict), CostUSD: 0.01, Tools: 5})
	}
	do(Began{Options: Options{Run: testRun, Delimiter: "d", Task: "build", HumanPresent: true, MaxExchanges: 1 << 30, MaxIterations: 1 << 30}.WithDefaults()})
	do(Spawned{Agent: s.Agents[0].AgentRef})
	turn(0, `{"decision":"SELECT_MODE","message":"work","reason":"r","mode":"developer"}`)
	do(Spawned{Agent: s.Agents[1].AgentRef})
	done := `{"expects_response":true,"message":"done","kind":"done","handoff":{"accomplished":["a"],"remaining":[],"key_context":"k","decisions":[],"constraints":[],"files":[],"checks":[],"open_questions":[],"claims":[]}}`
	text := strings.Repeat("words ", 12)
	for n < facts {
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

// BenchmarkFoldMillion takes a run of 1,000,000 events up from its journal on the disk, as
// a resume does. The baseline is reading the files.
func BenchmarkFoldMillion(b *testing.B) {
	const events = 1_000_000
	dir := b.TempDir()
	store, err := journal.OpenStore(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	big := journal.Options{NarrationBytes: 4 << 30, MaxBytes: 4 << 30}
	run, err := store.Create(journal.Meta{Run: testRun}, big)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	weave(b, events, func(in Input) {
		payload, err := EncodeInput(in)
		if err != nil {
			b.Fatal(err)
		}
		kind := journal.Fact
		if Narrates(in.Fact) {
			kind = journal.Narration
		}
		if _, err := run.Append(kind, payload); err != nil {
			b.Fatal(err)
		}
		if n++; n%10_000 == 0 {
			if err := run.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	if err := run.Close(); err != nil {
		b.Fatal(err)
	}
	var folded, read time.Duration
	var size int64
	facts := 0
	for b.Loop() {
		began := time.Now()
		run, _, err := store.Open(testRun, 0, big)
		if err != nil {
			b.Fatal(err)
		}
		var fold Fold
		if err := run.Records(fold.Take); err != nil {
			b.Fatal(err)
		}
		folded += time.Since(began)
		if facts = fold.Records; fold.State.History.Len() == 0 {
			b.Fatal("nothing was executed")
		}
		if err := run.Close(); err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		size = readTree(b, dir)
		read += time.Since(began)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(size)/(1<<20), "MB")
	b.ReportMetric(float64(facts), "facts-folded")
	b.ReportMetric(folded.Seconds()*1000/float64(b.N), "fold-ms")
	b.ReportMetric(read.Seconds()*1000/float64(b.N), "read-ms")
	b.ReportMetric(events*float64(b.N)/folded.Seconds(), "events/s")
	b.ReportMetric(float64(folded)/float64(read), "×read")
}

func readTree(b *testing.B, dir string) (size int64) {
	buffer := make([]byte, 1<<20)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buffer)
		size += n
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}
