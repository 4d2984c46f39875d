package claude

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

var _ bridge.Sandboxer = (*Launcher)(nil)

// ToolShell names the program that the CLI's tools, hooks and MCP servers are started
// by, which keeps what the CLI logs in with out of their environment
// ([sandbox.ToolShell]); and the program that becomes a probe with that argument.
// Without it neither is available.
func (l *Launcher) ToolShell(self string) { l.self = self }

// environ is the environment of a CLI of this launcher's. What the user has set for the
// prefix, empty too, stands.
func (l *Launcher) environ(extra map[string]string) []string {
	env := environ(os.Environ(), extra)
	if l.self == "" || strings.Contains(l.self, " -") { // after which the CLI would see options
		return env
	}
	for _, entry := range env {
		if strings.HasPrefix(entry, shellPrefix+"=") {
			return env
		}
	}
	return append(env, shellPrefix+"="+l.self, sandbox.EnvToolShell+"=1")
}

// shellPrefix has the CLI start its Bash commands, shell hooks and stdio MCP servers as
// the one argument of a program (observed with CLI 2.1.329). Its own
// CLAUDE_CODE_SUBPROCESS_ENV_SCRUB is not used: it needs bubblewrap, and leaves twenty
// empty files in the workspace and as many in the home.
const shellPrefix = "CLAUDE_CODE_SHELL_PREFIX"

// startConfined starts cmd, in a sandbox where there is one.
func startConfined(cmd *exec.Cmd, mark proctree.Mark, cfg *bridge.SandboxConfig) (*proctree.Child, error) {
	if cfg == nil {
		return proctree.Start(cmd, mark)
	}
	if err := sandbox.Wrap(cmd, cfg); err != nil {
		return nil, err
	}
	return proctree.StartMonitored(cmd, mark)
}

// Sandbox implements bridge.Sandboxer.
func (l *Launcher) Sandbox(ctx context.Context, of bridge.Owner, p bridge.SandboxParams) (bridge.SandboxResult, error) {
	if l.self == "" {
		return bridge.SandboxResult{},
			&bridge.RPCError{Code: bridge.CodeUnsupported, Message: "this bridge has no canary"}
	}
	return sandbox.Verify(ctx, p.Config, sandbox.Place{
		CWD: p.CWD, Env: l.environ(p.Env), Self: []string{l.self, sandbox.ProbeCommand},
		Mark: markOf(of, "canary."+strconv.FormatInt(l.queries.Add(1), 10)),
	})
}

// within shows temporary directories of a sandbox from outside, as long as its process
// lives: they are private to it.
func (f files) within(child *proctree.Child) files {
	pid := child.Confined()
	if pid == 0 {
		return f
	}
	root := fmt.Sprintf("/proc/%d/root", pid)
	inside := files{config: f.config}
	for _, dir := range f.temps {
		inside.temps = append(inside.temps, filepath.Join(root, dir))
	}
	return inside
}

// monitorSignal is where a monitor's exit code for a process that a signal ended begins.
const monitorSignal = 128
