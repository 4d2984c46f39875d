package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// twoHands is a play in which two Orchestrators work. They can be interrupted at any point, and then repeat
// what is missing.
const twoHands = `
name: two-hands
title: Threads that are cut and taken up again
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part one}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part two}}
      - verdict: {decision: CONTINUE, message: Weave., reason: Both are summoned.}
      - expect: A part is woven
        verdict: &patience {decision: CONTINUE, message: Patience., reason: Another is at work.}
      - expect: A part is woven
        verdict: {decision: COMPLETE, message: It is done., summary: Both are woven., reason: Both are done.}
    otherwise: {verdict: *patience}
  - name: one
    match: {role: orchestrator, contains: Weave part one}
    steps:
      - use: [{tool: Bash, input: {command: "echo begun > one.begun", description: Begin}}]
    otherwise:
      use: [{tool: Bash, input: {command: "echo one > one.txt", description: Weave}}]
      verdict: &woven
        kind: done
        expects_response: true
        message: A part is woven.
        handoff:
          accomplished: [a part]
          remaining: []
          key_context: All there.
          checks: [{command: "git log -1 --format=%s", expect: exit 0}]
  - name: two
    match: {role: orchestrator, contains: Weave part two}
    steps:
      - use: [{tool: Bash, input: {command: "echo begun > two.begun", description: Begin}}]
    otherwise:
      use: [{tool: Bash, input: {command: "echo two > two.txt", description: Weave}}]
      verdict: *woven
`

// A linkStep is a step of a run on a host, identified by its first line that goes over the link.
type linkStep struct {
	name string
	far  bool
	text string
}

var linkSteps = []linkStep{
	{"initialize", false, `"method":"initialize"`},
	{"push", false, "git receive-pack"},
	{"prepare", false, `"method":"work_prepare"`},
	{"spawn", false, `"method":"spawn"`},
	{"first message", false, `"method":"message"`},
	{"delivered", true, `"event":"delivered"`},
	{"tool call", true, `"event":"tool_use"`},
	{"tool result", true, `"event":"tool_result"`},
	{"end of a turn", true, `"event":"turn"`},
	{"check", false, `"method":"check"`},
	{"commit", false, `"method":"work_commit"`},
	{"fetch", false, "git upload-pack"},
}

// linkFault is a way in which a link breaks.
type linkFault struct {
	name string
	end  bool // the host has an end command, so that arbiter need not wait for the lease
	do   func(h *linkedHost) func(link int)
}

var linkFaults = []linkFault{
	{"reset", true, func(h *linkedHost) func(int) { return func(int) { h.relay.Reset() } }},
	{"black hole", false, func(h *linkedHost) func(int) { return func(int) { h.relay.Hole() } }},
	{"killed link", false, func(h *linkedHost) func(int) {
		return func(link int) { _ = syscall.Kill(link, syscall.SIGKILL) }
	}},
}

// TestLinkBreaks: at each step of a run the link to a host breaks, before or after what is sent at that step
// arrives. There are never two processes on one session, nothing is lost, and nothing is delivered or merged
// twice. One case for each kind of fault is always played; ARBITER_LONG=1 plays all of them, and one for each
// kind with the real CLI.
func TestLinkBreaks(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	short := []string{"spawn reset before", "tool call black hole after", "fetch killed link before"}
	for _, p := range players(t) {
		for _, step := range linkSteps {
			for _, fault := range linkFaults {
				for _, when := range []string{"before", "after"} {
					name := strings.Join([]string{step.name, fault.name, when}, " ")
					if (p.real || !testkit.AtNight()) && !slices.Contains(short, name) {
						continue
					}
					t.Run(p.name+" "+name, func(t *testing.T) {
						p.long(t)
						t.Parallel()
						playBrokenLink(t, p, step, fault, when == "after")
					})
				}
			}
		}
	}
}

func playBrokenLink(t *testing.T, p player, step linkStep, fault linkFault, after bool) {
	claude := ""
	if p.real {
		claude = p.args[len(p.args)-1]
	}
	h := newLinkedHost(t, claude)
	var broken atomic.Bool
	h.onLine = func(e linkLine) linkBreak {
		if e.far != step.far || !strings.Contains(e.line, step.text) || !broken.CompareAndSwap(false, true) {
			return linkBreak{}
		}
		return linkBreak{fault.do(h), after, fault.name == "black hole"}
	}
	config := h.configuration(fault.end)
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, model := hiredIn(t, p, twoHands, repo.Path, "--config", config, "--hosts", "box", "--lease", "5s",
		"--allow", "Bash", "--task", "Weave")
	switch {
	case fault.name == "black hole" && step.name == "initialize":
		// There is no lease yet, and a host may have a queue: arbiter does not give up a host that answers
		// late.
		hosttest.Await(t, "the black hole", h.relay.Holed)
		h.restore()
	case fault.name == "black hole":
		await(s, "the loss of the host", func(_ string, b contract.Host) bool { return b.Status == contract.HostLost })
		h.restore()
	}
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	if !broken.Load() {
		t.Fatalf("the run never came to %s\n%s", step.name, s.dump())
	}
	if list := model.Problems(); len(list) > 0 {
		t.Errorf("the play left its script: %v\n%s", list, s.dump())
	}
	h.sound(s, model)
	got := strings.Fields(repo.Git("ls-files", "--cached", "--others", "--exclude-standard"))
	if slices.Sort(got); !slices.Equal(got, []string{"old.txt", "one.begun", "one.txt", "two.begun", "two.txt"}) {
		t.Errorf("the workspace has %q\n%s", got, s.dump())
	}
}

var envelopeID = regexp.MustCompile(`⟦[^⟧\n]*\| id: ([^ |⟧]+)[^⟧\n]*⟧`)

// sound checks the ledger, the model's requests and the events: one process on a session at a time, no message
// twice in a history or read again after its turn, each commit merged once, and no process left alive.
func (h *linkedHost) sound(s *script, model *rehearsal.Server) {
	t := h.t
	t.Helper()
	if _, err := os.Stat(filepath.Join(h.dir, "sessions", "twice")); err == nil {
		t.Errorf("two processes were on one session at once\n%s", s.dump())
	}
	ended := map[string]bool{}
	ledger := []ledgerLine{}
	if !h.real {
		ledger = readLedger(t, filepath.Join(h.dir, "ledger")) // only the stand-in writes one
	}
	for _, l := range ledger {
		key := l.Session + " " + l.Message
		switch {
		case l.Message == "":
		case l.Event == "ended":
			ended[key] = true
		case l.Event == "took" && ended[key]:
			t.Errorf("session %s took message %s up again after its turn", l.Session, l.Message)
		}
	}
	histories := map[string]rehearsal.Request{} // the last request of each session
	for _, r := range model.Requests() {
		if r.Role == rehearsal.RoleOrchestrator {
			histories[r.Session] = r
		}
	}
	for session, r := range histories {
		count := map[string]int{}
		for _, found := range envelopeID.FindAllStringSubmatch(string(r.Messages), -1) {
			if count[found[1]]++; count[found[1]] == 2 {
				t.Errorf("message %s is twice in session %s\n%s", found[1], session, s.dump())
			}
		}
	}
	if len(histories) != 2 {
		t.Errorf("%d sessions, want 2", len(histories))
	}
	heads := map[string]bool{}
	for _, b := range collect[contract.Merge](s) {
		if b.Status == "merged" && heads[b.Head] {
			t.Errorf("%s was merged twice\n%s", b.Head, s.dump())
		}
		heads[b.Head] = true
	}
	if left := h.processes(); len(left) > 0 {
		t.Errorf("left on the host: %v", left)
	}
}

// TestHostByKubectl plays a run by the documented recipe for Kubernetes, against a stand-in for kubectl that
// behaves as measured: exec leaves its processes behind when the link breaks, and deleting the pod ends them at
// once. After that, the next bridge does not wait for the lease.
func TestHostByKubectl(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := newLinkedHost(t, "")
	h.survives = true
	said := filepath.Join(h.dir, "said")
	kubectl := write(t, fmt.Sprintf(`#!/bin/sh
echo "$@" >>'%s'
case "$1" in
delete) exec far-link '%s' end ;;
esac
while [ "$1" != -- ]; do shift; done
shift
exec far-link '%s' "$@"
`, said, h.addr, h.relay.Addr()), h.dir, "kubectl")
	if err := os.Chmod(kubectl, 0o755); err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	h.onLine = func(e linkLine) linkBreak {
		if !e.far || !strings.Contains(e.line, `"event":"tool_use"`) || !broken.CompareAndSwap(false, true) {
			return linkBreak{}
		}
		return linkBreak{do: func(int) { h.relay.Reset() }, after: true}
	}
	config := write(t, fmt.Sprintf(`hosts:
  pod:
    command: ['%[1]s', exec, -i, worker, -c, main, --]
    end: ['%[1]s', delete, pod, worker, --grace-period=0, --force, --wait]
    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]
`, kubectl), t.TempDir(), "config.yaml")
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, model := hiredIn(t, players(t)[0], twoHands, repo.Path, "--config", config, "--hosts", "pod", "--lease", "1h",
		"--allow", "Bash", "--task", "Weave")
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	if list := model.Problems(); len(list) > 0 || !broken.Load() {
		t.Errorf("the play left its script: %v\n%s", list, s.dump())
	}
	h.sound(s, model)
	words := textOf(t, said)
	for _, want := range []string{
		"exec -i worker -c main -- arbiter bridge --remote\n", "exec -i worker -c main -- git receive-pack /",
		"exec -i worker -c main -- git upload-pack /", "delete pod worker --grace-period=0 --force --wait\n",
	} {
		if !strings.Contains(words, want) {
			t.Errorf("kubectl was never called with %q:\n%s", want, words)
		}
	}
}
