package runloop

import (
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
	return (*bridge.Client)(nil)
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
