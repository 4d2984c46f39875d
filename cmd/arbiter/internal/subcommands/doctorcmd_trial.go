package subcommands

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
)

// trial tries the abilities of the CLI that was found, through the bridge.
func (l *inspection) trial(ctx context.Context) []host.Finding {
	seen, err := l.play(ctx)
	if err != nil {
		seen = host.Unstarted(err)
	}
	return host.Abilities(seen, PinnedVersion)
}

// play runs a trial in a scratch directory, which it removes.
func (l *inspection) play(ctx context.Context) (seen host.Observed, err error) {
	dir, err := os.MkdirTemp("", "arbiter-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	home, work, temp := filepath.Join(dir, "home"), filepath.Join(dir, "workspace"), filepath.Join(dir, "tmp")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(work, 0o700), os.Mkdir(temp, 0o700)); err != nil {
		return nil, err
	}
	script, err := host.TrialScript()
	if err != nil {
		return nil, err
	}
	st, err := host.EmptyStage(script, bridge.ClaudeSpec{Path: l.found.Path}, home, "TMPDIR="+temp) // the last one counts
	if err != nil {
		return nil, err
	}
	defer st.Close()
	handler, mark := host.NewTrialClient(), uuid.NewString()
	start := host.BridgeStart{Run: mark, CWD: work, PIDNS: l.choices.PIDNS, Stage: st, Handler: handler,
		Log: slog.New(slog.DiscardHandler)}
	var client *bridge.Client
	defer func() {
		if client != nil {
			_ = client.Close() // the result does not depend on how the bridge ended
			proctree.Sweep(mark, "")
		}
	}()
	_, _, failed := start.Open(ctx, func(c *bridge.Client) { client = c })
	if failed != nil {
		return nil, errors.New(failed.Message)
	}
	t := host.Trial{Client: client, Handler: handler, Dir: work, Timeout: l.c.Duration("trial-timeout")}
	return t.Run(ctx), nil
}
