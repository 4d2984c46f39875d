package main

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestScreenIsLeft: a run continues when its screen is left, killed, or loses its terminal, and another screen
// shows all of it.
func TestScreenIsLeft(t *testing.T) {
	testkit.Long(t)
	for _, way := range []struct {
		name string
		do   func(p *pane)
		exit int // -1: it was killed
		back []string
	}{
		{"Ctrl+D", func(p *pane) { p.press("Ctrl+D") }, int(contract.ExitComplete), []string{"--resume"}},
		{"d", func(p *pane) { p.press("Ctrl+C"); p.await("Leave?"); p.press("d") }, int(contract.ExitComplete), nil},
		{"hang-up", func(p *pane) { p.HangUp() }, int(contract.ExitTerminated), []string{"attach"}},
		{"kill", func(p *pane) { _ = p.Process().Signal(syscall.SIGKILL) }, -1, []string{"attach", "RUN"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			p := h.asking()
			host := h.hosts()
			way.do(p)
			state := testkit.Must(p.Exit(p.ctx))(t)
			if got := state.ExitCode(); got != way.exit {
				t.Errorf("exit code %d (%v), want %d, with the screen\n%s", got, state, way.exit, p.Screen().Text())
			}
			text, back := p.Screen().Text(), "arbiter attach "+h.runs()[0][:8]
			if way.exit == int(contract.ExitComplete) && !strings.Contains(text, back) {
				t.Errorf("it is not said how to come back:\n%s", text)
			}
			for i, arg := range way.back {
				if arg == "RUN" {
					way.back[i] = h.runs()[0][:8]
				}
			}
			p = h.open(way.back...)
			p.await("What shall it be called?", "The Arbiter awaits your answer.", "Make a thing")
			if now := h.hosts(); len(host) != 1 || len(now) != 1 || host[0] != now[0] {
				t.Fatalf("the run was played by %v and is by %v", host, now)
			}
			p.Type("call it dawn\n")
			p.await("y Allow once")
			p.finish()
			h.over(p)
		})
	}
}

// TestHostIsKilled: when a run's host process is killed, no process keeps running, the screen says so, and the
// screen can resume the run.
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	testkit.OK(t, syscall.Kill(h.hosts()[0], syscall.SIGKILL))
	p.await("was killed or crashed", "Resume it", "interrupted")
	awaitGone(t, h.runs()[0])
	next := "arbiter --resume --session " + h.runs()[0][:8]
	for _, command := range []string{"status", "send hello", "allow", "stop", "watch", "halt"} {
		if text := h.fails(contract.ExitUsage, strings.Fields(command)...); !strings.Contains(text, next) {
			t.Errorf("%s does not name the run and the command: %s", command, text)
		}
	}
	p.press("n", "Ctrl+C")
	h.ended(p, contract.ExitFailed)
	p = h.open("--resume")
	p.await("What shall it be called?", "The Arbiter awaits your answer.", "Make a thing")
	h.interrupted(p)
}

// TestInboxOfAllRuns: what waits in any run is listed with numbers, and answered by them from another directory.
func TestInboxOfAllRuns(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	cmd := exec.Command("arbiter", "inbox")
	other := h.run(cmd)
	other.await("1. run "+h.runs()[0][:8], "What shall it be called?", "Answer (NUMBER y")
	other.Send("2 Dawn\r")
	other.await("begin with a number from 1 to 1")
	other.Send("1 dawn\r")
	other.await("Run " + h.runs()[0][:8] + ": message to arbiter")
	other.Send("\r")
	testkit.Must(other.Exit(other.ctx))(t)
	h.interrupted(p)
}

// TestPlainIsLeft: --plain leaves its run when its terminal is gone, and a plain client of a live run prints
// the same story.
func TestPlainIsLeft(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.run(exec.Command("arbiter", append(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")), "--plain",
		"--task", "Make a thing")...))
	p.await("What shall it be called?")
	host := h.hosts()
	p.HangUp()
	testkit.Must(p.Exit(p.ctx))(t)
	p = h.run(exec.Command("arbiter", "--plain"))
	p.await("What shall it be called?")
	if now := h.hosts(); len(host) != 1 || len(now) != 1 || host[0] != now[0] {
		t.Fatalf("the run was played by %v and is by %v", host, now)
	}
	p.press("Ctrl+C")
	state := testkit.Must(p.Exit(p.ctx))(t)
	if got := state.ExitCode(); got != int(contract.ExitInterrupted) {
		t.Errorf("exit code %d, want %d, with the screen\n%s", got, contract.ExitInterrupted, p.Screen().Text())
	}
	if left := h.alive(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
