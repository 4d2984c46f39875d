package evidence

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// noAgents is a launcher without a CLI.
type noAgents struct{}

func (noAgents) Detect(context.Context, bridge.ClaudeSpec) (bridge.ClaudeInfo, error) {
	return bridge.ClaudeInfo{Path: "/none", Version: "0"}, nil
}

func (noAgents) Launch(context.Context, bridge.Owner, bridge.ClaudeSpec, bridge.SpawnParams,
	bridge.Host) (bridge.Agent, error) {
	return nil, errors.New("no agents here")
}

func (noAgents) Sweep(of bridge.Owner) int { return proctree.Sweep(of.Run, "") }

// noHandler ignores events and allows nothing.
type noHandler struct{}

func (noHandler) Event(bridge.Event) {}

func (noHandler) ToolCall(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return bridge.ToolCallResult{}, errors.New("no tools")
}

func (noHandler) Permission(context.Context, bridge.PermissionParams) (bridge.PermissionResult, error) {
	return bridge.PermissionResult{}, errors.New("nobody is there")
}

func (noHandler) Judge(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
	return bridge.JudgeResult{}, errors.New("nobody is there")
}

// stubborn ignores TERM, as does its child in a session of its own.
const stubborn = `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$ > escaped; while :; do sleep 1; done' & while :; do sleep 1; done`

// However the connection ends, the check's processes end. Serve waits for them for a time that a busy machine can
// exceed, and then says so; that it waits, and for how long, is tested in the bridge with a clock of its own.
func TestCheckEndsWithTheConnection(t *testing.T) {
	ends := map[string]func(*bridge.Client, context.CancelFunc){
		"client closes":    func(c *bridge.Client, _ context.CancelFunc) { c.Close() },
		"context is ended": func(_ *bridge.Client, stop context.CancelFunc) { stop() },
		"shutdown": func(c *bridge.Client, _ context.CancelFunc) {
			r, err := c.Shutdown(context.Background(), bridge.ShutdownParams{})
			testkit.Check(t, err == nil && (len(r.Unstopped) != 0 || r.Swept <= 0), "shutdown: %+v, %v", r, err)
			c.Close()
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			near, far := net.Pipe()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			served := make(chan error, 1)
			go func() {
				served <- bridge.NewServer(noAgents{}, bridge.ServerOptions{Evidence: b.Collector}).Serve(ctx, far)
			}()
			c := bridge.NewClient(near, noHandler{}, nil)
			defer c.Close()
			testkit.OK(t, testkit.Err(c.Initialize(ctx, bridge.InitializeParams{Client: "test", Run: b.run})))
			over := make(chan error, 1)
			go func() {
				_, err := c.Check(t.Context(), bridge.CheckParams{Command: stubborn, CWD: b.cwd})
				over <- err
			}()
			b.up("escaped")
			end(c, stop)
			var unstopped *bridge.UnstoppedError
			err := b.ended(served)
			if !errors.As(err, &unstopped) {
				b.checkNoProcesses()
				b.gone("escaped")
			}
			testkit.Fails(t, "the check succeeded", b.ended(over))
			b.awaitNoProcesses()
		})
	}
}
