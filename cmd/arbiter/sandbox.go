package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// trialDeadline bounds the trial of a sandbox, which takes some 50 ms.
const trialDeadline = 30 * time.Second

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
	cfg, reason := r.sandbox()
	if reason == "" {
		ctx, cancel := context.WithTimeout(ctx, trialDeadline)
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

// sandbox is the configuration that was asked for; reason says why there is none.
func (r *runtimeRun) sandbox() (cfg bridge.SandboxConfig, reason string) {
	program, err := sandbox.Find()
	if err != nil {
		return cfg, err.Error()
	}
	cfg = bridge.SandboxConfig{Program: program, Write: r.choices.Sandbox.Write,
		Hide: slices.Clone(r.choices.Sandbox.Hide)}
	cfg.Hide = append(cfg.Hide, r.choices.StateDir)
	if dir, err := os.UserConfigDir(); err == nil {
		cfg.Hide = append(cfg.Hide, filepath.Join(dir, "arbiter"))
	}
	return cfg, ""
}
