package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// soakTurns is the number of turns that TestSoak plays; scripts/soak sets it.
var (
	soakTurns  = flag.Int("soak", 0, "play TestSoak for so many turns")
	soakTime   = flag.Duration("soak-time", 0, "play TestSoak for so long")
	soakAgents = flag.Int("soak-agents", 2, "Orchestrators of TestSoak")
	soakPace   = flag.Duration("soak-pace", 0, "time that TestSoak's model takes for each answer")
)

// soakPlay is work without an end: Orchestrators that hand off after a few dozen turns with tools, and an
// Arbiter that is renewed as often.
func soakPlay(agents int) string {
	full := object{"context": "258000"}
	next := uses(call("mcp__arbiter__spawn_orchestrator", object{"prompt": "Spin on.", "successor_of": "{{.who}}"}))
	next["verdict"] = rules("CONTINUE", "Another takes it up.")["verdict"]
	begin := []object{call("mcp__arbiter__set_plan", object{"steps": []object{{"text": "spin"}, {"text": "weave"}}})}
	for i := range agents {
		begin = append(begin, call("mcp__arbiter__spawn_orchestrator", object{"prompt": fmt.Sprintf("Spin thread %d.", i+1)}))
	}
	more := reports("progress", "A thread more.", false)
	var steps []object
	for i := range 30 {
		switch {
		case i%10 == 9:
			steps = append(steps, question("Shall it go on?"))
			continue
		case i%10 == 4:
			steps = append(steps, bash("echo thread"))
		default:
			steps = append(steps, uses(reads("thread")["use"].([]object)[0],
				call("mcp__arbiter__report_progress", object{"message": "A thread more."})))
		}
		steps = append(steps, more)
	}
	steps = append(steps, with(proven(handsOff("handoff", "I hand on.", []string{"threads"},
		check("cat thread", "`a thread`")), "it is there"), "usage", full))
	return allowing([]string{"Bash(*)", "Read"},
		arbiter(nil,
			object{"expect": "kind. renewal", "usage": full, "verdict": object{"decision": "HANDOFF",
				"message": "Another sees on.", "reason": "The chair is full.", "handoff": object{
					"accomplished": []string{"much"}, "remaining": []string{"more"}, "key_context": "the chair"}}},
			on(`from. (?P<who>orch-\d+)[^⟧]*kind. question`, tells("{{.who}}", "Go on.")),
			// Many hand off at once: the chair must not be full again when its successor reads the next document.
			on(`from. (?P<who>orch-(\d*[02468])?7)\b[^⟧]*kind. handoff`, with(next, "usage", full)),
			on(`from. (?P<who>orch-\d+)\b[^⟧]*kind. handoff`, next), on("kind. inheritance", patience),
			on("kind. task", uses(begin...)), patience),
		orchestrator("orchestrator", "", steps, more))
}

// soaking is a run without an end, with a model in this process.
type soaking struct {
	t      testing.TB
	cmd    *exec.Cmd
	gauges string
	state  string
	events *bufio.Reader
	turns  int // messages that were delivered
	passed int // hand-offs
}

func soak(t testing.TB, agents int, pace time.Duration) *soaking {
	t.Helper()
	script := testkit.Must(rehearsal.Parse("soak.yaml", []byte(soakPlay(agents))))(t)
	model := testkit.Must(rehearsal.Start(script, rehearsal.Options{Pace: pace}))(t)
	t.Cleanup(func() { _ = model.Close() })
	s := &soaking{t: t, gauges: testkit.ShortDir(t), state: filepath.Join(t.TempDir(), "state")}
	s.cmd = unlimited(t, "stand-in", s.gauges, t.TempDir(), model, "--state-dir", s.state,
		"--allow", "Bash(*)", "--max-orchestrators", strconv.Itoa(2*agents))
	out := testkit.Must(s.cmd.StdoutPipe())(t)
	testkit.OK(t, s.cmd.Start())
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	s.events = bufio.NewReaderSize(out, 1<<20)
	return s
}

// unlimited prepares a run without limits, whose agents read the file thread, and which can be measured.
func unlimited(t testing.TB, player, gauges, work string, model *rehearsal.Server, args ...string) *exec.Cmd {
	t.Helper()
	testkit.OK(t, os.WriteFile(filepath.Join(work, "thread"), []byte("a thread\n"), 0o600))
	const most = "1000000000"
	claude := testkit.Must(exec.LookPath(player))(t)
	cmd := exec.Command("arbiter", append(args, "--json", "--no-input", "--claude", claude, "--cwd", work, "--task",
		"Weave", "--allow", "Read", "--max-exchanges", most, "--max-iterations", most, "--max-failures", most)...)
	cmd.Env = []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
		"LANG=C.UTF-8", "TERM=xterm-256color", gaugeVariable + "=" + gauges, "ANTHROPIC_BASE_URL=" + model.URL(),
		"ANTHROPIC_API_KEY=" + model.Key(),
	}
	var stderr testkit.Buffer
	cmd.Stderr = &stderr
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\n%s", stderr.String(), strings.Join(model.Problems(), "\n"))
		}
	})
	return cmd
}

// follow reads events until there were enough.
func (s *soaking) follow(enough func() bool) {
	s.t.Helper()
	for !enough() {
		line, err := s.events.ReadBytes('\n')
		testkit.Need(s.t, err == nil, "after %d turns: %v", s.turns, err)
		l, err := contract.DecodeLine(line)
		testkit.Need(s.t, err == nil, "%v: %s", err, line)
		switch b := l.Body.(type) {
		case contract.Delivered:
			s.turns++
		case contract.Handoff:
			s.passed++
		case contract.Error:
			s.t.Fatalf("after %d turns: %+v", s.turns, b)
		}
	}
}

// sample is one measurement of the run.
type sample struct {
	turns           int
	arbiter, bridge reading
	disk            int64 // bytes of the state directory's files on disk
	at              time.Duration
}

func (s *soaking) sample(began time.Time) sample {
	s.t.Helper()
	x := sample{turns: s.turns, arbiter: readings(s.t, s.gauges, "arbiter"), bridge: readings(s.t, s.gauges, "bridge"),
		at: time.Since(began)}
	err := filepath.WalkDir(s.state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			if err == nil {
				x.disk += info.Sys().(*syscall.Stat_t).Blocks * 512 // a packed log has holes
			}
		}
		return nil // a file may vanish when it is replaced
	})
	testkit.OK(s.t, err)
	return x
}

// TestSoak plays work without an end and checks that heap, descriptors, goroutines and watches of arbiter and
// bridge do not grow, nor the bytes on disk per turn. It compares the state after the warm-up with that at the end,
// each by the median of several samples, because agents come and go.
func TestSoak(t *testing.T) {
	if *soakTurns == 0 && *soakTime == 0 {
		t.Skip("a long run: scripts/soak")
	}
	const looks = 20
	s, began := soak(t, *soakAgents, *soakPace), time.Now()
	var all []sample
	for i := 1; i <= looks; i++ {
		s.follow(func() bool {
			return s.turns >= *soakTurns*i/looks && time.Since(began) >= *soakTime*time.Duration(i)/looks
		})
		x := s.sample(began)
		t.Logf("%6d turns %6.1fs  arbiter %+v  bridge %+v  disk %d B/turn", x.turns, x.at.Seconds(), x.arbiter,
			x.bridge, x.disk/int64(x.turns))
		all = append(all, x)
	}
	early, late := all[looks/4:looks/2], all[looks*3/4:]
	cpu := func(of []sample) float64 { // milliseconds a turn
		from, to := of[0], of[len(of)-1]
		return (to.arbiter.CPU + to.bridge.CPU - from.arbiter.CPU - from.bridge.CPU) / float64(to.turns-from.turns)
	}
	t.Logf("CPU of arbiter and bridge a turn: %.1f ms once it was warm, %.1f ms at the end", cpu(early), cpu(late))
	go func() { _, _ = io.Copy(io.Discard, s.events) }() // ends with the process
	if s.passed < s.turns/100-*soakAgents {              // each is in the middle of its own part
		t.Errorf("%d documents passed on in %d turns: not the run that was wanted", s.passed, s.turns)
	}
	agents := float64(*soakAgents)
	for name, figure := range map[string]struct {
		of    func(sample) float64
		times float64
		more  float64
	}{
		"MB of arbiter's heap":    {func(x sample) float64 { return x.arbiter.Heap }, 1.1, 1},
		"MB of the bridge's heap": {func(x sample) float64 { return x.bridge.Heap }, 1.1, 1},
		"goroutines of arbiter":   {func(x sample) float64 { return float64(x.arbiter.Goroutines) }, 1, 6},
		// An agent has a dozen goroutines.
		"goroutines of the bridge": {func(x sample) float64 { return float64(x.bridge.Goroutines) }, 1, max(24, agents*4)},
		"files of arbiter":         {func(x sample) float64 { return float64(x.arbiter.Files) }, 1, 3},
		"files of the bridge":      {func(x sample) float64 { return float64(x.bridge.Files) }, 1, max(8, agents)},
		"watches of the bridge":    {func(x sample) float64 { return float64(x.bridge.Watches) }, 1, 4},
		"bytes on disk a turn":     {func(x sample) float64 { return float64(x.disk) / float64(x.turns) }, 1.25, 0},
	} {
		was, is := median(early, figure.of), median(late, figure.of)
		testkit.Check(t, is <= was*figure.times+figure.more, "%s: %.1f once it was warm, %.1f at the end", name, was,
			is)
	}
	fmt.Printf("%d turns, %d hand-offs in %s: ", s.turns, s.passed, time.Since(began).Round(time.Second))
	last := all[looks-1]
	fmt.Printf("arbiter %+v, bridge %+v, %d bytes on disk a turn\n", last.arbiter, last.bridge,
		last.disk/int64(last.turns))
}

func median(of []sample, figure func(sample) float64) float64 {
	all := testkit.Each(of, func(x sample) float64 { return figure(x) })
	slices.Sort(all)
	return all[len(all)/2]
}
