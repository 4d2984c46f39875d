package main

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// moment is a play that is interrupted at one point. What end does with the interrupted process, it can also do
// with the next one.
type moment struct {
	name, work string // the Orchestrator's steps, as YAML
	again      string // its reaction to the note that no human refused its call
	args       []string
	begin      func(h *modelHome, s *script) // up to the moment
	end        func(h *modelHome, s *script) // from there on, with the process that then runs
	// real is the victim that is always played with the real CLI, if any; the others need ARBITER_LONG.
	real string
}

// cutPlay is the play of all moments: one Orchestrator, and an Arbiter that waits for it.
const cutPlay = `name: cut
allow: ["Bash(*)"]
actors:
  - name: decider
    match: {role: main, contains: "# What is to be judged"}
    otherwise: {verdict: {decision: COMPLETE, reason: it is spun, summary: spun}}
  - name: thinker
    match: {role: main, contains: "which agent works next|# What you decide", nth: 1}
    steps: [{fault: {stall: 300s}, repeat: forever}]
  - name: chooser
    match: {role: main, contains: "which agent works next|# What you decide"}
    otherwise: {verdict: {decision: SELECT_MODE, mode: developer, reason: it is small, message: Spin it.}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - delay: PAUSE
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
    otherwise:
      - {expect: "consider it|orch-9", verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-9, message: Well?, reason: r}}
      - {expect: spend it, usage: {output: 100000}, verdict: {decision: CONTINUE, message: Patience., reason: r}}
      - {expect: It is spun, verdict: {decision: COMPLETE, message: It is done., summary: spun, reason: r}}
      - {expect: the red one, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: Take the red one., reason: r}}
      - {expect: "Which thread|took the session of", verdict: {decision: ADDRESS_HUMAN, message: Which thread shall it be?, reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
WORK
    otherwise:
AGAIN      - verdict: {kind: done, expects_response: true, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none, checks: CHECKS}}
`

// freshRequest waits for a permission request that is open in a process, and returns its id.
func freshRequest(s *script) string {
	s.t.Helper()
	id := ""
	s.see("an open request", func(l contract.Line) bool {
		b, ok := l.Body.(contract.PermissionRequest)
		if !ok {
			return false
		}
		id = b.Request
		return !slices.ContainsFunc(s.lines, func(l contract.Line) bool {
			p, ok := l.Body.(contract.Permission)
			return ok && p.Request == id
		})
	})
	return id
}

const aCheckRuns = "a check runs"

var moments = []moment{
	{
		name: "a permission waits",
		work: `    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/spun.txt", content: "spun"}}]`,
		again: `      - {expect: nobody refused them, use: [{tool: Write, input: {file_path: "{{.cwd}}/spun.txt", content: "spun"}}]}
`,
		begin: func(_ *modelHome, s *script) {
			await[contract.PermissionRequest](s, "a request", nil)
		},
		end: func(h *modelHome, s *script) {
			s.send(contract.Permit{Request: freshRequest(s), Behavior: "allow"})
			awaitFile(h.t, filepath.Join(h.work, "spun.txt"))
		},
	},
	{
		name: aCheckRuns,
		work: `    steps: []`,
		real: "arbiter",
		begin: func(h *modelHome, s *script) {
			s.send(contract.Permit{Request: freshRequest(s), Behavior: "allow"}) // no rule is about more than plain words
			awaitFile(h.t, filepath.Join(h.work, "checking"))
		},
		end: func(h *modelHome, _ *script) { h.touch("go") },
	},
	{
		name: "a session is taken over",
		work: `    steps:
      - {expect: Spin it, verdict: {kind: question, expects_response: true, message: Which thread?}}`,
		begin: func(h *modelHome, s *script) {
			await[contract.Question](s, "a question", nil)
			p := h.take("orch-1")
			h.t.Cleanup(func() { _, _ = p.Exit(p.ctx) })
		},
		end: func(_ *modelHome, s *script) {
			await(s, "the end of the takeover", func(_ string, b contract.Takeover) bool { return b.State == "ended" })
			await[contract.Question](s, "a question", nil)
			s.send(contract.Say{Text: "the red one"})
		},
	},
	{
		name: "another than the Arbiter decides",
		work: `    steps: []`,
		args: []string{"--decider", "stateless"},
		begin: func(h *modelHome, _ *script) {
			testkit.Await(h.t, "a model that is asked", func() bool {
				return slices.ContainsFunc(h.model.Requests(), func(r rehearsal.Request) bool {
					return r.Actor == "thinker"
				})
			})
			h.touch("go")
		},
		end: func(*modelHome, *script) {},
	},
	{
		name: "all is halted",
		work: `    steps:
      - use: [{tool: Bash, input: {command: "while [ ! -e go ]; do echo spin > begun; sleep 0.05; done", description: Spin}}]`,
		begin: func(h *modelHome, s *script) {
			awaitFile(h.t, filepath.Join(h.work, "begun"))
			s.send(contract.Halt{})
			await[contract.Halted](s, "the halt", nil)
		},
		end: func(h *modelHome, s *script) {
			h.touch("go")
			s.send(contract.Continue{})
		},
	},
	{
		name: "a usage limit is waited out",
		work: `    steps:
      - fault: {status: 429, message: "Claude AI usage limit reached|SOON"}`,
		begin: func(_ *modelHome, s *script) { await[contract.Retry](s, "the wait", nil) },
		end:   func(h *modelHome, _ *script) { h.touch("go") },
	},
	{
		name: "trust is asked for again",
		work: `    steps: []`,
		begin: func(h *modelHome, s *script) {
			await[contract.Spawn](s, "the Arbiter", nil)
			h.configure(tampered)
			await(s, "the question of trust", func(_ string, b contract.Error) bool {
				return b.Category == bridge.CatTrust
			})
			h.touch("go")
		},
		end: func(_ *modelHome, s *script) {
			s.send(contract.Choose{Option: "without"}) // another process continues without them on its own
		},
	},
}

// TestCutAndTakenUp kills arbiter, its bridge, or both during each slow step: the run completes, nothing is
// lost or duplicated, and its journal is consistent.
func TestCutAndTakenUp(t *testing.T) {
	testkit.Long(t)
	victims := []string{"arbiter", "bridge", "both"}
	for _, who := range players(t) {
		for _, m := range moments {
			for _, victim := range victims {
				t.Run(who.name+"/"+m.name+"/"+victim, func(t *testing.T) {
					if m.real != victim {
						who.long(t)
					}
					t.Parallel()
					m.play(t, who, victim)
				})
			}
		}
	}
}

// stage begins the play, and returns at its moment.
func (m moment) stage(t *testing.T, who player, args ...string) (*modelHome, *script) {
	t.Helper()
	checks := "[]"
	if m.name == aCheckRuns {
		checks = `[{command: "while [ ! -e go ]; do echo spin > checking; sleep 0.05; done", expect: exit 0}]`
	}
	pause := "0s"
	if strings.HasPrefix(m.name, "trust") {
		pause = "3s" // time to change the settings before another agent starts
	}
	text := strings.NewReplacer("CHECKS", checks, "AGAIN", m.again, "PAUSE", pause, "SOON",
		strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)).Replace(strings.Replace(cutPlay, "WORK", m.work, 1))
	h := build(t, who, text)
	h.configure(`{"hooks":{}}`)
	s := h.script(slices.Concat(m.args, args)...)
	m.begin(h, s)
	return h, s
}

// configure writes the workspace's settings.
func (h *modelHome) configure(settings string) {
	h.t.Helper()
	write(h.t, settings, h.work, ".claude", "settings.json")
}

// tampered are settings that no human has trusted.
const tampered = `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}]}}`

func (m moment) play(t *testing.T, who player, victim string) {
	t.Helper()
	var args []string
	if victim == "bridge" {
		args = []string{"--pid-namespace", "never"} // agents then survive the bridge for a moment, and run on
	}
	h, s := m.stage(t, who, args...)
	processRuns := []*script{s}
	switch pid, ok := childNamed(s.cmd.Process.Pid, "bridge"); {
	case !ok:
		t.Fatal("no bridge")
	case victim == "bridge":
		slay(t, pid)
		if m.name != "all is halted" {
			await[contract.Restart](s, "another bridge", nil)
		}
	default:
		if victim == "both" {
			s.mustSignal(syscall.SIGSTOP) // so that it does not start another
			slay(t, pid)
		}
		s.killed()
		s = s.again("--json", "--resume")
		processRuns = append(processRuns, s)
	}
	m.end(h, s)
	h.completes(processRuns...)
}

// completes waits until the run is complete, and checks its invariants.
func (h *modelHome) completes(processRuns ...*script) {
	h.t.Helper()
	s := processRuns[len(processRuns)-1]
	await[contract.Result](s, "the result", nil)
	r := s.finish(contract.ExitComplete)
	// An Arbiter that insists on what another decider decided says that it is done.
	if !strings.Contains(r.Summary, "spun") && !sums(r, "done") {
		h.t.Errorf("result %+v", r)
	}
	h.sound(processRuns...)
}

// slay kills a process.
func slay(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
		t.Fatal(err)
	}
}
