package settings

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/egress"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Modes of --sandbox.
const (
	SandboxOff  = "off"
	sandboxAuto = "auto" // the default: if the sandbox does not hold, the run reports that and continues
	SandboxOn   = "on"   // if the sandbox does not hold, the run ends
)

// confinement is the requested sandbox.
type confinement struct {
	Mode        string
	Write, Hide []string
	Network     string // a Network… constant of the bridge
	Hosts       []string
}

// readSandbox reads the settings about sandboxes.
func readSandbox(c *cli.Context) (confinement, error) {
	s := confinement{Mode: c.String("sandbox"), Network: c.String("network"),
		Hosts: c.StringSlice("allow-host")}
	for _, host := range s.Hosts {
		if _, err := egress.ParseRule(host); err != nil {
			return s, command.Usagef("--allow-host %q: %v", host, err)
		}
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

// networks are the values of --network.
var networks = []string{bridge.NetworkProxy, bridge.NetworkNone, bridge.NetworkOpen}

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
	c.Options.Sandbox, c.Options.SandboxReason, c.Options.ScratchChecks = nil, "", false
	if was == nil {
		if !c.Given["sandbox"] && old.SandboxReason == "" {
			c.Sandbox.Mode = SandboxOff
		}
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
	if !c.Given["network"] {
		c.Sandbox.Network = cmp.Or(was.Network, bridge.NetworkProxy)
	}
	if !c.Given["allow-host"] {
		c.Sandbox.Hosts = was.Hosts
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
	if reason = c.hiddenLogin(); reason != "" && c.Sandbox.Mode == sandboxAuto {
		return cfg, reason
	}
	cfg = bridge.SandboxConfig{Program: program, Write: c.Sandbox.Write,
		Hide: slices.Clone(c.Sandbox.Hide), Network: c.Sandbox.Network, Hosts: c.Sandbox.Hosts}
	cfg.Hide = append(cfg.Hide, c.StateDir)
	if dir, err := os.UserConfigDir(); err == nil {
		cfg.Hide = append(cfg.Hide, filepath.Join(dir, "arbiter"))
	}
	return cfg, ""
}

// variable returns a variable as the agents get it.
func (c Choices) variable(name string) string { return cmp.Or(c.Options.Env[name], os.Getenv(name)) }

// hiddenLogin says why agents could not log in to a cloud in the sandbox; empty: they can.
func (c Choices) hiddenLogin() string {
	for _, cloud := range []struct {
		name, use string
		keys      []string
	}{
		{"Bedrock", "CLAUDE_CODE_USE_BEDROCK", []string{"AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK",
			"CLAUDE_CODE_SKIP_BEDROCK_AUTH"}},
		{"Vertex", "CLAUDE_CODE_USE_VERTEX", []string{"CLAUDE_CODE_SKIP_VERTEX_AUTH"}},
	} {
		given := func(name string) bool { return c.variable(name) != "" }
		if given(cloud.use) && !slices.ContainsFunc(cloud.keys, given) {
			return fmt.Sprintf("the login of %s is in files that the sandbox hides: give it by a variable (%s), or use "+
				"--sandbox on", cloud.name, strings.Join(cloud.keys, ", "))
		}
	}
	return ""
}

// Confines says in words what a sandbox confines; hosts are those that can be reached without a question.
func Confines(cfg bridge.SandboxConfig, hosts []string) string {
	if !cfg.Isolated() {
		return "files confined; the network is open"
	}
	list := make([]string, len(hosts))
	for i, host := range hosts {
		list[i] = strings.TrimSuffix(host, ":443")
	}
	return "files and network confined; hosts: " + strings.Join(list, ", ")
}
