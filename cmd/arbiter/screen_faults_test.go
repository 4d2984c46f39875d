package main

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"

	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

// pane is a terminal with arbiter's screen in it.
type pane struct {
	*pty.Terminal
	t   *testing.T
	ctx context.Context
	cmd *exec.Cmd
}

// show starts arbiter in a terminal of that size, with a private home and nothing of
// our environment but PATH. A variable in env goes before one of the same name.
func show(t *testing.T, size pty.Size, dir string, env []string, args ...string) *pane {
	t.Helper()
	home := t.TempDir()
	if dir == "" {
		dir = home
	}
	cmd := exec.Command("arbiter", args...)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + cacheHome(), "TMPDIR=" + t.TempDir(), "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
	}, env...)
	term, err := pty.Start(cmd, size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(term.Close)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return &pane{Terminal: term, t: t, ctx: ctx, cmd: cmd}
}

// await waits until the screen shows texts.
func (p *pane) await(texts ...string) pty.Screen {
	p.t.Helper()
	return p.until(pty.Shows(texts...))
}

func (p *pane) until(ok func(pty.Screen) bool) pty.Screen {
	p.t.Helper()
	s, err := p.Wait(p.ctx, ok)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// press presses keys, one after the other.
func (p *pane) press(names ...string) {
	p.t.Helper()
	if err := p.Press(names...); err != nil {
		p.t.Fatal(err)
	}
}

// leave leaves by the keyboard and waits for the end.
func (p *pane) leave() *os.ProcessState {
	p.t.Helper()
	p.press("Ctrl+C", "Ctrl+C", "y")
	state, err := p.Exit(p.ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	return state
}

var _ = slices.Contains[[]int]

func TestPeek(t *testing.T) {
	p := show(t, pty.Size{Columns: 100, Rows: 30}, "", nil, "--stand-in", "--rehearse")
	s := p.await("Speak, mortal.")
	t.Log("\n" + s.Text())
	p.Type("Weave\n")
	s = p.await("It is done.")
	t.Log("\n" + s.Text(), s.Title, s.Notices)
	t.Log(pty.FullScreen.Check(p.Output()), string(p.Answers()))
	st := p.leave()
	t.Log(st, "\n", p.Screen().Text())
}
