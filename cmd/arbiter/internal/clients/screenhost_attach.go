package clients

import (
	"context"
	"errors"
	"os"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Attach implements tui.Host: it shows the session of an agent in the terminal of the screen.
func (h *ScreenHost) Attach(agent string) error {
	l := h.Session()
	if l == nil {
		return errors.New("nothing runs")
	}
	cols, rows, err := ptyproxy.Size(os.Stdin)
	if err != nil {
		return err
	}
	// While the session is being opened, Ctrl+C gives up, and does not end the run.
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	defer h.withTerminal(stop)()
	progress := subcommands.Progress(h.env.Stderr)
	progress("Attaching to " + agent + ". Ctrl+C gives up.")
	client, _, err := control.Dial(ctx, l.Socket(), progress)
	if err != nil {
		return err
	}
	defer client.Close()
	p := control.AttachParams{Agent: agent, Size: control.Size{Cols: max(cols, 1), Rows: max(rows, 1)},
		Term: os.Getenv("TERM"), Frontend: input.ChannelScreen}
	r, err := client.Attach(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return nil // the person who gave up knows
		}
		return err
	}
	err = subcommands.ShowAttach(h.ctx, h.env.Stderr, r, ptyproxy.Proxy{}, client)
	if h.ctx.Err() != nil {
		return nil
	}
	return err
}
