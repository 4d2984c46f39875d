package claude

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/arbiter-cli/arbiter/bridge"
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
		// On resume the current prompt and tools count, not the recorded ones.
		"--system-prompt-snapshot", "off",
		"--setting-sources", strings.Join(cfg.SettingSources, ","),
		"--settings", settings(cfg, bridge.PermissionRules{}),
	}}
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
	return p
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
