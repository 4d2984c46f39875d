package host

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// remoteSandboxed can try a sandbox on a host.
type remoteSandboxed interface {
	Sandbox(ctx context.Context, p bridge.SandboxParams) (bridge.SandboxResult, error)
}

// trySandbox tries the sandbox on a host, if agents have a sandbox here. It refuses a host whose sandbox is missing
// or does not hold, so that no agent loses its sandbox by its placement.
func (b *Bridges) trySandbox(
	ctx context.Context, name string, client remoteSandboxed, info bridge.RemoteInfo,
) *input.BridgeFailed {
	o := b.run.Options()
	if o.Sandbox == nil {
		return nil
	}
	reason, version := info.SandboxReason, ""
	if info.Sandbox != "" {
		ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
		defer cancel()
		result, err := client.Sandbox(ctx, bridge.SandboxParams{CWD: info.Dir,
			Config: bridge.SandboxConfig{Program: info.Sandbox, Hide: info.SandboxHide, Network: o.Sandbox.Network,
				Hosts: o.Sandbox.Hosts}, Env: o.Env})
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
	b.run.Log.Info("sandbox", "host", name, "program", info.Sandbox, "version", version, "holds", reason == "", "reason",
		reason)
	if reason == "" {
		return nil
	}
	return &input.BridgeFailed{Category: bridge.CatSandbox, Message: fmt.Sprintf("host %s: the sandbox does not hold "+
		"there, and no agent was started without it: %s; install bubblewrap there, or use --sandbox off", name, reason)}
}
