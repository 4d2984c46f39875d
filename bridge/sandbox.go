package bridge

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
)

// SandboxConfig says what a confined agent may access. Everything else is read-only, and
// files with credentials are not visible.
type SandboxConfig struct {
	// Program is bubblewrap's path.
	Program string `json:"program"`
	// Write are writable files and directories, in addition to the CLI's own
	// configuration directory and a private /tmp.
	Write []string `json:"write,omitempty"`
	// Read are directories that are visible, read-only, although they are below a directory that appears empty, such
	// as /tmp.
	Read []string `json:"read,omitempty"`
	// ReadOnly makes the agent's own directory read-only, too.
	ReadOnly bool `json:"read_only,omitempty"`
	// Hide are files and directories that are not visible.
	Hide []string `json:"hide,omitempty"`
	// Reach are files, sockets and directories that are visible although they are below a hidden directory. Such a
	// directory is writable; an agent may work in it.
	Reach []string `json:"reach,omitempty"`
	// Network is a Network… constant; empty: NetworkProxy.
	Network string `json:"network,omitempty"`
	// Hosts are reachable by NetworkProxy, besides those of the API: HOST, *.DOMAIN or ADDRESS, with an optional :PORT.
	Hosts []string `json:"hosts,omitempty"`
}

// What a confined process may reach.
const (
	NetworkProxy = "proxy" // the API, the hosts that are named, and what the client permits
	NetworkNone  = "none"  // the API
	NetworkOpen  = "open"  // everything that this machine reaches, its own services and abstract sockets included
)

// Isolated reports whether processes have a network of their own.
func (c SandboxConfig) Isolated() bool { return c.Network != NetworkOpen }

// SandboxParams tests a sandbox, as an agent with this directory and environment would
// use it.
type SandboxParams struct {
	Config SandboxConfig     `json:"config"`
	CWD    string            `json:"cwd"`
	Env    map[string]string `json:"env,omitempty"` // added after the allow-list
}

// SandboxResult is what a probe inside the sandbox could do, as observed from outside.
type SandboxResult struct {
	Holds   bool   `json:"holds"`
	Reason  string `json:"reason,omitempty"`  // what the probe could do, or why there is no sandbox
	Version string `json:"version,omitempty"` // the version of bubblewrap
	// Hosts can be reached without a question; with an open network it is empty.
	Hosts []string `json:"hosts,omitempty"`
	// Scratch reports that CheckParams.Scratch holds; otherwise ScratchReason says why not.
	Scratch       bool   `json:"scratch,omitempty"`
	ScratchReason string `json:"scratch_reason,omitempty"`
}

func (c *SandboxConfig) check() error {
	if c == nil {
		return nil
	}
	if !filepath.IsAbs(c.Program) {
		return fmt.Errorf("sandbox.program is not absolute: %.100q", c.Program)
	}
	if !slices.Contains([]string{"", NetworkProxy, NetworkNone, NetworkOpen}, c.Network) {
		return fmt.Errorf("sandbox.network is unknown: %.100q", c.Network)
	}
	for _, list := range [][]string{c.Write, c.Read, c.Hide, c.Reach} {
		for _, path := range list {
			if !filepath.IsAbs(path) {
				return fmt.Errorf("sandbox: a path is not absolute: %.100q", path)
			}
		}
	}
	return nil
}

func (p SandboxParams) check() error {
	return cmp.Or(required("config.program", p.Config.Program), p.Config.check(), checkPlace(p.CWD, p.Env))
}

func (c *conversation) sandbox(ctx context.Context, p SandboxParams) (SandboxResult, error) {
	return inquire(ctx, c.inquiries, "a sandbox's trial", func(ctx context.Context) (SandboxResult, error) {
		return c.launcher.Sandbox(ctx, c.owner, p)
	})
}

// Sandbox tries a sandbox with a probe. When ctx ends first, that is ended.
func (c *Client) Sandbox(ctx context.Context, p SandboxParams) (SandboxResult, error) {
	return call[SandboxResult](ctx, c, MethodSandbox, p)
}
