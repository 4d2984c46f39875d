package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Modes of --sandbox. Off is the default: tool chains write to caches in the home, and a
// build that fails for that is no surprise to leave to somebody who did not ask for it.
const (
	sandboxOff  = "off"
	sandboxAuto = "auto" // a sandbox that does not hold is reported, and the run goes on
	sandboxOn   = "on"   // and ends the run
)

// trialDeadline bounds the trial of a sandbox, which takes some 50 ms.
const trialDeadline = 30 * time.Second

// confinement is what was asked for.
type confinement struct {
	Mode        string
	Write, Hide []string
}

// readSandbox reads the settings about sandboxes.
func readSandbox(c *cli.Context) (confinement, error) {
	s := confinement{Mode: c.String("sandbox")}
	switch s.Mode {
	case sandboxOff, sandboxAuto, sandboxOn:
	default:
		return s, command.Usagef("--sandbox %q: use off, auto or on", s.Mode)
	}
	for _, list := range []struct {
		flag string
		to   *[]string
		must bool
	}{{"sandbox-write", &s.Write, true}, {"sandbox-hide", &s.Hide, false}} {
		for _, name := range c.StringSlice(list.flag) {
			path, err := besideHome(name)
			if err != nil {
				return s, command.Usagef("--%s %q: %v", list.flag, name, err)
			}
			if _, err := os.Stat(path); err != nil && list.must {
				return s, command.Usagef("--%s %s: %v; create it first", list.flag, name, command.WithoutPath(err))
			}
			*list.to = append(*list.to, path)
		}
	}
	return s, nil
}

// besideHome makes a path absolute; ~/ is the user's home, also in a configuration file.
func besideHome(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("is empty")
	}
	if rest, ok := cutHome(name); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, rest), nil
	}
	return filepath.Abs(name)
}

func cutHome(name string) (rest string, ok bool) {
	if name == "~" {
		return "", true
	}
	if len(name) > 1 && name[:2] == "~/" {
		return name[2:], true
	}
	return "", false
}

// confine tries the sandbox that was asked for, each time a bridge is started, and
// settles with what the agents run. A run that began confined goes on confined or not at
// all.
func (r *runtimeRun) confine(ctx context.Context, client *bridge.Client) *input.BridgeFailed {
	o, asked := &r.choices.Options, r.choices.Sandbox
	had := o.Sandbox != nil
	if asked.Mode == sandboxOff {
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
	if asked.Mode == sandboxOn || had {
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

// resumeSandbox has a run that began confined go on so, unless something else is asked
// for now.
func (c *choices) resumeSandbox(old runconfig.Options) {
	was := old.Sandbox
	c.Options.Sandbox, c.Options.SandboxReason = nil, ""
	if was == nil {
		return
	}
	if !c.given["sandbox"] {
		c.Sandbox.Mode = sandboxOn
	}
	if !c.given["sandbox-write"] {
		c.Sandbox.Write = was.Write
	}
	if !c.given["sandbox-hide"] {
		c.Sandbox.Hide = was.Hide
	}
}
