package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/uuid"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/fakecli"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// watcher is a terminal that only searches the bytes it receives: an emulator would be slower than what is
// measured.
type watcher struct {
	cmd    *exec.Cmd
	master *os.File
	began  time.Time
	wg     sync.WaitGroup

	mu     sync.Mutex
	seen   []byte
	at     int           // where to look for the next mark
	more   chan struct{} // capacity 1
	closed bool
}

// watch starts a command in a terminal of 120×40. The clock starts just before the command.
func watch(b *testing.B, cmd *exec.Cmd) *watcher {
	b.Helper()
	w := &watcher{cmd: cmd, more: make(chan struct{}, 1), began: time.Now()}
	w.master = testkit.Must(pty.StartWithSize(cmd, &pty.Winsize{Cols: 120, Rows: 40}))(b)
	w.wg.Go(w.read)
	return w
}

func (w *watcher) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.master.Read(buf)
		w.mu.Lock()
		w.seen = append(w.seen, buf[:n]...)
		w.closed = err != nil
		w.mu.Unlock()
		select {
		case w.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// until waits for each of the marks in order, and returns the time since the start.
func (w *watcher) until(b *testing.B, marks ...string) time.Duration {
	b.Helper()
	deadline := time.After(waitTimeout)
	for _, mark := range marks {
		for !w.found(b, mark) {
			select {
			case <-w.more:
			case <-deadline:
				b.Fatalf("no %q within %s: %q", mark, waitTimeout, w.tail())
			}
		}
	}
	return time.Since(w.began)
}

func (w *watcher) found(b *testing.B, mark string) bool {
	b.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	i := bytes.Index(w.seen[w.at:], []byte(mark))
	testkit.Need(b, i >= 0 || !w.closed, "the program ended without %q: %q", mark, w.seen[max(0, len(w.seen)-2000):])
	if i >= 0 {
		w.at += i + len(mark)
	}
	return i >= 0
}

func (w *watcher) tail() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[max(0, len(w.seen)-2000):]
}

// leave kills the program; a run continues without its screen.
func (w *watcher) leave() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	w.master.Close()
	w.wg.Wait()
}

// end ends the program in order.
func (w *watcher) end() {
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	_ = w.cmd.Wait()
	w.master.Close()
	w.wg.Wait()
}

// Marks in the output of a screen: the end of a frame, and the oracle's first words.
const (
	frameEnd  = "\x1b[?2026l"
	firstWord = "Speak, mortal."
)

// plainScreen is the baseline: a plain tview program that shows the oracle's first words too.
func plainScreen() {
	view := tview.NewTextView().SetText(firstWord)
	if err := tview.NewApplication().SetRoot(view, true).Run(); err != nil {
		os.Exit(1)
	}
}

// screenCommand prepares a program with its own home directory.
func screenCommand(b *testing.B, name string, args ...string) *exec.Cmd {
	b.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = b.TempDir()
	cmd.Env = []string{
		"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.TempDir(), "LANG=C.UTF-8",
		"TERM=xterm-256color", "COLORTERM=truecolor", "XDG_CACHE_HOME=" + host.CacheHome(),
	}
	return cmd
}

// BenchmarkFirstPaint measures the time from exec to the end of the oracle's first frame, for a user with a
// history of five hundred inputs. What arbiter looks up on the machine (claude, its login, runs to resume)
// comes later. The baseline is a plain tview program in the test binary.
func BenchmarkFirstPaint(b *testing.B) {
	args := []string{"--rehearse"}
	if claude, err := pinnedClaude(); err == nil && claude != "" {
		args = []string{"--claude", claude}
	}
	state := b.TempDir()
	words := strings.Repeat(strconv.Quote(strings.Repeat("a word to go back to ", 20))+"\n", 500)
	testkit.OK(b, os.WriteFile(filepath.Join(state, "inputs"), []byte(words), 0o600))
	arbiter := releaseProgram(b)
	var first, plain []time.Duration
	for b.Loop() {
		first = append(first, firstPaint(b, arbiter, append(args, "--state-dir", state)...))
		plain = append(plain, firstPaint(b, "plain-screen"))
	}
	b.ReportMetric(ms(quantile(first, 0.5)), "p50-ms")
	b.ReportMetric(ms(quantile(plain, 0.5)), "plain-tview-ms")
}

func firstPaint(b *testing.B, name string, args ...string) time.Duration {
	b.Helper()
	w := watch(b, screenCommand(b, name, args...))
	took := w.until(b, firstWord, frameEnd)
	w.end()
	return took
}

// BenchmarkManyRuns measures in a state directory of 1,000 runs what a command about one run costs. The baseline is the
// same in a state directory of one run.
func BenchmarkManyRuns(b *testing.B) {
	states := map[int]string{1: b.TempDir(), 1000: b.TempDir()}
	for n, state := range states {
		store := testkit.Must(journal.OpenStore(state))(b)
		for range n {
			run, err := store.Create(journal.Meta{Run: uuid.NewString(), CWD: state}, journal.Options{})
			if err == nil {
				_, err = run.Append(journal.Input, []byte("{}"))
			}
			testkit.OK(b, errors.Join(err, run.Close()))
		}
		testkit.OK(b, store.Close())
	}
	arbiter := releaseProgram(b)
	cpu := map[int][]time.Duration{}
	for b.Loop() {
		for n, state := range states {
			cmd := screenCommand(b, arbiter, "status", "--state-dir", state)
			_ = cmd.Run() // no run is live
			cpu[n] = append(cpu[n], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	for n, times := range cpu {
		b.ReportMetric(ms(quantile(times, 0.5)), fmt.Sprintf("status-cpu-%d-ms", n))
	}
}

// BenchmarkOpenLive measures the time from exec until the screen shows the end of a live run whose process has
// reported sixty thousand events. The baseline is a plain tview program.
func BenchmarkOpenLive(b *testing.B) {
	const hops = 12_000
	hopper := testkit.Must(exec.LookPath("hopper"))(b)
	work, state := b.TempDir(), b.TempDir()
	for name, text := range map[string]string{"hops": strconv.Itoa(hops), "stay": ""} {
		testkit.OK(b, os.WriteFile(filepath.Join(work, name), []byte(text), 0o600))
	}
	home := screenCommand(b, "arbiter")
	arbiter := func(args ...string) *exec.Cmd {
		cmd := exec.Command("arbiter", append(args, "--state-dir", state)...)
		cmd.Env, cmd.Dir = home.Env, work
		return cmd
	}
	run := testkit.Must(arbiter("--detach", "--claude", hopper, "--task", "hop", "--max-exchanges",
		strconv.Itoa(hops+100)).Output())(b)
	defer func() { _ = arbiter("stop").Run() }() // also ends the agents
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var st runstore.LiveStatus
	for len(st.Inbox) == 0 {
		<-tick.C
		raw, err := arbiter("status", "--json").Output()
		if err == nil {
			err = json.Unmarshal(raw, &st)
		}
		testkit.OK(b, err)
	}
	var opened, plain []time.Duration
	for b.Loop() {
		w := watch(b, arbiter("attach", strings.TrimSpace(string(run))))
		opened = append(opened, w.until(b, lastQuestion, frameEnd))
		w.leave()
		plain = append(plain, firstPaint(b, "plain-screen"))
	}
	b.ReportMetric(ms(quantile(opened, 0.5)), "p50-ms")
	b.ReportMetric(ms(quantile(plain, 0.5)), "plain-tview-ms")
}

// idleFor is how long an idle screen is measured.
const idleFor = 20 * time.Second

// BenchmarkIdle measures the processor time of a screen that waits for a human, in percent of one processor. The
// baseline is a plain tview program, which does nothing at all.
func BenchmarkIdle(b *testing.B) {
	asks := scenarioFile(b, playOf(arbiter([]object{asksHuman("Which name?")})))
	for name, c := range map[string]struct {
		cmd  func() *exec.Cmd
		mark string
	}{
		"human": {func() *exec.Cmd {
			return screenCommand(b, "arbiter", "--stand-in", "--scenario", asks, "--task", "Weave")
		}, "something waits for you"},
		"plain-tview": {func() *exec.Cmd { return screenCommand(b, "plain-screen") }, firstWord},
	} {
		b.Run(name, func(b *testing.B) {
			var most time.Duration
			for b.Loop() {
				w := watch(b, c.cmd())
				w.until(b, c.mark, frameEnd)
				<-time.After(2 * time.Second) // work after a frame: fading text, the garbage collector
				at := processorTime(b, w.cmd.Process.Pid)
				<-time.After(idleFor)
				most = max(most, processorTime(b, w.cmd.Process.Pid)-at)
				w.end()
			}
			b.ReportMetric(100*most.Seconds()/idleFor.Seconds(), "%-of-a-cpu")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// processorTime is the processor time that a process has used, in steps of 10 ms.
func processorTime(b *testing.B, pid int) time.Duration {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip(err)
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	var ticks int
	for _, f := range fields[11:13] { // utime and stime
		ticks += testkit.Must(strconv.Atoi(f))(b)
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on all Linux platforms
}

// crowdPlayer is the CLI in a crowd: the first Orchestrator hops, all others are stand-ins that follow a
// script.
func crowdPlayer() {
	if agent, _, _ := strings.Cut(os.Getenv(proctree.EnvAgent), "."); agent == "orch-1" {
		hopper()
		return
	}
	os.Exit(fakecli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// crowdPlay is a play whose Arbiter spawns that many Orchestrators. Each of them reads a file every five
// seconds.
func crowdPlay(agents int) string {
	var prompts []string
	for i := 1; i < agents; i++ {
		prompts = append(prompts, fmt.Sprint("work ", i))
	}
	return playOf(
		arbiter([]object{spawns(prompts...)}, on("kind. question", tells("orch-1", "On.")), patience),
		orchestrator("orchestrator", "", nil, on("a thread", reports("progress", "A thread more.", false)),
			with(reads("thread"), "delay", "5s")))
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
	work, gauges := b.TempDir(), testkit.ShortDir(b)
	testkit.OK(b, os.WriteFile(filepath.Join(work, "hops"), []byte(strconv.Itoa(scaleHops)), 0o600))
	cmd := unlimited(b, "crowd-player", gauges, work, serve(b, crowdPlay(agents)), "--max-orchestrators",
		strconv.Itoa(agents))
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	ended := make(chan struct{})
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, out)
		close(ended)
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	await := func(is func() bool) {
		for !is() {
			select {
			case <-ended:
				b.Fatal("the run ended")
			case <-tick.C:
			}
		}
	}
	// The bridge has three pipes open for each agent that has its process.
	await(func() bool { return readings(b, gauges, "bridge").Files > 3*agents })
	times := filepath.Join(work, "hop-times")
	await(func() bool { _, err := os.Stat(times); return err == nil })
	hops := readTimes(b, times)
	pid, _ := childNamed(cmd.Process.Pid, "bridge")
	memory := pss(b, cmd.Process.Pid) + pss(b, pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	<-ended
	b.ReportMetric(float64(quantile(hops, 0.5).Nanoseconds()), "hop-p50-ns")
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
