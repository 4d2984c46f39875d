package main

import (
	"context"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// openOn is a runloop.Opener.
func (r *runtimeRun) openOn(ctx context.Context, host string) (runloop.Opened, *input.BridgeFailed) {
	if host == lifecycle.Here {
		return r.reopen(ctx)
	}
	return runloop.Opened{}, &input.BridgeFailed{Category: bridge.CatHost, Message: "there is no way to " + host}
}

// dropOn ends the bridge of a host. Its end is told by who watches it.
func (r *runtimeRun) dropOn(host string) {
	if host == lifecycle.Here {
		_ = r.bridge().Close()
	}
}
