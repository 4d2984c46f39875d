package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Modes of --sandbox. Off is the default: tool chains write to caches in the home directory, and a build that fails
// because of a sandbox would surprise a user who did not ask for one.
const (
	SandboxOff  = "off"
	sandboxAuto = "auto" // if the sandbox does not hold, the run reports that and continues
	SandboxOn   = "on"   // if the sandbox does not hold, the run ends
)

// confinement is the requested sandbox.
type confinement struct {
	Mode        string
	Write, Hide []string
}

// readSandbox reads the settings about sandboxes.
func readSandbox(c *cli.Context) (confinement, error) {
	s := confinement{Mode: c.String("sandbox")}
	switch s.Mode {
	case SandboxOff, sandboxAuto, SandboxOn:
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

// besideHome makes a path absolute. ~/ is the user's home directory, also in a configuration file.
func besideHome(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("is empty")
	}
	if rest, ok := CutHome(name); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(home, rest), nil
	}
	return filepath.Abs(name)
}

func CutHome(name string) (rest string, ok bool) {
	if name == "~" {
		return "", true
	}
	if len(name) > 1 && name[:2] == "~/" {
		return name[2:], true
	}
	return "", false
}

// ResumeSandbox keeps the sandbox of a run that started with one, unless another setting is given now.
func (c *Choices) ResumeSandbox(old runconfig.Options) {
	was := old.Sandbox
	c.Options.Sandbox, c.Options.SandboxReason = nil, ""
	if was == nil {
		return
	}
	if !c.Given["sandbox"] {
		c.Sandbox.Mode = SandboxOn
	}
	if !c.Given["sandbox-write"] {
		c.Sandbox.Write = was.Write
	}
	if !c.Given["sandbox-hide"] {
		c.Sandbox.Hide = was.Hide
	}
}

// SandboxTrial bounds the trial of a sandbox, which takes about 50 ms.
const SandboxTrial = 30 * time.Second

// SandboxConfig returns the configuration of the requested sandbox; reason says why it is not available.
func (c Choices) SandboxConfig() (cfg bridge.SandboxConfig, reason string) {
	program, err := sandbox.Find()
	if err != nil {
		return cfg, err.Error()
	}
	cfg = bridge.SandboxConfig{Program: program, Write: c.Sandbox.Write,
		Hide: slices.Clone(c.Sandbox.Hide)}
	cfg.Hide = append(cfg.Hide, c.StateDir)
	if dir, err := os.UserConfigDir(); err == nil {
		cfg.Hide = append(cfg.Hide, filepath.Join(dir, "arbiter"))
	}
	return cfg, ""
}
