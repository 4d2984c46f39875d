package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hostlink"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/stage"
)

// sideBridge is a bridge beside any run, its processes owned as a run's are, through which commands put
// questions to models. It keeps nothing.
type sideBridge struct {
	mark   string
	stage  *stage.Stage // nil unless this is a rehearsal
	dirs   []string
	client *bridge.Client

	mu    sync.Mutex
	spent float64 // US dollars
}

// openSideStage sets the stage of a rehearsal, if this is one, without a bridge. Errors are *exitError.
func openSideStage(c *settings.Choices, log *slog.Logger) (*sideBridge, error) {
	a := &sideBridge{mark: uuid.NewString()}
	script, err := stage.Read(*c)
	if err != nil {
		return nil, err
	}
	if script != nil {
		home, err := os.MkdirTemp("", "arbiter-home-")
		if err != nil {
			return nil, command.Environmentf("private home: %v", err)
		}
		a.dirs = append(a.dirs, home)
		if a.stage, err = stage.Set(c, script, home, "", log); err != nil {
			a.close()
			return nil, err
		}
		a.dirs = append(a.dirs, filepath.Dir(c.Options.CWD))
	}
	return a, nil
}

// openSideBridge starts one, with the stage of a rehearsal, if this is one. Errors are *exitError.
func openSideBridge(ctx context.Context, c *settings.Choices, log *slog.Logger) (*sideBridge, error) {
	a, err := openSideStage(c, log)
	if err != nil {
		return nil, err
	}
	start := bridgeStart{
		run: a.mark, cwd: c.Options.CWD, claude: c.Claude, debug: c.Debug, pidns: c.PIDNS,
		stage: a.stage, handler: hostlink.NoHandler{}, log: log,
	}
	_, _, failed := start.open(ctx, func(client *bridge.Client) { a.client = client })
	if failed != nil {
		a.close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, command.Environmentf("%s", failed.Message)
	}
	return a, nil
}

// Query implements querier, and counts what it costs.
func (a *sideBridge) Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	r, err := a.client.Query(ctx, p)
	a.mu.Lock()
	a.spent += r.CostUSD
	a.mu.Unlock()
	return r, err
}

// cost is what was spent so far, in US dollars.
func (a *sideBridge) cost() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// close ends it with all that it started.
func (a *sideBridge) close() {
	if a.client != nil {
		_ = a.client.Close() // the result does not depend on how the bridge ended
		proctree.Sweep(a.mark, "")
	}
	if a.stage != nil {
		a.stage.Close()
	}
	for _, dir := range a.dirs {
		_ = os.RemoveAll(dir)
	}
}
