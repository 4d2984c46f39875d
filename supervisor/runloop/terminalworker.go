package runloop

import (
	"context"
	"errors"
	"maps"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Setup returns what a session in a terminal gets in addition to the agent's own configuration: JSON for the
// CLI's --settings (hooks that ask this process), and additional environment variables. TERM in it is the
// terminal's name.
type Setup func(a bridge.AgentRef) (settings string, env map[string]string)

// Terminal sets what sessions in terminals get. Call it before [Loop.Run].
func (l *Loop) Terminal(setup Setup) { l.setup = setup }

// openPTY opens an agent's session in a terminal.
func (l *Loop) openPTY(ctx context.Context, port Port, p bridge.PTYOpenParams) {
	if err := l.refusal(ctx, bridge.SpawnParams{AgentRef: p.AgentRef, Config: p.Config}); err != nil {
		if errors.Is(err, bridge.ErrClosed) {
			return // reported once, as BridgeLost
		}
		l.Put(input.PTYOpened{Agent: p.AgentRef, Failed: err.Error()})
		return
	}
	l.setRules(p.ID, &p.Config)
	if p.Config.PermissionMode == bridge.BypassPermissions {
		p.Config.PermissionMode = "default" // the human at the terminal is there to be asked
	}
	if l.setup != nil {
		settings, env := l.setup(p.AgentRef)
		p.Settings = settings
		if len(env) > 0 {
			all := maps.Clone(p.Config.Env)
			if all == nil {
				all = map[string]string{}
			}
			maps.Copy(all, env)
			p.Config.Env, p.Term = all, env["TERM"]
		}
	}
	result, err := port.PTYOpen(ctx, p)
	f := input.PTYOpened{Agent: p.AgentRef, Result: result}
	if err != nil {
		if errors.Is(err, bridge.ErrClosed) {
			return // reported once, as BridgeLost
		}
		var rpc *bridge.RPCError
		if !errors.As(err, &rpc) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killDeadline)
			defer cancel()
			_ = port.PTYClose(ctx, p.AgentRef) // it may be open all the same
		}
		if f.Failed = err.Error(); rpc != nil {
			f.Failed = rpc.Message
		}
	}
	l.Put(f)
}
