package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/transcript"
)

// onlyLinux: on other systems the processes of others cannot be inspected.
func onlyLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
}

func (s *stageOf) probe() bridge.ProbeResult { return s.agent.Probe(context.Background()) }

func TestProbe(t *testing.T) {
	onlyLinux(t)
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		burn := bash("echo some words; touch ready; while :; do :; done")
		s, _ := stageFor(t, spec, verdictReply, reply{tools: []call{burn}})
		s.cfg.Env["TMPDIR"] = testkit.ShortDir(t) // the CLI keeps sockets there
		s.launch()
		idle := s.probe()
		testkit.Check(t, idle.Answered && idle.Processes >= 1 && idle.RSSBytes >= 1<<20 && !idle.Stopped &&
			idle.TranscriptBytes == 0 && idle.OutputBytes == 0, "before the first turn: %+v", idle)
		s.turn("go")
		after := s.probe()
		testkit.Check(t, after.Answered && after.TranscriptBytes != 0, "after a turn: %+v", after)
		s.send("burn")
		waitFile(t, filepath.Join(s.dir, "ready"))
		var first bridge.ProbeResult
		testkit.Await(s.t, "the tool's output is seen", func() bool {
			first = s.probe()
			return first.OutputBytes > 0 || spec.Args != nil // the stand-in's tools write no files
		})
		testkit.Check(t, first.Answered && first.Processes > idle.Processes, "while a tool runs: %+v", first)
		testkit.Check(t, first.OutputPath == "" || filepath.Ext(first.OutputPath) == ".output", "output path %q",
			first.OutputPath)
		// Silence while a tool works: time passes, CPU is used.
		testkit.Await(s.t, "CPU is used in silence", func() bool {
			now := s.probe()
			return now.Answered && now.CPUMS >= first.CPUMS+300 && now.SilentMS >= first.SilentMS+200
		})
	})
}

func TestProbeOfAStoppedProcess(t *testing.T) {
	realAtNight(t)
	onlyLinux(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, _ := stageFor(t, spec, verdictReply)
		s.launch()
		pid := s.agent.Info().PID
		testkit.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
		awaitStopped(t, pid)
		p := s.probe()
		testkit.Check(t, !p.Answered && p.Stopped, "stopped: %+v", p)
		testkit.OK(t, syscall.Kill(pid, syscall.SIGCONT))
		p = s.probe()
		testkit.Check(t, p.Answered && !p.Stopped, "continued: %+v", p)
		testkit.OK(t, syscall.Kill(pid, syscall.SIGSTOP))
		s.turnlessStop()
	})
}

// awaitStopped waits until every thread of a process has stopped: a signal takes some time to reach them
// all, and a thread that still runs may answer.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	testkit.Await(t, "its stop", func() bool {
		stopped := true
		stats, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, stat := range stats {
			raw, _ := os.ReadFile(stat)
			_, rest, _ := bytes.Cut(raw, []byte(") "))
			stopped = stopped && bytes.HasPrefix(rest, []byte("T"))
		}
		return stopped && len(stats) > 0
	})
}

// turnlessStop stops an agent in order; the ladder has to continue it first.
func (s *stageOf) turnlessStop() {
	s.t.Helper()
	testkit.OK(s.t, s.agent.Stop(context.Background(), false))
	s.checkNoProcesses()
}

func TestProbesAreOne(t *testing.T) {
	t.Parallel()
	s := fake(t, fakeMute)
	a := s.agent.(*agent)
	a.prober.timeout = 100 * time.Millisecond
	begun := make(chan struct{})
	var probes sync.WaitGroup
	for range 10 {
		probes.Go(func() {
			<-begun
			testkit.Check(t, !s.probe().Answered, "answered by a mute process")
		})
	}
	close(begun)
	probes.Wait()
	s.probe() // the first ping still has no answer
	a.calls.mu.Lock()
	waiting, sent := len(a.calls.pending), a.calls.last
	a.calls.mu.Unlock()
	if waiting != 2 || sent != 3 { // initialize, the context's question and one ping
		t.Errorf("%d of %d requests wait", waiting, sent)
	}
	given, cancel := context.WithCancel(context.Background())
	cancel()
	testkit.Same(t, "a probe that was given up", bridge.ProbeResult{}, s.agent.Probe(given))
	s.stopNow() // ends the ping
	testkit.Same(t, "a probe of a dead agent", bridge.ProbeResult{}, s.probe())
}

// The signs of life of a process that is silent in mid-turn, by cause.
func TestProbeDistinguishesSilences(t *testing.T) {
	onlyLinux(t)
	for _, test := range []struct {
		fault          string
		answered, busy bool
	}{{"hang", false, false}, {"spin", false, true}, {"quiet", true, false}} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			s, _ := stageFor(t, standInSpec(t), verdictReply)
			s.cfg.Env["ARBITER_STANDIN_FAULT"] = test.fault
			s.launch()
			s.agent.(*agent).prober.timeout = time.Second
			id := s.send("go")
			await(s.host, 1, func(d bridge.Delivered) bool { return d.MessageID == id })
			// The fault takes effect after the frame of the verdict's call, which is not an event.
			var first, second bridge.ProbeResult
			testkit.Await(s.t, "the fault has struck", func() bool {
				first = s.probe()
				return first.Answered == test.answered && first.SilentMS > 500
			})
			testkit.Await(s.t, "time has passed, and what can be busy was", func() bool {
				second = s.probe()
				return second.Answered == test.answered && second.SilentMS > first.SilentMS+500 &&
					(!test.busy || second.CPUMS > first.CPUMS+200)
			})
			used := second.CPUMS - first.CPUMS
			testkit.Check(t, test.busy || used <= 200, "%d ms of CPU used by an idle process", used)
			testkit.Same(t, "the transcript grew from to bytes", first.TranscriptBytes, second.TranscriptBytes)
			if test.busy { // the hardest to end: it spins, and ignores TERM
				s.turnlessStop()
			} else {
				s.stopNow()
			}
			turn := s.turnOf(id)
			testkit.Check(t, turn.Outcome != bridge.TurnDone, "turn: %+v", turn)
		})
	}
}

func TestProbeSeesConsumption(t *testing.T) {
	onlyLinux(t)
	t.Parallel()
	s, _ := stageFor(t, standInSpec(t), verdictReply)
	s.cfg.Env["ARBITER_STANDIN_FAULT"] = "bloat:200M,fill:3M,fork-storm:50,quiet"
	s.cfg.Env["TMPDIR"] = testkit.ShortDir(t) // the CLI keeps sockets there
	s.launch()
	before := s.probe()
	s.send("go")
	var p bridge.ProbeResult
	testkit.Await(s.t, "everything is used", func() bool {
		p = s.probe()
		return p.RSSBytes > before.RSSBytes+150<<20 && p.OutputBytes == 3<<20 && p.Processes >= before.Processes+50
	})
	testkit.Check(t, p.Answered && filepath.Base(p.OutputPath) == "bfault.output", "probe: %+v", p)
	s.stopNow()
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	temp, session := t.TempDir(), uuid.NewString()
	f := filesOf([]string{"HOME=/nowhere", "TMPDIR=" + temp, "CLAUDE_CODE_TMPDIR=relative"}, "/w")
	tasks := filepath.Join(f.temps[0], "-w", session, "tasks")
	beside := filepath.Join(temp, "beside")
	for path, size := range map[string]int{
		filepath.Join(tasks, "a.output"):                                10,
		filepath.Join(tasks, "b.output"):                                20,
		filepath.Join(tasks, "c.lock"):                                  1000,
		filepath.Join(f.temps[0], "-w", "another", "tasks", "a.output"): 1000,
		filepath.Join(beside, "tool-results", "x.txt"):                  5,
	} {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, size), 0o600))
	}
	testkit.OK(t, os.Symlink("/dev/zero", filepath.Join(tasks, "d.output")))
	if total, largest := f.outputs(session, beside); total != 35 || largest != filepath.Join(tasks, "b.output") {
		t.Errorf("%d bytes, the largest %s", total, largest)
	}
	total, largest := f.outputs(uuid.NewString(), "")
	testkit.Check(t, total == 0 && largest == "", "of a session without any: %d bytes, %q", total, largest)
}

// reply is one scripted answer of the model.
type reply struct {
	text    string
	tools   []call
	usage   [3]int        // input, cache read, cache creation
	status  int           // an HTTP error instead
	kind    string        // its type
	message string        // its message
	hold    chan struct{} // if set, the answer waits until it is closed
	half    bool          // it never gets beyond the first part of its text
}

type call struct {
	name  string
	input any
}

// api is a Messages API on loopback that answers main-loop calls from a script.
type api struct{ *corpus.Model }

func startAPI(t testing.TB, script ...reply) *api {
	t.Helper()
	m := corpus.StartModel(t, scripted(script)...)
	m.Idle = "ok"
	return &api{m}
}

func scripted(script []reply) (list []corpus.Reply) {
	for _, r := range script {
		c := corpus.Reply{Until: r.hold, Hold: r.half, Status: r.status, Type: r.kind, Message: r.message,
			Usage: &transcript.Usage{Input: r.usage[0], CacheRead: r.usage[1], CacheCreation: r.usage[2], Output: 7}}
		if r.text != "" {
			c.Blocks = []corpus.Block{{Text: r.text}}
		}
		for _, use := range r.tools {
			input, _ := json.Marshal(use.input)
			c.Blocks = append(c.Blocks, corpus.Block{Tool: use.name, Input: input})
		}
		list = append(list, c)
	}
	return list
}

func (a *api) env() map[string]string { return map[string]string{"ANTHROPIC_BASE_URL": a.URL} }

func (a *api) then(script ...reply) { a.Then(scripted(script)...) }

// reset replaces the rest of the script.
func (a *api) reset(script ...reply) { a.Reset(scripted(script)...) }

// lastRequest is the newest request.
func (a *api) lastRequest() string {
	all := a.Requests()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// hasRead checks that a text is in the newest request.
func (a *api) hasRead(t *testing.T, otherwise, text string) {
	t.Helper()
	testkit.Includes(t, otherwise, a.lastRequest(), text)
}

func bash(command string) call {
	return call{"Bash", map[string]any{"command": command, "description": "run"}}
}

// runs is a reply that calls the Bash tool alone, taskCall one of another tool, and write one of the Write tool.
func runs(command string) reply { return reply{tools: []call{bash(command)}} }

func taskCall(tool string, input map[string]any) reply { return reply{tools: []call{{tool, input}}} }

func write(path string) reply {
	return taskCall("Write", map[string]any{"file_path": path, "content": "x"})
}

// delegates calls a subagent.
var delegates = taskCall("Agent", map[string]any{"description": "sub", "prompt": "go",
	"subagent_type": "general-purpose"})
