package claude

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/bridge/toolshell"
)

var _ bridge.Sandboxer = (*Launcher)(nil)

// ToolShell sets the program through which the CLI starts tools, hooks and MCP servers, and which keeps the
// CLI's login out of their environment ([toolshell]). The same program becomes a probe with that
// argument. Without it, neither is available.
func (l *Launcher) ToolShell(self string) { l.self = self }

// environ returns the environment of a CLI of this launcher. If the user has set the prefix, even to an
// empty value, it is kept.
func (l *Launcher) environ(extra map[string]string) []string {
	env := environ(os.Environ(), extra)
	if l.self == "" || strings.Contains(l.self, " -") { // the CLI would read the rest as options
		return env
	}
	for _, entry := range env {
		if strings.HasPrefix(entry, shellPrefix+"=") {
			return env
		}
	}
	return append(env, shellPrefix+"="+l.self, toolshell.Env+"=1")
}

// shellPrefix makes the CLI start its Bash commands, shell hooks and stdio MCP servers as the one argument
// of a program (observed with CLI 2.1.329). The CLI's own CLAUDE_CODE_SUBPROCESS_ENV_SCRUB is not used: it
// needs bubblewrap, and leaves twenty empty files in the workspace and as many in the home directory.
const shellPrefix = "CLAUDE_CODE_SHELL_PREFIX"

func (l *Launcher) Sandbox(ctx context.Context, of bridge.Owner, p bridge.SandboxParams) (bridge.SandboxResult, error) {
	if l.self == "" {
		return bridge.SandboxResult{},
			&bridge.RPCError{Code: bridge.CodeUnsupported, Message: "this bridge has no canary"}
	}
	env := slices.DeleteFunc(l.environ(p.Env), func(entry string) bool { return entry == toolshell.Env+"=1" })
	return sandbox.Verify(ctx, p.Config, sandbox.Place{ // the probe is no command of the CLI
		CWD: p.CWD, Env: env, Self: []string{l.self, sandbox.ProbeCommand},
		Mark: markOf(of, "canary."+strconv.FormatInt(l.queries.Add(1), 10)),
	})
}

// within returns the paths by which the temporary directories of a sandbox are seen from outside while its
// process runs: they are private to it.
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
