package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/hosts"
)

// Opening has the parameters with which the bridge of a host is opened.
type Opening struct {
	Host    hosts.Host
	Run     string
	Version string // arbiter's own version, which the host must have, too
	Claude  bridge.ClaudeSpec
	Lease   time.Duration
	Debug   bool
	Handler bridge.Handler
	Log     *slog.Logger // may be nil

	started func(*os.Process) // may be nil
}

// LinkFailure says why a host could not be opened.
type LinkFailure struct {
	Category bridge.Category // bridge.CatHost and those of the CLI: a retry would fail again
	Message  string
}

func (f *LinkFailure) Error() string { return f.Message }

// Open starts the host's command with a bridge, and waits for its first answer. keep gets the client as soon as
// there is one. The caller must close that client, also after a failure and when ctx ends. The error is a
// [*Failure].
func (o Opening) Open(
	ctx context.Context, keep func(*bridge.Client),
) (*bridge.Client, bridge.InitializeResult, error) {
	var none bridge.InitializeResult
	words := []string{"arbiter", "bridge", "--remote"}
	if o.Debug {
		words = append(words, "--debug")
	}
	argv, err := o.Host.Argv(words...)
	if err != nil {
		return nil, none, &LinkFailure{bridge.CatHost, err.Error()}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = o.env()
	client, err := bridge.StartProcess(context.WithoutCancel(ctx), cmd, o.Handler, o.Log, proctree.Keep)
	if err != nil {
		return nil, none, o.failed(err)
	}
	if o.started != nil {
		o.started(cmd.Process)
	}
	keep(client)
	init, err := client.Initialize(ctx, bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "arbiter " + o.Version, Run: o.Run, Bridge: o.Host.Name,
		Claude: bridge.ClaudeSpec{Path: cmp.Or(o.Claude.Path, "claude")},
		Remote: &bridge.RemoteParams{Version: o.Version, Dir: o.Host.Dir, LeaseMS: o.Lease.Milliseconds(),
			PassEnv: passedEnv(o.Host.PassEnv)},
	})
	var rpc *bridge.RPCError
	if err != nil && ctx.Err() == nil && !errors.As(err, &rpc) {
		err = commandEnded(ctx, client, err)
	}
	if err != nil {
		return nil, none, o.failed(err)
	}
	return client, init, nil
}

// commandEnded waits until the end of the host's command is known, and returns its last error output.
func commandEnded(ctx context.Context, client *bridge.Client, err error) error {
	select {
	case <-client.Done():
	case <-ctx.Done():
		return err
	}
	_ = client.Close() // waits for the process
	if why := client.Err(); why != nil {
		return why
	}
	return err
}

// env returns the environment of the host's command. It has the run's mark, so that a later process of the run
// finds the command. It does not have the mark of the host's bridge: if the host is this machine, as a Slurm login
// node can be, the host would end its own link when it fences an earlier bridge. The mark "link:" cannot collide,
// because no host name has a colon.
func (o Opening) env() []string {
	return append(os.Environ(), proctree.Mark{Run: o.Run, Bridge: "link:" + o.Host.Name}.Env()...)
}

// passedEnv returns the values of those variables that are set here.
func passedEnv(names []string) map[string]string {
	env := map[string]string{}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	return env
}

// failed explains why a host is not available, and what to do.
func (o Opening) failed(err error) *LinkFailure {
	f := &LinkFailure{Category: bridge.CatCrash, Message: err.Error()}
	known := hosts.Explain(err.Error())
	var rpc *bridge.RPCError
	var violation *bridge.ViolationError
	switch {
	case errors.As(err, &rpc) && rpc.Category != "":
		f.Category, f.Message = rpc.Category, rpc.Message
	case errors.As(err, &violation), known.Permanent:
		f.Category = bridge.CatHost
	case errors.Is(err, context.DeadlineExceeded):
		f.Category, f.Message = bridge.CatTimeout, "no answer in time"
	}
	f.Message = fmt.Sprintf("host %s: %s", o.Host.Name, f.Message)
	if known.Fix != "" {
		f.Message += "; " + known.Fix
	}
	return f
}

// endHostTimeout bounds the command that ends the processes on a host.
const endHostTimeout = 30 * time.Second

// EndBridge runs the host's command that ends everything that a run started there. fenced reports that all of it has
// ended; it is false without an error if the host has no such command.
func EndBridge(ctx context.Context, h hosts.Host, run string) (fenced bool, err error) {
	if len(h.End) == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, endHostTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.End[0], h.End[1:]...)
	cmd.Env = Opening{Host: h, Run: run}.env()
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return false, fmt.Errorf("end of host %s: %w: %.300s", h.Name, err, strings.TrimSpace(string(out)))
	}
	return true, nil
}

// NoHandler handles a bridge without agents.
type NoHandler struct{}

func (NoHandler) Event(bridge.Event) {}

func (NoHandler) ToolCall(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return bridge.ToolCallResult{}, errors.New("no agent is known here")
}

func (NoHandler) Permission(context.Context, bridge.PermissionParams) (bridge.PermissionResult, error) {
	return bridge.PermissionResult{}, errors.New("no agent is known here")
}

func (NoHandler) Judge(context.Context, bridge.JudgeParams) (bridge.JudgeResult, error) {
	return bridge.JudgeResult{}, errors.New("no agent is known here")
}
