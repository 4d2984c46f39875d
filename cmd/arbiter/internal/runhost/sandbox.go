package runhost

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// confine tries the sandbox that was asked for, each time a bridge is started, and
// settles with what the agents run. A run that began confined continues confined or not at
// all.
func (r *runtimeRun) confine(ctx context.Context, client *bridge.Client) *input.BridgeFailed {
	o, asked := &r.choices.Options, r.choices.Sandbox
	had := o.Sandbox != nil
	if asked.Mode == settings.SandboxOff {
		o.Sandbox, o.SandboxReason = nil, ""
		return nil
	}
	cfg, reason := r.choices.SandboxConfig()
	if reason == "" {
		ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
		defer cancel()
		result, err := client.Sandbox(ctx, bridge.SandboxParams{Config: cfg, CWD: o.CWD, Env: o.Env})
		switch {
		case err != nil:
			reason = "it could not be tried: " + err.Error()
		case !result.Holds:
			reason = result.Reason
		}
		r.log.Info("sandbox", "program", cfg.Program, "version", result.Version, "holds", reason == "", "reason",
			reason)
	}
	if reason == "" {
		o.Sandbox, o.SandboxReason = &cfg, ""
		return nil
	}
	if asked.Mode == settings.SandboxOn || had {
		if !had {
			o.SandboxReason = reason
		}
		return &input.BridgeFailed{Category: bridge.CatSandbox,
			Message: "the sandbox does not hold, and no agent was started without it: " + reason}
	}
	o.Sandbox, o.SandboxReason = nil, reason
	r.tellOf("agents run unsandboxed: %s", reason)
	return nil
}

// hostSandbox tries sandboxes on a host.
type hostSandbox interface {
	Sandbox(ctx context.Context, p bridge.SandboxParams) (bridge.SandboxResult, error)
}

// confineOn tries the sandbox of a host, if agents have one here, and refuses a host whose sandbox is missing or does
// not hold: no agent loses its sandbox by where it is placed.
func (r *runtimeRun) confineOn(
	ctx context.Context, name string, client hostSandbox, info bridge.RemoteInfo,
) *input.BridgeFailed {
	here := r.choices.Options.Sandbox
	if here == nil {
		return nil
	}
	reason, version := info.SandboxReason, ""
	if info.Sandbox != "" {
		ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
		defer cancel()
		result, err := client.Sandbox(ctx, bridge.SandboxParams{CWD: info.Dir,
			Config: bridge.SandboxConfig{Program: info.Sandbox, Hide: info.SandboxHide}, Env: r.choices.Options.Env})
		version = result.Version
		switch {
		case err != nil:
			reason = "it could not be tried: " + err.Error()
		case !result.Holds:
			reason = result.Reason
		default:
			reason = ""
		}
	}
	r.log.Info("sandbox", "host", name, "program", info.Sandbox, "version", version, "holds", reason == "", "reason",
		reason)
	if reason == "" {
		return nil
	}
	return &input.BridgeFailed{Category: bridge.CatSandbox, Message: fmt.Sprintf("host %s: the sandbox does not hold "+
		"there, and no agent was started without it: %s; install bubblewrap there, or use --sandbox off", name, reason)}
}
