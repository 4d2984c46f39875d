package host

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
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
)

// SideBridge is a bridge outside of any run, through which commands ask models. Its processes are owned like those of a
// run. It stores nothing.
type SideBridge struct {
	Mark   string
	Stage  *Stage // nil unless this is a rehearsal
	dirs   []string
	Client *bridge.Client

	mu    sync.Mutex
	spent float64 // US dollars
}

// StageSide prepares the stage if this is a rehearsal, without a bridge. Errors are *command.Error.
func StageSide(c *settings.Choices, log *slog.Logger) (*SideBridge, error) {
	a := &SideBridge{Mark: uuid.NewString()}
	script, err := ReadScenario(*c)
	if err != nil {
		return nil, err
	}
	if script != nil {
		home, err := os.MkdirTemp("", "arbiter-home-")
		if err != nil {
			return nil, command.Environmentf("private home: %v", err)
		}
		a.dirs = append(a.dirs, home)
		if a.Stage, err = SetStage(c, script, home, "", log); err != nil {
			a.Close()
			return nil, err
		}
		a.dirs = append(a.dirs, filepath.Dir(c.Options.CWD))
	}
	return a, nil
}

// OpenSide starts a bridge, with a stage if this is a rehearsal. Errors are *command.Error.
func OpenSide(ctx context.Context, c *settings.Choices, log *slog.Logger) (*SideBridge, error) {
	a, err := StageSide(c, log)
	if err != nil {
		return nil, err
	}
	start := BridgeStart{
		Run: a.Mark, CWD: c.Options.CWD, Claude: c.Claude, Debug: c.Debug, PIDNS: c.PIDNS,
		Stage: a.Stage, Handler: NoHandler{}, Log: log,
	}
	_, _, failed := start.Open(ctx, func(client *bridge.Client) { a.Client = client })
	if failed != nil {
		a.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, command.Environmentf("%s", failed.Message)
	}
	return a, nil
}

// Query implements [Querier], and adds up the cost.
func (a *SideBridge) Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	r, err := a.Client.Query(ctx, p)
	a.mu.Lock()
	a.spent += r.CostUSD
	a.mu.Unlock()
	return r, err
}

// Cost returns what was spent so far, in US dollars.
func (a *SideBridge) Cost() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// Close ends the bridge and all processes that it started.
func (a *SideBridge) Close() {
	if a.Client != nil {
		_ = a.Client.Close() // the result does not depend on how the bridge ended
		proctree.Sweep(a.Mark, "")
	}
	if a.Stage != nil {
		a.Stage.Close()
	}
	for _, dir := range a.dirs {
		_ = os.RemoveAll(dir)
	}
}
