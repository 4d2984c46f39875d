package host

import (
	"context"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// lookTimeout bounds one request about paths on another host.
const lookTimeout = 10 * time.Second

// hostPort is the bridge on another host as the loop uses it: it knows that host's file system and sandbox.
type hostPort struct {
	Port
	bridge *hostBridge
	hosts  *Bridges
}

// Spawn implements runloop.Port.
func (p hostPort) Spawn(ctx context.Context, params bridge.SpawnParams) (bridge.SpawnResult, error) {
	if err := p.confine(params.ID, &params.Config.Sandbox); err != nil {
		return bridge.SpawnResult{}, err
	}
	return p.Port.Spawn(ctx, params)
}

// PTYOpen implements runloop.Port.
func (p hostPort) PTYOpen(ctx context.Context, params bridge.PTYOpenParams) (bridge.PTYOpenResult, error) {
	if err := p.confine(params.ID, &params.Config.Sandbox); err != nil {
		return bridge.PTYOpenResult{}, err
	}
	return p.Port.PTYOpen(ctx, params)
}

// Check implements runloop.Port.
func (p hostPort) Check(ctx context.Context, params bridge.CheckParams) (bridge.CheckResult, error) {
	if err := p.confine("", &params.Sandbox); err != nil {
		return bridge.CheckResult{}, err
	}
	return p.Port.Check(ctx, params)
}

// Inspect implements runloop.Port.
func (p hostPort) Inspect(ctx context.Context, params bridge.InspectParams) (bridge.InspectResult, error) {
	if err := p.confine("", &params.Sandbox); err != nil {
		return bridge.InspectResult{}, err
	}
	return p.Port.Inspect(ctx, params)
}

// confine replaces the values of a sandbox, if there is one, with those of the host.
func (p hostPort) confine(agent string, sandbox **bridge.SandboxConfig) error {
	if *sandbox == nil {
		return nil
	}
	if p.bridge.info.Sandbox == "" {
		return &bridge.RPCError{Code: bridge.CodeUnsupported, Category: bridge.CatSandbox,
			Message: fmt.Sprintf("host %s has no sandbox: %s", p.bridge.host.Name, p.bridge.info.SandboxReason)}
	}
	c := **sandbox
	c.Program, c.Hide = p.bridge.info.Sandbox, p.bridge.info.SandboxHide
	c.Write = append(c.Write[:len(c.Write):len(c.Write)], p.hosts.workOf(p.bridge, agent).Write...)
	*sandbox = &c
	return nil
}

// Files implements runloop.FileSystem.
func (p hostPort) Files() (policy.Policy, policy.Lookup) {
	return policy.Policy{Home: p.bridge.info.Home, FoldsCase: p.bridge.info.FoldsCase}, p.look
}

// look resolves paths on the host.
func (p hostPort) look(paths []string) ([]policy.Found, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	r, err := p.Client.Resolve(ctx, bridge.ResolveParams{Paths: paths})
	if err != nil {
		return nil, err
	}
	found := make([]policy.Found, 0, len(r.Paths))
	for _, x := range r.Paths {
		f := policy.Found{Path: x.Path, Exists: x.Exists}
		if x.Error != "" {
			f.Err = fmt.Errorf("host %s: %s", p.bridge.host.Name, x.Error)
		}
		found = append(found, f)
	}
	return found, nil
}
