package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

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
