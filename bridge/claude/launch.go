package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// argLimit keeps one argument below the kernel's limit of 128 KiB; a longer value goes into `initialize`,
// which has the same effect (observed with CLI 2.1.329).
const argLimit = 96 << 10

// offForAll are tools that start turns on their own, talk to other sessions, need a person at the terminal, or leave
// the directory of the agent. They cost tokens in each request, and a model that is not offered a tool does not try it.
// A call of AskUserQuestion is denied all the same, with a message that says where to ask instead. The CLI ignores
// names that it does not know.
var offForAll = []string{
	"EnterPlanMode", "ExitPlanMode",
	"CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "RemoteTrigger",
	"Workflow", "SendMessage", "ListAgents", "Monitor",
	"AskUserQuestion", "EnterWorktree", "ExitWorktree", "ReportFindings", "TaskOutput", "TaskStop", "PushNotification",
}

// settings returns the value of `--settings`: in every session, messages of other sessions are refused, and no
// model takes the place of the person who is asked. rules are those of a session that cannot be given them
// later.
func settings(cfg bridge.AgentConfig, rules bridge.PermissionRules) string {
	s := struct {
		CrossSessionInbound string `json:"crossSessionInbound"`
		Permissions         struct {
			bridge.PermissionRules
			NoAuto   string `json:"disableAutoMode"`
			NoBypass string `json:"disableBypassPermissionsMode,omitempty"`
		} `json:"permissions"`
		AutoInPlan bool `json:"useAutoModeDuringPlan"`
	}{CrossSessionInbound: "refuse"}
	s.Permissions.PermissionRules, s.Permissions.NoAuto = rules, "disable"
	if cfg.PermissionMode != bridge.BypassPermissions {
		s.Permissions.NoBypass = "disable"
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has only strings
	}
	return string(raw)
}

// permissionMode is the mode that a session is started in. It is always named: the CLI's default has changed
// before (2.1.300 starts in auto mode, which asks no permission).
func permissionMode(cfg bridge.AgentConfig) string { return cmp.Or(cfg.PermissionMode, "default") }

// plan is how an agent is started: its arguments, and the fields of initialize.
type plan struct {
	args []string
	init map[string]any
}

// launchPlan renders a configuration that check has accepted.
func launchPlan(cfg bridge.AgentConfig) plan {
	p := plan{init: map[string]any{}, args: []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--replay-user-messages",
	}}
	p.session(cfg, settings(cfg, bridge.PermissionRules{}))
	return p
}

// session adds the configuration of a session of an agent.
func (p *plan) session(cfg bridge.AgentConfig, settings string) {
	p.add(
		// On resume the current prompt and tools count, not the recorded ones: in a terminal, tools of the recorded
		// snapshot would be offered without their server.
		"--system-prompt-snapshot", "off",
		"--setting-sources", strings.Join(cfg.SettingSources, ","),
		"--settings", settings,
	)
	if cfg.Resume {
		p.add("--resume", cfg.SessionID)
	} else {
		p.add("--session-id", cfg.SessionID)
	}
	if cfg.StrictMCP {
		p.add("--strict-mcp-config")
	}
	p.optional("--model", cfg.Model)
	p.optional("--effort", cfg.Effort)
	p.add("--permission-mode", permissionMode(cfg))
	if cfg.MaxBudgetUSD > 0 {
		p.add("--max-budget-usd", strconv.FormatFloat(cfg.MaxBudgetUSD, 'f', -1, 64))
	}
	if cfg.Partial {
		p.add("--include-partial-messages")
	}
	if cfg.Tools != nil {
		p.add("--tools", strings.Join(cfg.Tools, ","))
	}
	if cfg.Hooks != nil || cfg.Judged {
		p.init["hooks"] = registrations(cfg)
	}
	p.text("--system-prompt", "systemPrompt", cfg.SystemPrompt)
	p.text("--append-system-prompt", "appendSystemPrompt", cfg.AppendSystemPrompt)
	p.schema(cfg.JSONSchema)
	allowed := cfg.AllowedTools
	if len(cfg.MCPTools) > 0 {
		p.init["sdkMcpServers"] = []string{mcpName}
		allowed = append([]string{strings.TrimSuffix(mcpPrefix, "__")}, allowed...)
	}
	if len(allowed) > 0 {
		p.add(append([]string{"--allowedTools"}, allowed...)...)
	}
	p.add(append(append([]string{"--disallowedTools"}, offForAll...), cfg.DisallowedTools...)...)
}

func (p *plan) add(args ...string) { p.args = append(p.args, args...) }

func (p *plan) optional(flag, value string) {
	if value != "" {
		p.add(flag, value)
	}
}

func (p *plan) text(flag, field, value string) {
	switch {
	case value == "":
	case len(value) <= argLimit:
		p.add(flag, value)
	case field == "systemPrompt":
		p.init[field] = []string{value} // this one is a list on the wire
	default:
		p.init[field] = value
	}
}

func (p *plan) schema(schema json.RawMessage) {
	switch {
	case jsonl.IsNull(schema):
	case len(schema) <= argLimit:
		p.add("--json-schema", string(schema))
	default:
		p.init["jsonSchema"] = schema
	}
}

// check refuses values that the CLI would misread. A rule that looks like a flag would end the list that
// contains it.
func check(cfg bridge.AgentConfig) error {
	if _, err := uuid.Parse(cfg.SessionID); err != nil {
		return badConfig("session id %q is not a UUID", cfg.SessionID)
	}
	for _, list := range [][]string{cfg.Tools, cfg.AllowedTools, cfg.DisallowedTools, cfg.Rules.Allow, cfg.Rules.Deny,
		cfg.Rules.Ask} {
		for _, rule := range list {
			if rule == "" || strings.HasPrefix(rule, "-") {
				return badConfig("tool rule %q", rule)
			}
		}
	}
	for _, source := range cfg.SettingSources {
		if source != "user" && source != "project" && source != "local" {
			return badConfig("setting source %q", source)
		}
	}
	if !jsonl.IsNull(cfg.JSONSchema) && !json.Valid(cfg.JSONSchema) {
		return badConfig("json schema is not JSON")
	}
	if strings.ContainsRune(strings.Join([]string{cfg.Model, cfg.Effort, cfg.PermissionMode, cfg.SystemPrompt,
		cfg.AppendSystemPrompt}, ""), 0) {
		return badConfig("a NUL byte")
	}
	return nil
}

func badConfig(format string, args ...any) error {
	return &bridge.RPCError{Code: jsonrpc.CodeInvalidParams,
		Message: "bad configuration: " + fmt.Sprintf(format, args...)}
}

var (
	// envForced sets what the driver needs of the CLI: subagents block, the CLI does not update itself
	// during a run, it reports its state, and a verdict that does not fit its schema is asked for once more, and then
	// ends the turn with the reason: the supervisor corrects it (the default is five times a turn). With 1 it
	// would refuse a good verdict that a model calls beside a tool that writes: it counts the call when the result of
	// that tool is there, before its own.
	envForced = []string{
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1",
		"MAX_STRUCTURED_OUTPUT_RETRIES=2",
	}
	// envDefaults are set unless the user sets them. The last three keep texts out of each request that contradict the
	// prompt of an Orchestrator: tokens that are left where there is no such limit, a memory of the CLI's own, and that
	// nothing may be committed. TestLiveInstructions has the list of what they remove.
	envDefaults = []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_TOTAL_TOKENS_REMINDER=countdown",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1",
	}
)

// environ builds a child's environment: the inherited variables, those of the configuration, and those that
// the driver forces. The subreaper adds its mark.
func environ(inherited []string, extra map[string]string) []string {
	env := proctree.EnvFrom(slices.Concat(envDefaults, inherited), extra)
	for _, entry := range envForced {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return proctree.EnvList(env)
}

// Self sets the path of this program, which becomes the probe of a sandbox. Without it, no sandbox can be tried.
func (l *Launcher) Self(path string) { l.self = path }

// environ returns the environment of a CLI of this launcher.
func (l *Launcher) environ(extra map[string]string) ([]string, error) {
	return l.withToolShell(environ(os.Environ(), extra))
}

func (l *Launcher) Sandbox(ctx context.Context, of bridge.Owner, p bridge.SandboxParams) (bridge.SandboxResult, error) {
	if l.self == "" {
		return bridge.SandboxResult{},
			&bridge.RPCError{Code: bridge.CodeUnsupported, Message: "this bridge has no canary"}
	}
	env, err := l.environ(p.Env)
	if err != nil {
		return bridge.SandboxResult{}, err
	}
	return sandbox.Verify(ctx, p.Config, sandbox.Place{
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
