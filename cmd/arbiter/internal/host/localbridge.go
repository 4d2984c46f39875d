package host

// This part of the package starts the bridge on this machine: the bridge of a run, or a bridge outside of any
// run, through which a command asks models.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// LocalBridge is the name of this machine's bridge among the bridges of a run.
const LocalBridge = "here"

// initializeDeadline bounds the bridge's first answer, which includes the first run of `claude --version` on a
// machine.
const initializeDeadline = 30 * time.Second

// BridgeStart has the parameters of a bridge.
type BridgeStart struct {
	Run     string // its mark is set for the bridge and all descendants
	CWD     string
	Claude  string // empty: claude on PATH
	Debug   bool
	PIDNS   proctree.Mode
	Stage   *Stage   // nil unless this is a rehearsal
	Lock    *os.File // a lock that the bridge holds, too; may be nil
	Handler bridge.Handler
	Started func(pid int) // called with the process id; may be nil
	Log     *slog.Logger
}

// Open starts the process and waits for its first answer. The caller closes the client that keep receives, also
// after a failure.
func (b BridgeStart) Open(ctx context.Context,
	keep func(*bridge.Client)) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
	failed := func(c bridge.Category, format string,
		args ...any) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
		return nil, bridge.ClaudeInfo{}, &input.BridgeFailed{Category: c, Message: fmt.Sprintf(format, args...)}
	}
	self, err := os.Executable()
	if err != nil {
		return failed(bridge.CatInternal, "cannot find arbiter's own program: %v", err)
	}
	args := []string{"bridge"}
	if b.Debug {
		args = append(args, "--debug")
	}
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir = os.Environ(), b.CWD
	claude := bridge.ClaudeSpec{Path: cmp.Or(b.Claude, "claude")}
	if b.Stage != nil {
		cmd.Env, claude = append([]string(nil), b.Stage.Env...), b.Stage.Claude
	}
	if err := proctree.AdoptOrphans(); err != nil {
		// without it, leftovers of a killed bridge are found only by their mark
		b.Log.Warn("become subreaper failed", "error", err)
	}
	if err := proctree.KeepFiles(); err != nil {
		b.Log.Warn("close inherited files failed", "error", err) // agents inherit this process's inherited files
	}
	// The bridge has the mark, too, so that a hanging bridge is swept with the rest.
	cmd.Env = append(cmd.Env, proctree.Mark{Run: b.Run, Bridge: LocalBridge}.Env()...)
	if b.Lock != nil {
		proctree.InheritLock(cmd, b.Lock)
	}
	isolation := proctree.Isolate(ctx, cmd, b.PIDNS)
	client, err := bridge.StartProcess(ctx, cmd, b.Handler, b.Log, proctree.Keep)
	if err != nil {
		return failed(bridge.CatInternal, "the bridge did not start: %v", err)
	}
	keep(client)
	if b.Started != nil {
		b.Started(cmd.Process.Pid)
	}
	ictx, cancel := context.WithTimeout(ctx, initializeDeadline)
	defer cancel()
	init, err := client.Initialize(ictx, bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "arbiter " + command.Version(), Run: b.Run, Bridge: LocalBridge,
		Claude: claude,
	})
	if err != nil {
		var rpc *bridge.RPCError
		if errors.As(err, &rpc) && rpc.Category != "" {
			return failed(rpc.Category, "%s", rpc.Message)
		}
		return failed(bridge.CatInternal, "the bridge did not answer: %v", err)
	}
	b.Log.Info("bridge", "run", b.Run, "arbiter", command.Version(), "claude", init.Claude.Version,
		"path", init.Claude.Path, "cwd", b.CWD, "namespace", isolation.String())
	return client, init.Claude, nil
}

// BridgePresent holds the bridge that a run currently uses. A lost bridge is replaced by another. The zero value holds
// none.
type BridgePresent struct {
	mu     sync.Mutex
	client *bridge.Client
	opened bool // its sandbox was tried; it may be used
}

// Keep sets the current bridge, as soon as it has started, so that it can be closed. opened is set once its sandbox
// was tried.
func (p *BridgePresent) Keep(c *bridge.Client, opened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client, p.opened = c, opened
}

// Client returns the current bridge; nil: none was started.
func (p *BridgePresent) Client() *bridge.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// Opened returns the current bridge if it may be used, or nil.
func (p *BridgePresent) Opened() *bridge.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.opened {
		return nil
	}
	return p.client
}

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
