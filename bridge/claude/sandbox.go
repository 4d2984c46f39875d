package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

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

// gate is the way of an agent to the network.
func (l *Launcher) gate(ref bridge.AgentRef, host bridge.Host, emit func(bridge.EventBody)) *sandbox.Gate {
	return &sandbox.Gate{Self: l.self,
		Ask: func(ctx context.Context, name string, port int) (bool, string) {
			return askHost(ctx, ref, host, name, port)
		},
		Report: func(_ string, _ int, why string) { emit(bridge.Notice{Text: "network: " + why}) }}
}

// reportPlanted tells of files that run by themselves outside, and that appeared in the workspace.
func reportPlanted(paths []string, emit func(bridge.EventBody)) {
	if len(paths) > 0 {
		emit(bridge.Notice{Text: strings.Join(paths, ", ") + " appeared while this agent worked: programs outside of the " +
			"sandbox run or obey such files; look at them before you open a shell or an editor there"})
	}
}

// askHost asks for permission to reach a host, as for a tool.
func askHost(ctx context.Context, ref bridge.AgentRef, host bridge.Host, name string, port int) (bool, string) {
	input, err := json.Marshal(map[string]any{"host": name, "port": port})
	if err != nil {
		return false, err.Error()
	}
	r, err := host.Permission(ctx, bridge.PermissionParams{AgentRef: ref, Request: "perm-" + uuid.NewString(),
		Tool: bridge.NetworkTool, Input: input,
		Reason: "a program of this agent wants to connect to a host that is not listed"})
	if err != nil && r.Message == "" {
		r.Message = err.Error()
	}
	return err == nil && r.Behavior == bridge.Allow, r.Message
}

// Sandbox implements bridge.Sandboxer.
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

// monitorSignal is added to the number of the signal in a monitor's exit code if a signal ended the
// process.
const monitorSignal = 128
