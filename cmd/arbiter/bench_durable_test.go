package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// still is a bridge whose agents start and never report anything.
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
func (still) Inspect(context.Context, bridge.InspectParams) (bridge.InspectResult, error) {
	return bridge.InspectResult{}, errStill
}
func (still) Probe(context.Context, bridge.AgentRef) (bridge.ProbeResult, error) {
	return bridge.ProbeResult{Answered: true}, nil
}
func (still) Shutdown(context.Context, bridge.ShutdownParams) (bridge.ShutdownResult, error) {
	return bridge.ShutdownResult{}, nil
}

// BenchmarkAccepted measures a command on its way through the loop to `accepted`, which means that it is on
// disk, with a window of commands that do not wait for each other. The baseline, on the same disk in the same
// run, is a plain append and fsync for each command.
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
	store := testkit.Must(journal.OpenStore(filepath.Join(dir, "state")))(b)
	defer store.Close()
	var loop *runloop.Loop
	run := testkit.Must(store.Create(journal.Meta{Run: "bench", CWD: dir}, journal.Options{
		Committed: func(upTo uint64) { loop.Committed(upTo) },
	}))(b)
	defer run.Close()
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
	loop.Record(run)
	var wg sync.WaitGroup
	options := runconfig.Options{Run: "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11", Delimiter: "d", CWD: dir,
		HumanPresent: true}.WithDefaults()
	wg.Go(func() { loop.Run(b.Context(), still{}, input.Began{Options: options}) })
	b.ResetTimer()
	text := strings.Repeat("x", 400)
	for i := range n {
		slots <- struct{}{}
		sent[i] = time.Now()
		// The command is stored whole, and no part of it waits for an agent.
		loop.Put(input.Command{Channel: input.ChannelStdin,
			Command: contract.Command{Ref: text, Body: contract.Pause{}}})
	}
	<-done
	b.StopTimer()
	loop.Put(input.Signal{Signal: "INT"})
	wg.Wait()
	b.StartTimer()
	return took
}

func plainAppends(b *testing.B, dir string, n int) []time.Duration {
	b.Helper()
	f := testkit.Must(os.OpenFile(filepath.Join(dir, "plain"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(b)
	defer f.Close()
	line := []byte(strings.Repeat("x", 500) + "\n")
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		testkit.Must(f.Write(line))(b)
		testkit.OK(b, f.Sync())
		times[i] = time.Since(began)
	}
	return times
}

// longRun creates a run whose event log has the given size: the events of a rehearsal, again and again. It returns
// the path of the log.
func longRun(b *testing.B, state, arbiter, run string, size int64) string {
	b.Helper()
	cmd := screenCommand(b, arbiter, "--json", "--no-input", "--stand-in", "--scenario", "workflow", "--task", "Weave")
	first := testkit.Must(cmd.Output())(b)
	var events []contract.Line
	for line := range bytes.Lines(first) {
		l := testkit.Must(contract.DecodeLine(bytes.TrimSpace(line)))(b)
		switch l.Body.(type) {
		case contract.Delta, contract.Session, contract.Result:
			continue
		}
		events = append(events, l)
	}
	store := testkit.Must(journal.OpenStore(state))(b)
	r := testkit.Must(store.Create(journal.Meta{Run: run, CWD: state}, journal.Options{}))(b)
	path := filepath.Join(r.Dir(), journal.LogName)
	testkit.OK(b, r.Close())
	testkit.OK(b, store.Close())
	f := testkit.Must(os.Create(path))(b)
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	defer w.Flush()
	var chain journal.LogChain
	var line, raw []byte
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for written, n := int64(0), uint64(0); written < size; {
		l := events[n%uint64(len(events))]
		n++
		at = at.Add(500 * time.Millisecond)
		line = testkit.Must(contract.EncodeLine(line[:0], n, at, l.Event))(b)
		raw = testkit.Must(chain.Append(raw[:0], journal.LogContent{Input: n, At: at, Line: line}))(b)
		testkit.Must(w.Write(raw))(b)
		written += int64(len(raw))
	}
	return path
}

// BenchmarkLogs measures the processor time of `arbiter logs` of a run with 300 MB of events. The baseline is jq,
// which reads and prints the same lines.
func BenchmarkLogs(b *testing.B) {
	if _, err := exec.LookPath("jq"); err != nil {
		b.Skip("there is no jq")
	}
	state, run, arbiter := b.TempDir(), uuid.NewString(), releaseProgram(b)
	path := longRun(b, state, arbiter, run, 300<<20)
	spent := func(cmd *exec.Cmd) time.Duration {
		testkit.OK(b, cmd.Run())
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var logs, jq []time.Duration
	for b.Loop() {
		logs = append(logs, spent(screenCommand(b, arbiter, "logs", run, "--state-dir", state)))
		jq = append(jq, spent(screenCommand(b, "jq", "-c", ".", path)))
	}
	b.ReportMetric(ms(quantile(logs, 0.5)), "logs-cpu-ms")
	b.ReportMetric(ms(quantile(jq, 0.5)), "jq-cpu-ms")
	b.ReportMetric(float64(quantile(logs, 0.5))/float64(quantile(jq, 0.5)), "×jq")
}
