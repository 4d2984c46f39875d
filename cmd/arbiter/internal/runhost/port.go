package runhost

import (
	"context"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/secrets"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/telemetry"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/terminals"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// port is a bridge as the loop sees it: those who start processes get the secrets that the
// journal does not hold, and a terminal that is opened has the size of the one that it is
// shown in.
type port struct {
	*bridge.Client
	terminals *terminals.Terminals
	hooks     string            // the socket for sessions in terminals; "" for none
	options   runconfig.Options // with the secrets of --env and --arbiter-env
	telemetry *telemetry.Exporter
}

// envOf is what is added to the environment of an agent, with its secrets.
func (p port) envOf(agent string) map[string]string {
	if agent == contract.Arbiter {
		return p.options.EnvOfArbiter()
	}
	return p.options.Env
}

// PTYOpen implements supervisor.Port.
func (p port) PTYOpen(ctx context.Context, params bridge.PTYOpenParams) (bridge.PTYOpenResult, error) {
	params.Config.Env = p.tracedEnv(secrets.Revealed(params.Config.Env, p.envOf(params.ID)), params.AgentRef)
	h := p.terminals.Of(params.ID)
	if h != nil {
		size := h.Size()
		params.Cols, params.Rows = size.Cols, size.Rows
		if params.Term == "" {
			params.Term = h.Term()
		}
	}
	if c := params.Config.Sandbox; c != nil && p.hooks != "" {
		confined := *c // its hooks ask this process
		confined.Reach = append(slices.Clone(c.Reach), p.hooks)
		params.Config.Sandbox = &confined
	}
	r, err := p.Client.PTYOpen(ctx, params)
	if err == nil && h != nil {
		h.Opened(ctx, p.Client, params)
	}
	return r, err
}

// Spawn implements supervisor.Port.
func (p port) Spawn(ctx context.Context, params bridge.SpawnParams) (bridge.SpawnResult, error) {
	params.Config.Env = p.tracedEnv(secrets.Revealed(params.Config.Env, p.envOf(params.ID)), params.AgentRef)
	return p.Client.Spawn(ctx, params)
}

// Check implements supervisor.Port.
func (p port) Check(ctx context.Context, params bridge.CheckParams) (bridge.CheckResult, error) {
	params.Env = secrets.Revealed(params.Env, p.options.Env)
	return p.Client.Check(ctx, params)
}

// Survey implements supervisor.Port.
func (p port) Survey(ctx context.Context, params bridge.InspectParams) (bridge.InspectResult, error) {
	params.Env = secrets.Revealed(params.Env, p.options.Env)
	return p.Client.Inspect(ctx, params)
}
