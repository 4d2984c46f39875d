package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// InstallCommand returns the command that installs the program of a version; empty if it cannot be
// determined.
func InstallCommand(version string) string {
	const program = "go install github.com/arbiter-cli/arbiter/cmd/arbiter@"
	switch commit, devel := strings.CutPrefix(version, "devel-"); {
	case devel:
		return program + commit
	case strings.HasPrefix(version, "devel"), version == "unknown", version == "":
		return ""
	}
	return program + "v" + strings.TrimPrefix(version, "v")
}

// installClaude is the command that installs the CLI.
const installClaude = "npm install -g @anthropic-ai/claude-code"

// versionError describes what to do if the bridge has another version.
func (p InitializeParams) versionError(have, what string) error {
	e := rpcErrorf(CodeVersion, what)
	if p.Remote == nil {
		return e
	}
	e.Category = CatHost
	e.Message = fmt.Sprintf("%s: arbiter on the host is version %.60s, here it is %.60s; ", what, have, p.Remote.Version)
	if command := InstallCommand(p.Remote.Version); command != "" {
		e.Message += "run there: " + command
	} else {
		e.Message += "copy this program to the host"
	}
	return e
}

// mayBeRemote returns an error if the bridge does not match the request: a program of another version, or a
// bridge that does not know its host.
func (c *conversation) mayBeRemote(p InitializeParams) error {
	switch {
	case p.Remote == nil && c.machine != nil:
		return &RPCError{Code: CodeUnsupported, Category: CatHost,
			Message: "this bridge was started with --remote, and initialize has no remote"}
	case p.Remote == nil:
		return nil
	case p.Remote.Version != c.version:
		return p.versionError(c.version, "the versions differ")
	case c.machine == nil:
		return &RPCError{Code: CodeUnsupported, Category: CatHost,
			Message: "this bridge was not started with --remote"}
	}
	return nil
}

// explain adds to an error how to install the CLI on the host.
func (p *RemoteParams) explain(err error) error {
	var e *RPCError
	if p == nil || !errors.As(err, &e) || e.Category != CatClaudeMissing && e.Category != CatUnsupported {
		return err
	}
	explained := *e
	explained.Message += "; run on the host: " + installClaude
	return &explained
}

// beginRemote makes this bridge a remote one: from then on it has a lease.
func (c *conversation) beginRemote(ctx context.Context, p InitializeParams) (*RemoteInfo, error) {
	if p.Remote == nil {
		return nil, nil
	}
	length := time.Duration(p.Remote.LeaseMS) * time.Millisecond
	l := newLease(length, c.now, c.renewed, func(ctx context.Context) error {
		var answer Empty
		return c.p.call(ctx, MethodTick, TickParams{}, &answer)
	})
	info, err := c.machine.Begin(ctx, p.owner(), *p.Remote)
	if err != nil {
		return nil, err
	}
	info.LeaseMS = p.Remote.LeaseMS
	c.passEnv = p.Remote.PassEnv
	c.lease.Store(l)
	c.leased.Go(func() {
		if l.run(c.onHost.ctx); !l.holds() {
			close(c.expired)
		}
	})
	return &info, nil
}

// passed adds the variables that the client passes to an agent's environment. Variables set for the agent
// itself take precedence.
func (c *conversation) passed(env map[string]string) map[string]string {
	if len(c.passEnv) == 0 {
		return env
	}
	all := maps.Clone(c.passEnv)
	maps.Copy(all, env)
	return all
}
