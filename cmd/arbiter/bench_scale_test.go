package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// crowdPlayer is the CLI in a crowd: the first Orchestrator hops, all others are stand-ins that follow a
// script.
func crowdPlayer() {
	if agent, _, _ := strings.Cut(os.Getenv(proctree.EnvAgent), "."); agent == "orch-1" {
		hopper()
		return
	}
	os.Exit(standIn(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// crowdPlay is a play whose Arbiter spawns that many Orchestrators. Each of them reads a file every five
// seconds.
func crowdPlay(agents int) string {
	var text strings.Builder
	text.WriteString("name: crowd\ntitle: A crowd\nactors:\n  - name: arbiter\n    match: {role: arbiter}\n    steps:\n " +
		"     - use:\n")
	for i := 1; i < agents; i++ {
		fmt.Fprintf(&text, "          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: \"work %d\"}}\n", i)
	}
	text.WriteString(`    otherwise:
      - {expect: kind. question, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: On., reason: It asked.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: They work.}
  - name: orchestrator
    match: {role: orchestrator}
    steps: []
    otherwise:
      - {expect: a thread, verdict: {kind: progress, expects_response: false, message: A thread more.}}
      - {use: [{tool: Read, input: {file_path: "{{.cwd}}/thread"}}], delay: 5s}
`)
	return text.String()
}

// crowded is a run with many agents at work.
type crowded struct {
	b      *testing.B
	cmd    *exec.Cmd
	gauges string
	work   string
	stderr shared
}

// gather prepares a crowded run; face is --json, --plain, or empty for the screen.
func gather(b *testing.B, agents, hops int, frontend ...string) *crowded {
	b.Helper()
	model := serve(b, crowdPlay(agents))
	player := testkit.Must(exec.LookPath("crowd-player"))(b)
	gauges, err := os.MkdirTemp("/tmp", "gauge") // a short path, as a socket's path length is limited
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(gauges) })
	c := &crowded{b: b, gauges: gauges, work: b.TempDir()}
	for name, text := range map[string]string{"thread": "a thread\n", "hops": strconv.Itoa(hops)} {
		testkit.OK(b, os.WriteFile(filepath.Join(c.work, name), []byte(text), 0o600))
	}
	const endless = "1000000000"
	c.cmd = exec.Command("arbiter", append(frontend, "--claude", player, "--cwd", c.work, "--task", "Work", "--allow",
		"Read", "--max-orchestrators", strconv.Itoa(agents), "--max-exchanges", endless, "--max-iterations",
		endless)...)
	c.cmd.Env = []string{
		"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + b.TempDir(), "TMPDIR=" + b.TempDir(),
		"LANG=C.UTF-8", "TERM=xterm-256color", gaugeVariable + "=" + gauges, "ANTHROPIC_BASE_URL=" + model.URL(),
		"ANTHROPIC_API_KEY=" + model.Key(),
	}
	if len(frontend) > 0 {
		c.cmd.Stderr = &c.stderr
	}
	b.Cleanup(func() {
		if b.Failed() {
			b.Logf("%s\n%s", c.stderr.String(), strings.Join(model.Problems(), "\n"))
		}
	})
	return c
}

// assembled waits until each agent has its process: the bridge then has three pipes open for each.
func (c *crowded) assembled(agents int) {
	c.b.Helper()
	deadline := time.Now().Add(2 * waitTimeout)
	for tick := time.NewTicker(50 * time.Millisecond); ; <-tick.C {
		if readings(c.b, c.gauges, "bridge").Files > 3*agents {
			return
		}
		if time.Now().After(deadline) {
			c.b.Fatalf("not %d agents within %s", agents, 2*waitTimeout)
		}
	}
}

// BenchmarkScale measures a run with one Orchestrator that hops and 98 more agents at work beside it: the time
// of a hop, and the memory of arbiter and its bridge.
func BenchmarkScale(b *testing.B) {
	for _, agents := range []int{2, 100} {
		b.Run(fmt.Sprintf("agents=%d", agents), func(b *testing.B) {
			for b.Loop() {
				scale(b, agents)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

const scaleHops = 1000

func scale(b *testing.B, agents int) {
	b.Helper()
	c := gather(b, agents, scaleHops, "--json", "--no-input")
	out := testkit.Must(c.cmd.StdoutPipe())(b)
	testkit.OK(b, c.cmd.Start())
	ended := make(chan struct{})
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, out)
		close(ended)
	}()
	c.assembled(agents)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, err := os.Stat(filepath.Join(c.work, "hop-times")); err != nil; _,
		err = os.Stat(filepath.Join(c.work, "hop-times")) {
		select {
		case <-ended:
			b.Fatal("the run ended")
		case <-tick.C:
		}
	}
	hops := readTimes(b, filepath.Join(c.work, "hop-times"))
	pid, _ := childNamed(c.cmd.Process.Pid, "bridge")
	memory := pss(b, c.cmd.Process.Pid) + pss(b, pid)
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	<-ended
	b.ReportMetric(float64(quantile(hops, 0.5).Nanoseconds()), "hop-p50-ns")
	b.ReportMetric(float64(quantile(hops, 0.99).Nanoseconds()), "hop-p99-ns")
	b.ReportMetric(memory, "together-MB")
}

// keys measures the time from a key to the screen. It types each key when it has seen the one before.
func (w *watcher) keys(b *testing.B) []time.Duration {
	b.Helper()
	var took []time.Duration
	for _, key := range "жфщцюяэйшыпдлчбгзкмнтсвхЖФЩЦЮЯЭЙШЫПДЛЧБГЗКМНТСВХ" {
		w.mu.Lock()
		w.at = len(w.seen)
		w.mu.Unlock()
		began := time.Now()
		testkit.Must(io.WriteString(w.master, string(key)))(b)
		w.until(b, string(key), frameEnd)
		took = append(took, time.Since(began))
	}
	return took
}
