package host

import (
	"context"
	"log/slog"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// confinement is the sandbox of a run's agents on this machine. The zero value has none.
type confinement struct {
	mu      sync.Mutex
	sandbox *bridge.SandboxConfig // nil: agents run without one
	reason  string                // why they have no sandbox although one was requested
	hosts   []string              // that agents can reach; used by try's caller only
	scratch bool                  // checks run on a copy of the workspace
}

// hostSandboxed can try a sandbox. *bridge.Client implements it.
type hostSandboxed interface {
	Sandbox(ctx context.Context, p bridge.SandboxParams) (bridge.SandboxResult, error)
}

// wanted is the requested sandbox.
type wanted struct {
	mode    string // value of --sandbox
	config  bridge.SandboxConfig
	missing string // why it is not available
}

// wantedBy returns the sandbox that choices request.
func wantedBy(c settings.Choices) wanted {
	w := wanted{mode: c.Sandbox.Mode}
	if w.mode != settings.SandboxOff {
		w.config, w.missing = c.SandboxConfig()
	}
	return w
}

// try tries the requested sandbox each time a bridge is started, and sets the result for the agents. If the run
// once had a sandbox, it does not continue without one. unsandboxed is the reason if the agents run without a
// sandbox.
func (c *confinement) try(
	ctx context.Context, client hostSandboxed, w wanted, o runconfig.Options, log *slog.Logger,
) (unsandboxed string, failed *input.BridgeFailed) {
	if w.mode == settings.SandboxOff {
		c.set(nil, "", false)
		return "", nil
	}
	reason, scratch := w.missing, false
	if reason == "" {
		ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
		defer cancel()
		result, err := client.Sandbox(ctx, bridge.SandboxParams{Config: w.config, CWD: o.CWD, Env: o.Env})
		switch {
		case err != nil:
			reason = "it could not be tried: " + err.Error()
		case !result.Holds:
			reason = result.Reason
		}
		c.hosts = result.Hosts
		scratch = result.Scratch
		log.Info("sandbox", "program", w.config.Program, "version", result.Version, "holds", reason == "", "reason",
			reason, "scratch", scratch, "scratch_reason", result.ScratchReason)
	}
	had := c.config() != nil
	switch {
	case reason == "":
		c.set(&w.config, "", scratch)
		return "", nil
	case w.mode != settings.SandboxOn && !had:
		c.set(nil, reason, false)
		return reason, nil
	case !had:
		c.set(nil, reason, false)
	}
	return "", &input.BridgeFailed{Category: bridge.CatSandbox,
		Message: "the sandbox does not hold, and no agent was started without it: " + reason}
}

func (c *confinement) config() *bridge.SandboxConfig {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sandbox
}

func (c *confinement) set(sandbox *bridge.SandboxConfig, reason string, scratch bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sandbox, c.reason, c.scratch = sandbox, reason, scratch
}

// apply sets the sandbox of the agents in the options of the run.
func (c *confinement) apply(o *runconfig.Options) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Sandbox, o.SandboxReason, o.ScratchChecks = c.sandbox, c.reason, c.scratch
}
