package host

// This part of the package adapts a bridge to the interface that the loop of a run uses. It adds to requests
// that start processes: the secrets that the journal does not hold, the parent span of the trace, and the
// size of the terminal.

import (
	"context"
	"maps"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Port is a runloop.Port: a bridge, plus what the run adds to its requests.
type Port struct {
	*bridge.Client
	Terminals *Terminals
	Hooks     string            // the socket for sessions in terminals; "" for none
	Options   runconfig.Options // with the secrets of --env and --arbiter-env
	Telemetry *Exporter         // nil: no spans
}

// env returns the environment of an agent's process with its secrets, and with the variable that makes the agent's
// span the parent of the process's spans.
func (p Port) env(env map[string]string, ref bridge.AgentRef) map[string]string {
	given := p.Options.Env
	if ref.ID == contract.Arbiter {
		given = p.Options.EnvOfArbiter()
	}
	env = settings.RevealedSecrets(env, given)
	if p.Telemetry == nil {
		return env
	}
	return with(env, traceparent, p.Telemetry.Trace().Traceparent(ref.ID, ref.Generation))
}

// PTYOpen implements runloop.Port.
func (p Port) PTYOpen(ctx context.Context, params bridge.PTYOpenParams) (bridge.PTYOpenResult, error) {
	params.Config.Env = p.env(params.Config.Env, params.AgentRef)
	h := p.Terminals.Of(params.ID)
	if h != nil {
		size := h.Size()
		params.Cols, params.Rows = size.Cols, size.Rows
		if params.Term == "" {
			params.Term = h.Term()
		}
	}
	if c := params.Config.Sandbox; c != nil && p.Hooks != "" {
		confined := *c // its hooks connect to the socket of this process
		confined.Reach = append(slices.Clone(c.Reach), p.Hooks)
		params.Config.Sandbox = &confined
	}
	r, err := p.Client.PTYOpen(ctx, params)
	if err == nil && h != nil {
		h.Opened(ctx, p.Client, params)
	}
	return r, err
}

// Spawn implements runloop.Port.
func (p Port) Spawn(ctx context.Context, params bridge.SpawnParams) (bridge.SpawnResult, error) {
	params.Config.Env = p.env(params.Config.Env, params.AgentRef)
	return p.Client.Spawn(ctx, params)
}

// Check implements runloop.Port.
func (p Port) Check(ctx context.Context, params bridge.CheckParams) (bridge.CheckResult, error) {
	params.Env = settings.RevealedSecrets(params.Env, p.Options.Env)
	return p.Client.Check(ctx, params)
}

// Inspect implements runloop.Port.
func (p Port) Inspect(ctx context.Context, params bridge.InspectParams) (bridge.InspectResult, error) {
	params.Env = settings.RevealedSecrets(params.Env, p.Options.Env)
	return p.Client.Inspect(ctx, params)
}

// traceparent is the environment variable that names the parent span of a process's spans.
const traceparent = "TRACEPARENT"

// Traced returns a Querier whose questions are spans of the trace. Without telemetry it returns q.
func Traced(q Querier, t *Exporter) Querier {
	if t == nil {
		return q
	}
	return tracedQuerier{q, t}
}

type tracedQuerier struct {
	Querier
	telemetry *Exporter
}

func (q tracedQuerier) Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	parent, end := q.telemetry.Question()
	p.Env = with(p.Env, traceparent, parent)
	result, err := q.Querier.Query(ctx, p)
	end(err != nil)
	return result, err
}

// with returns a copy of an environment with one more variable.
func with(env map[string]string, name, value string) map[string]string {
	more := maps.Clone(env)
	if more == nil {
		more = map[string]string{}
	}
	more[name] = value
	return more
}
