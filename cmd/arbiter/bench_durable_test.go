package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// still is a bridge whose agents come up and never say anything.
type still struct{}

var errStill = errors.New("nobody is there")

func (still) Spawn(_ context.Context, p bridge.SpawnParams) (bridge.SpawnResult, error) {
	return bridge.SpawnResult{SessionID: p.Config.SessionID, Window: 200_000}, nil
}
func (still) Message(context.Context, bridge.MessageParams) error { return nil }
func (still) Interrupt(context.Context, bridge.AgentRef) (bridge.InterruptResult, error) {
	return bridge.InterruptResult{}, errStill
}
func (still) Kill(context.Context, bridge.KillParams) error { return nil }
func (still) Ask(context.Context, bridge.AskParams) (bridge.AskResult, error) {
	return bridge.AskResult{}, errStill
}
func (still) Configure(context.Context, bridge.ConfigureParams) error { return nil }
func (still) Check(context.Context, bridge.CheckParams) (bridge.CheckResult, error) {
	return bridge.CheckResult{}, errStill
}
func (still) PTYOpen(context.Context, bridge.PTYOpenParams) (bridge.PTYOpenResult, error) {
	return bridge.PTYOpenResult{}, nil
}
func (still) PTYClose(context.Context, bridge.AgentRef) error { return nil }
func (still) Survey(context.Context, bridge.InspectParams) (bridge.InspectResult, error) {
	return bridge.InspectResult{}, errStill
}
func (still) Probe(context.Context, bridge.AgentRef) (bridge.ProbeResult, error) {
	return bridge.ProbeResult{Answered: true}, nil
}
func (still) Shutdown(context.Context, bridge.ShutdownParams) (bridge.ShutdownResult, error) {
	return bridge.ShutdownResult{}, nil
}

// BenchmarkAccepted is a command on its way through the loop to `accepted`, which
// means on disk, with so many that do not wait for each other. The baseline, on the
// same disk in the same run, is a plain append and fsync for each.
func BenchmarkAccepted(b *testing.B) {
	for _, window := range []int{1, 64} {
		b.Run(fmt.Sprintf("window-%d", window), func(b *testing.B) {
			dir := b.TempDir()
			took := acceptAll(b, dir, window, b.N)
			b.StopTimer()
			elapsed := b.Elapsed()
			plain := plainAppends(b, dir, min(b.N, 2000))
			rate := float64(b.N) / elapsed.Seconds()
			plainRate := 1 / (sum(plain).Seconds() / float64(len(plain)))
			b.ReportMetric(rate, "accepted/s")
			b.ReportMetric(ms(quantile(took, 0.5)), "p50-ms")
			b.ReportMetric(ms(quantile(took, 0.99)), "p99-ms")
			b.ReportMetric(plainRate, "plain/s")
			b.ReportMetric(ms(quantile(plain, 0.99)), "plain-p99-ms")
			b.ReportMetric(rate/plainRate, "×plain")
		})
	}
}

func sum(times []time.Duration) (total time.Duration) {
	for _, t := range times {
		total += t
	}
	return total
}

func acceptAll(b *testing.B, dir string, window, n int) []time.Duration {
	b.Helper()
	store, err := journal.OpenStore(filepath.Join(dir, "state"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var loop *runloop.Loop
	book, err := store.Create(journal.Meta{Run: "bench", CWD: dir}, journal.Options{
		Committed: func(upTo uint64) { loop.Committed(upTo) },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer book.Close()
	sent, took := make([]time.Time, n), make([]time.Duration, 0, n)
	slots, done := make(chan struct{}, window), make(chan struct{})
	sink := func(_ time.Time, e contract.Event) {
		if _, ok := e.Body.(contract.Accepted); ok {
			took = append(took, time.Since(sent[len(took)]))
			<-slots
			if len(took) == n {
				close(done)
			}
		}
	}
	loop = runloop.NewLoop(policy.Policy{}, sink, slog.New(slog.DiscardHandler))
	loop.Record(book)
	var wg sync.WaitGroup
	options := runconfig.Options{Run: "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11", Delimiter: "d", CWD: dir, HumanPresent: true}.WithDefaults()
	wg.Go(func() { loop.Run(b.Context(), still{}, input.Began{Options: options}) })
	b.ResetTimer()
	text := strings.Repeat("x", 400)
	for i := range n {
		slots <- struct{}{}
		sent[i] = time.Now()
		// A plan is kept whole, and nothing of it waits for an agent.
		loop.Put(input.Commanded{Channel: input.ChannelStdin, Command: contract.Command{Ref: text, Body: contract.Pause{}}})
	}
	<-done
	b.StopTimer()
	loop.Put(input.Signalled{Signal: "INT"})
	wg.Wait()
	b.StartTimer()
	return took
}

func plainAppends(b *testing.B, dir string, n int) []time.Duration {
	b.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "plain"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 500) + "\n")
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		times[i] = time.Since(began)
	}
	return times
}

// BenchmarkResume100MB takes up a run that has recorded 100 MB, as long work does, to its first
// state. The baseline is reading what is left of its journal.
func BenchmarkResume100MB(b *testing.B) {
	dir := b.TempDir()
	size := longJournal(b, dir, 100<<20)
	var fold, raw []time.Duration
	records := 0
	for b.Loop() {
		began := time.Now()
		records = resumeOnce(b, dir)
		fold = append(fold, time.Since(began))
		began = time.Now()
		readAll(b, dir)
		raw = append(raw, time.Since(began))
	}
	b.ReportMetric(float64(size)/(1<<20), "MB")
	b.ReportMetric(float64(records), "inputs")
	b.ReportMetric(ms(quantile(fold, 0.5)), "resume-ms")
	b.ReportMetric(ms(quantile(raw, 0.5)), "read-ms")
	b.ReportMetric(float64(quantile(fold, 0.5))/float64(quantile(raw, 0.5)), "×read")
}

// longJournal writes turns as they are: eight tool calls with results of some
// kilobytes, a few words, a reading of the context each, and a verdict.
func longJournal(b *testing.B, dir string, size int) (written int) {
	b.Helper()
	store, err := journal.OpenStore(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	book, err := store.Create(journal.Meta{Run: "bench", CWD: dir}, journal.Options{MaxPending: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	at := time.Unix(1_800_000_000, 0)
	var s supervisor.State
	var telling supervisor.Telling
	var put func(input.Fact)
	put = func(f input.Fact) {
		at = at.Add(time.Second)
		in := input.Input{At: at, Fact: f}
		raw, err := input.EncodeInput(in)
		if err != nil {
			b.Fatal(err)
		}
		kind := journal.Fact
		if input.Narrates(f) {
			kind = journal.Narration
		}
		seq, err := book.Append(kind, raw)
		if err != nil {
			b.Fatal(err)
		}
		written += len(raw)
		before := s
		var effects []effect.Effect
		s, effects = supervisor.Apply(s, in)
		for _, x := range audit.Told(&before, supervisor.Replayed{Input: in, Effects: effects}, &s) {
			line, err := telling.Content(seq, at, x)
			if err == nil {
				err = book.Tell(kind, line)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if seq%1000 == 0 {
			book.Snapshot(supervisor.Snapshot{State: s, Seq: telling.Seq}.Encode)
		}
		for _, e := range effects {
			if note, ok := e.(effect.Note); ok {
				put(input.Decided(note.Decision)) // as the loop records it
			}
		}
	}
	ref := bridge.AgentRef{ID: contract.Arbiter, Generation: 1}
	happened := func(body bridge.EventBody) { put(input.Happened{Event: bridge.Event{AgentRef: ref, Body: body}}) }
	put(input.Began{Options: runconfig.Options{Run: "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11", Delimiter: "d", CWD: dir, Task: "long", HumanPresent: true}.WithDefaults()})
	put(input.Spawned{Agent: ref, Result: bridge.SpawnResult{Window: 200_000}})
	text := strings.Repeat("what a tool said, line by line\n", 130)
	for i := 0; written < size; i++ {
		for range 8 {
			happened(bridge.Context{Tokens: 1000 + i, Window: 200_000, Pct: 1})
			happened(bridge.Assistant{Text: text[:300]})
			happened(bridge.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`), ToolUse: "t"})
			happened(bridge.ToolResult{ToolUse: "t", Text: text})
		}
		happened(bridge.Turn{Outcome: bridge.TurnDone, Verdict: json.RawMessage(`{"decision":"ADDRESS_HUMAN","message":"m","reason":"r"}`), CostUSD: 0.01})
	}
	if err := book.Close(); err != nil {
		b.Fatal(err)
	}
	return written
}

func resumeOnce(b *testing.B, dir string) int {
	b.Helper()
	store, err := journal.OpenStore(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	var s supervisor.State
	book, recovery, err := store.Open("bench", 0, journal.Options{}, func(r *journal.Recovered) (snapshot []byte, err error) {
		s, snapshot, err = supervisor.Restore(r, audit.Told)
		return snapshot, err
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := book.Close(); err != nil || s.Task.Text != "long" {
		b.Fatalf("nothing was restored: %v", err)
	}
	return int(recovery.Records)
}

func readAll(b *testing.B, dir string) {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "runs", "bench", "journal-*"))
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, f, make([]byte, 1<<20)); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

// BenchmarkStop20 is the orderly end of a run with twenty agents at work, from the
// signal to the exit of arbiter. The baseline is one agent.
func BenchmarkStop20(b *testing.B) {
	var one, twenty []time.Duration
	for b.Loop() {
		one = append(one, stopWith(b, 1))
		twenty = append(twenty, stopWith(b, 20))
	}
	b.ReportMetric(ms(quantile(one, 0.5)), "stop-1-ms")
	b.ReportMetric(ms(quantile(twenty, 0.5)), "stop-20-ms")
	b.ReportMetric(float64(quantile(twenty, 0.5))/float64(quantile(one, 0.5)), "×one")
}

func stopWith(b *testing.B, n int) time.Duration {
	b.Helper()
	cmd, _ := crowd(b, n)
	run := filepath.Base(cmd.Dir)
	began := time.Now()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		b.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != int(contract.ExitInterrupted) {
		b.Fatalf("%s: %v", run, err)
	}
	return time.Since(began)
}
