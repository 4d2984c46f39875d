package main

import (
	"slices"
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
