package runloop

import (
	"context"
	"fmt"
	"maps"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// ports are the bridges at one moment, by host. A map is never changed: [ports.with] returns another.
type ports map[string]Port

// on returns the bridge of a host. A host without one gets a bridge that has ended.
func (p ports) on(host string) Port {
	if port := p[host]; port != nil {
		return port
	}
	return none{host}
}

// with returns a copy with another bridge on a host.
func (p ports) with(host string, port Port) ports {
	p = maps.Clone(p)
	p[host] = port
	return p
}

// hostOf is the host that an agent runs on.
func (l *Loop) hostOf(agent string) string {
	a, ok := l.state.Load().Agent(agent)
	if !ok {
		return supervisor.LifecycleHere // released long ago; no host has it
	}
	return a.Host
}

// none takes the place of the bridge of a host that has none.
type none struct{ host string }

func (n none) err() error { return fmt.Errorf("no bridge on host %s: %w", n.host, bridge.ErrClosed) }

// Spawn and the other methods implement Port.
func (n none) Spawn(context.Context, bridge.SpawnParams) (bridge.SpawnResult, error) {
	return bridge.SpawnResult{}, n.err()
}

func (n none) Message(context.Context, bridge.MessageParams) error { return n.err() }

func (n none) Interrupt(context.Context, bridge.AgentRef) (bridge.InterruptResult, error) {
	return bridge.InterruptResult{}, n.err()
}

func (n none) Kill(context.Context, bridge.KillParams) error { return n.err() }

func (n none) Ask(context.Context, bridge.AskParams) (bridge.AskResult, error) {
	return bridge.AskResult{}, n.err()
}

func (n none) Configure(context.Context, bridge.ConfigureParams) error { return n.err() }

func (n none) Probe(context.Context, bridge.AgentRef) (bridge.ProbeResult, error) {
	return bridge.ProbeResult{}, n.err()
}

func (n none) Check(context.Context, bridge.CheckParams) (bridge.CheckResult, error) {
	return bridge.CheckResult{}, n.err()
}

func (n none) Inspect(context.Context, bridge.InspectParams) (bridge.InspectResult, error) {
	return bridge.InspectResult{}, n.err()
}

func (n none) PTYOpen(context.Context, bridge.PTYOpenParams) (bridge.PTYOpenResult, error) {
	return bridge.PTYOpenResult{}, n.err()
}

func (n none) PTYClose(context.Context, bridge.AgentRef) error { return n.err() }

func (n none) Shutdown(context.Context, bridge.ShutdownParams) (bridge.ShutdownResult, error) {
	return bridge.ShutdownResult{}, n.err()
}
