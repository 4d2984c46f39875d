package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// BenchmarkHop measures one routed hop: from the agent's `result` line to the line of the next message, through
// bridge, supervisor and back. The baseline, measured in the same run, is a line of the same length echoed over
// the same kind of pipes.
func BenchmarkHop(b *testing.B) {
	hops := hopTimes(b, b.N, nil)
	b.StopTimer()
	base := echoTimes(b, len(hops))
	b.ReportMetric(float64(quantile(hops, 0.5).Nanoseconds()), "hop-p50-ns")
	b.ReportMetric(float64(quantile(hops, 0.99).Nanoseconds()), "hop-p99-ns")
	b.ReportMetric(float64(quantile(base, 0.5).Nanoseconds()), "echo-p50-ns")
	b.ReportMetric(float64(quantile(base, 0.99).Nanoseconds()), "echo-p99-ns")
	b.ReportMetric(float64(quantile(hops, 0.5))/float64(quantile(base, 0.5)), "×echo")
}

// BenchmarkHopWithClients measures the same while ten clients are connected: four that follow the run, three
// that are stopped, and three that connected and read nothing. The baseline is the hop after all clients have
// left; the two are measured in turns.
func BenchmarkHopWithClients(b *testing.B) {
	const rounds = 4
	var alone, crowded []time.Duration
	for range rounds {
		alone = append(alone, hopTimes(b, b.N/rounds+10, clientsThatLeft)...)
		crowded = append(crowded, hopTimes(b, b.N/rounds+10, tenClients)...)
	}
	b.ReportMetric(float64(quantile(alone, 0.5).Nanoseconds()), "alone-p50-ns")
	b.ReportMetric(float64(quantile(crowded, 0.5).Nanoseconds()), "clients-p50-ns")
	b.ReportMetric(float64(quantile(alone, 0.99).Nanoseconds()), "alone-p99-ns")
	b.ReportMetric(float64(quantile(crowded, 0.99).Nanoseconds()), "clients-p99-ns")
	b.ReportMetric(float64(quantile(crowded, 0.99))/float64(quantile(alone, 0.99)), "×alone")
}

// hopTimes plays a run with that many hops. It calls beside when the run's socket exists, and measures the hops
// after beside has returned.
func hopTimes(b *testing.B, hops int, beside func(b *testing.B, state, run string) (end func())) []time.Duration {
	b.Helper()
	hopper := testkit.Must(exec.LookPath("hopper"))(b)
	work, state := b.TempDir(), b.TempDir()
	testkit.OK(b, os.WriteFile(filepath.Join(work, "hops"), []byte(strconv.Itoa(hops)), 0o600))
	wait := filepath.Join(work, "wait")
	if beside != nil {
		testkit.OK(b, os.WriteFile(wait, nil, 0o600))
	}
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", hopper, "--cwd", work, "--task", "hop",
		"--state-dir", state, "--max-exchanges", strconv.Itoa(hops+100_000))
	cmd.Env = []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH")}
	var output strings.Builder
	cmd.Stderr = &output
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	lines := bufio.NewReader(out)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		b.Errorf("the first line: %v", err)
	}
	var printed sync.WaitGroup
	printed.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	if err == nil && beside != nil {
		var line contract.Line
		if line, err = contract.DecodeLine(first); err != nil {
			b.Error(err)
		} else {
			defer beside(b, state, line.Body.(contract.Session).Session)()
		}
		if err := os.Remove(wait); err != nil {
			b.Error(err)
		}
	}
	printed.Wait()
	if err := cmd.Wait(); err != nil {
		b.Fatalf("%v: %s", err, output.String())
	}
	return readTimes(b, filepath.Join(work, "hop-times"))
}

// clientsThatLeft connects ten clients and disconnects them.
func clientsThatLeft(b *testing.B, state, run string) (end func()) {
	tenClients(b, state, run)()
	return func() {}
}

// tenClients connects ten clients and waits until those that follow the run have printed something.
func tenClients(b *testing.B, state, run string) (end func()) {
	var list []*exec.Cmd
	var conns []net.Conn
	var printed sync.WaitGroup
	for n := range 7 {
		cmd := exec.Command("arbiter", "watch", "--since", "-1", "--state-dir", state, run)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			b.Error(err)
			continue
		}
		list = append(list, cmd)
		lines := bufio.NewReader(out)
		if _, err := lines.ReadBytes('\n'); err != nil {
			b.Errorf("the first line of a client: %v", err)
		}
		printed.Go(func() { _, _ = io.Copy(io.Discard, lines) })
		if n >= 4 {
			_ = cmd.Process.Signal(syscall.SIGSTOP)
		}
	}
	for range 3 {
		conn, err := net.Dial("unix", filepath.Join(state, "runs", run, control.SocketName))
		if err != nil {
			b.Error(err)
			continue
		}
		conns = append(conns, conn)
	}
	return func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
		for _, cmd := range list {
			_ = cmd.Process.Kill() // it may have ended already
		}
		printed.Wait()
		for _, cmd := range list {
			_ = cmd.Wait()
		}
	}
}

func readTimes(b *testing.B, path string) []time.Duration {
	b.Helper()
	raw := testkit.Must(os.ReadFile(path))(b)
	var times []time.Duration
	for line := range strings.Lines(string(raw)) {
		n := testkit.Must(strconv.Atoi(strings.TrimSpace(line)))(b)
		times = append(times, time.Duration(n))
	}
	return times
}

// startEcho starts a program of this binary that echoes lines; stop waits for its end.
func startEcho(b *testing.B) (cmd *exec.Cmd, echo func(line string), stop func()) {
	b.Helper()
	cmd = exec.Command("echo-lines")
	in := testkit.Must(cmd.StdinPipe())(b)
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	r := bufio.NewReaderSize(out, 1<<20)
	echo = func(line string) {
		b.Helper()
		testkit.Must(io.WriteString(in, line))(b)
		testkit.Must(r.ReadString('\n'))(b)
	}
	return cmd, echo, func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
}

func echoTimes(b *testing.B, n int) []time.Duration {
	b.Helper()
	_, echo, stop := startEcho(b)
	defer stop()
	line := strings.Repeat("x", 500) + "\n"
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		echo(line)
		times[i] = time.Since(began)
	}
	return times
}

func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// BenchmarkStart measures the time from the start of `arbiter --json` until the Arbiter's model has answered a request
// with the task. The baseline is the bare CLI, without arbiter, up to its model's answer.
func BenchmarkStart(b *testing.B) {
	claude := benchClaude(b)
	model := startModel(b)
	var taken, bare []time.Duration
	for b.Loop() {
		taken = append(taken, timeArbiter(b, claude, model))
		bare = append(bare, timeBare(b, claude, model))
	}
	b.ReportMetric(ms(quantile(taken, 0.5)), "task-taken-ms")
	b.ReportMetric(ms(quantile(bare, 0.5)), "bare-cli-ms")
	b.ReportMetric(float64(quantile(taken, 0.5))/float64(quantile(bare, 0.5)), "×bare")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func pss(b *testing.B, pid int) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			kb := testkit.Must(strconv.Atoi(f[1]))(b)
			return float64(kb) / 1024
		}
	}
	b.Fatal("no Pss")
	return 0
}
