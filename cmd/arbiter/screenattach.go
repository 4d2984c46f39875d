package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Attach implements tui.Host: the session of an agent, in the terminal of the screen.
func (h *host) Attach(agent string) error {
	l := h.present()
	if l == nil {
		return errors.New("nothing runs")
	}
	cols, rows, err := ptyproxy.Size(os.Stdin)
	if err != nil {
		return err
	}
	// Ctrl+C gives up while it is being opened, and is no end of the run.
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	defer h.withTerminal(stop)()
	h.env.progress("Attaching to " + agent + ". Ctrl+C gives up.")
	p := control.AttachParams{Agent: agent, Size: control.Size{Cols: max(cols, 1), Rows: max(rows, 1)},
		Term: os.Getenv("TERM")}
	a, err := l.run.attach(ctx, input.ChannelScreen, "the screen", p, h.env.progress)
	if err != nil {
		if ctx.Err() != nil {
			return nil // whoever gave up knows
		}
		return err
	}
	remote := newRemoteHere(a)
	err = h.env.show(h.ctx, a.Result(), ptyproxy.Proxy{}, remote, func(within time.Duration) (control.Ended, bool) {
		ctx, cancel := context.WithTimeout(h.ctx, within)
		defer cancel()
		ended := a.Detach(ctx)
		return ended, true
	})
	if h.ctx.Err() != nil {
		return nil
	}
	return err
}

// Halt implements tui.Run.
func (l *session) Halt() string {
	r := l.run.halt(input.ChannelScreen)
	switch {
	case len(r.Left) > 0:
		return "Still alive: " + r.Left[0]
	case !r.Halted:
		return "All is still. The run itself does not answer."
	}
	return "All is still. /continue wakes them."
}

// remoteHere is a session of this process's own run as a terminal elsewhere.
type remoteHere struct {
	*attachment
	ctx   context.Context
	leave context.CancelFunc
}

func newRemoteHere(a *attachment) remoteHere {
	ctx, cancel := context.WithCancel(context.Background())
	return remoteHere{a, ctx, cancel}
}

// Read, Write, Resize and Leave implement ptyproxy.Remote.
func (r remoteHere) Read(p []byte) (int, error) { return r.Take(r.ctx, p) }

func (r remoteHere) Write(p []byte) (int, error) {
	if err := r.attachment.Write(r.ctx, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (r remoteHere) Resize(cols, rows int) {
	_ = r.attachment.Resize(r.ctx, control.Size{Cols: cols, Rows: rows}) // Read tells of one that has ended
}

func (r remoteHere) Leave() { r.leave() }
