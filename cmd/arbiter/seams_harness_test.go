package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// modelHome is a home, a workspace and a scripted model that can be used by several arbiters.
type modelHome struct {
	*testHome
	model  *rehearsal.Server
	claude string
	args   []string // arguments of a run's first process
}

// build makes a dwelling for a play. more has further flags for its run.
func build(t *testing.T, who player, play string, more ...string) *modelHome {
	t.Helper()
	onlyLinux(t)
	sc := testkit.Must(rehearsal.Parse("play.yaml", []byte(play)))(t)
	model := serve(t, play)
	h := newTestHome(t, who)
	h.knows(model)
	h.env = append(append(h.env, asksOf(model)...), "CLAUDE_CODE_MAX_RETRIES=0", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_SANDBOXED=1", "NO_PROXY=127.0.0.1")
	claude := who.program(t)
	args := []string{"--trust", "--claude", claude, "--model", "claude-sonnet-4-5", "--task", "Weave"}
	for _, rule := range sc.Allow {
		args = append(args, "--allow", rule)
	}
	return &modelHome{h, model, claude, append(args, more...)}
}

// script begins a run with this test at its stdin and stdout.
func (h *modelHome) script(more ...string) *script {
	h.t.Helper()
	s := prepare(h.t, h.env, slices.Concat([]string{"--json"}, h.args, more)...)
	s.cmd.Env, s.cmd.Dir = h.env, h.work
	s.launch()
	return s
}

// touch creates an empty file in the workspace.
func (h *modelHome) touch(name string) {
	h.t.Helper()
	testkit.OK(h.t, os.WriteFile(filepath.Join(h.work, name), nil, 0o600))
}

// processRunsOf splits the lines of a run by process.
func processRunsOf(lines []contract.Line) [][]contract.Line {
	var processRuns [][]contract.Line
	for _, l := range lines {
		if _, ok := l.Body.(contract.Session); ok {
			processRuns = append(processRuns, nil)
		}
		processRuns[len(processRuns)-1] = append(processRuns[len(processRuns)-1], l)
	}
	return processRuns
}

// histories returns the last request of each session of one of the roles. It checks that no envelope is twice in one.
func histories(t *testing.T, model *rehearsal.Server, roles ...rehearsal.Role) map[string]rehearsal.Request {
	t.Helper()
	latest := map[string]rehearsal.Request{}
	for _, r := range model.Requests() {
		if r.Agent == "" && slices.Contains(roles, r.Role) {
			latest[r.Session] = r
		}
	}
	for session, r := range latest {
		count := map[string]int{}
		for _, m := range envelopeID.FindAllStringSubmatch(string(r.Messages), -1) {
			if count[m[1]]++; count[m[1]] == 2 {
				t.Errorf("message %s is twice in the history of session %s (%s)", m[1], session, r.Actor)
			}
		}
	}
	return latest
}

// take attaches another terminal to an agent's session.
func (h *modelHome) take(id string) *pane {
	h.t.Helper()
	p := h.open("attach", id)
	if h.player.real {
		p.await("for shortcuts")
	} else {
		p.await("stand-in, session", "> ")
	}
	return p
}

// giveBack detaches it again.
func (h *modelHome) giveBack(p *pane) {
	h.t.Helper()
	p.press("Ctrl+]")
	h.left(p, contract.ExitComplete)
}

// sound checks invariants of a run over all its processes: each process printed at most one result, and the
// last one did; the journal holds the printed events and replays them byte for byte; each permission request
// was answered, or repeated by the next process; no released agent was started again; and no history
// contains a message twice.
func (h *modelHome) sound(processRuns ...*script) {
	h.t.Helper()
	last := processRuns[len(processRuns)-1]
	out, _ := last.output(0, "replay", last.run())
	replayed := testkit.Must(contractLinesOf(out))(h.t)
	of := processRunsOf(replayed)
	if len(of) != len(processRuns) {
		h.t.Fatalf("the journal has %d process runs, there were %d", len(of), len(processRuns))
	}
	gone := map[string]string{}
	for n, run := range processRuns {
		printed := run.lines
		if len(printed) > len(of[n]) {
			h.t.Fatalf("process run %d printed %d lines, and the journal has %d", n+1, len(printed), len(of[n]))
		}
		for i := range printed {
			a, _ := json.Marshal(printed[i])
			b, _ := json.Marshal(of[n][i])
			if string(a) != string(b) {
				h.t.Fatalf("process run %d, line %d was\n%s\nand is replayed as\n%s", n+1, i+1, a, b)
			}
		}
		results, open := 0, map[string]string{}
		for i, l := range of[n] {
			switch b := l.Body.(type) {
			case contract.Result:
				if results++; i != len(of[n])-1 {
					h.t.Errorf("process run %d goes on after its result", n+1)
				}
			case contract.PermissionRequest:
				open[b.Request] = b.Tool
			case contract.Permission:
				delete(open, b.Request)
			case contract.Done:
				if b.Reason != "" && !passes(b.Reason) {
					gone[l.ID] = b.Reason
				}
			case contract.Spawn:
				testkit.Same(h.t, l.ID+" is started again and was let go", "", gone[l.ID])
			}
		}
		if n == len(processRuns)-1 && results != 1 {
			h.t.Errorf("%d results of the last life", results)
		}
		if n < len(processRuns)-1 {
			if results > 0 { // agents of an ended process come back
				clear(gone)
			}
			again := map[string]bool{}
			for _, l := range of[n+1] {
				if b, ok := l.Body.(contract.PermissionRequest); ok {
					again[b.Request] = true
				}
			}
			for request, tool := range open {
				if !again[request] {
					h.t.Errorf("the request %s for %s was open when life %d ended, and is not asked again", request,
						tool, n+1)
				}
			}
			continue
		}
		testkit.Empty(h.t, "open at the end", open)
	}
	histories(h.t, h.model, rehearsal.RoleArbiter, rehearsal.RoleOrchestrator)
	for _, p := range h.model.Problems() {
		if !strings.Contains(p, "no actor fits") { // an agent whose bridge was just killed lacks our tools
			h.t.Errorf("the play left its script: %s", p)
		}
	}
}

// passes reports whether another process of the agent may follow an end with this reason.
func passes(reason string) bool {
	return slices.Contains([]string{"crash", "takeover", "halted", "renewed", "hung", "resource", "invalid_resume",
		"trust"}, reason)
}

var envelopeID = regexp.MustCompile(`⟦[^⟧\n]*\| id: ([^ |⟧]+)[^⟧\n]*⟧`)
