package claude

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "rewrite golden files")

const someSession = "0b1f1a6e-52c6-4f1c-9a57-3d1f4a0c9b11"

func TestLaunchPlan(t *testing.T) {
	full := bridge.AgentConfig{
		SessionID: someSession, CWD: "/w", Model: "opus", Effort: "high", SystemPrompt: "You are --the one.",
		Tools: []string{"Read", "Grep"}, DisallowedTools: []string{"Bash(rm *)"},
		AllowedTools: []string{"Bash(git log:*)"}, Rules: bridge.PermissionRules{Allow: []string{"Bash(git diff *)"}},
		PermissionMode: "acceptEdits", SettingSources: []string{"user", "project"}, StrictMCP: true,
		JSONSchema: json.RawMessage(`{"type":"object"}`), MCPTools: []bridge.ToolSpec{{Name: "status"}}, Partial: true,
		MaxBudgetUSD: 2.5,
	}
	long := strings.Repeat("l", argLimit+1)
	for _, test := range []struct {
		name string
		cfg  bridge.AgentConfig
	}{
		{"full", full},
		{"least", bridge.AgentConfig{SessionID: someSession}},
		{"resume", bridge.AgentConfig{SessionID: someSession, Resume: true, AppendSystemPrompt: "Rules.",
			Tools: []string{}}},
		{"long", bridge.AgentConfig{SessionID: someSession, SystemPrompt: long, AppendSystemPrompt: long,
			JSONSchema: json.RawMessage(`"` + long + `"`)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			testkit.OK(t, check(test.cfg))
			p := launchPlan(test.cfg)
			init := testkit.Must(json.MarshalIndent(p.init, "", "  "))(t)
			got := strings.Join(p.args, "\n") + "\n\ninitialize " + strings.ReplaceAll(string(init), long, "LONG") +
				"\n"
			golden(t, "launch-"+test.name+".golden", got)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testkit.OK(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := testkit.Must(os.ReadFile(path))(t)
	testkit.Same(t, name, string(want), got)
}

func TestBadConfigurations(t *testing.T) {
	for name, change := range map[string]func(*bridge.AgentConfig){
		"session": func(c *bridge.AgentConfig) { c.SessionID = "me" },
		"rule":    func(c *bridge.AgentConfig) { c.AllowedTools = []string{"--dangerously-skip-permissions"} },
		"no rule": func(c *bridge.AgentConfig) { c.DisallowedTools = []string{""} },
		"source":  func(c *bridge.AgentConfig) { c.SettingSources = []string{"everywhere"} },
		"schema":  func(c *bridge.AgentConfig) { c.JSONSchema = json.RawMessage("{") },
		"NUL":     func(c *bridge.AgentConfig) { c.SystemPrompt = "a\x00b" },
		"tool type": func(c *bridge.AgentConfig) {
			c.MCPTools = []bridge.ToolSpec{{Name: "x", InputSchema: json.RawMessage(`{"type":"array"}`)}}
		},
		"tool name": func(c *bridge.AgentConfig) {
			c.MCPTools = []bridge.ToolSpec{{InputSchema: json.RawMessage(`{"type":"object"}`)}}
		},
		"no schema": func(c *bridge.AgentConfig) { c.MCPTools = []bridge.ToolSpec{{Name: "x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			s := prepare(t, fakeSpec(t, fakeGood), nil)
			change(&s.cfg)
			if err := s.try(); errCode(err) != -32602 {
				t.Errorf("got %v", err)
			}
			s.checkNoProcesses()
		})
	}
}

func TestEnviron(t *testing.T) {
	inherited := []string{
		"HOME=/h", "PATH=/bin", "LC_ALL=C", "LANG=en", "SSH_AUTH_SOCK=/s", "HTTPS_PROXY=p", "https_proxy=q",
		"SSL_CERT_FILE=c", "ANTHROPIC_API_KEY=k", "AWS_SESSION_TOKEN=t", "GOOGLE_APPLICATION_CREDENTIALS=g",
		"CLOUD_ML_REGION=r", "VERTEX_REGION_X=v", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0",
		// Removed:
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=s", "CLAUDE_CODE_PARENT_SESSION_ID=s",
		"CLAUDE_CODE_MESSAGING_SOCKET=s", "CLAUDE_CODE_MESSAGING_TOKEN=t", "CLAUDE_CODE_CHILD_SESSION=1",
		"CLAUDE_CODE_RESUME_INTERRUPTED_TURN=1", "CLAUDE_PID=1", "IS_SANDBOX=1", "GITHUB_TOKEN=t", "ARBITER_RUN=outer",
		"DATABASE_URL=d", "nonsense",
	}
	want := []string{
		"ANTHROPIC_API_KEY=k", "AWS_SESSION_TOKEN=t", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
		"CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=0",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_TOTAL_TOKENS_REMINDER=off",
		"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CONFIG_DIR=/c", "CLOUD_ML_REGION=r", "DISABLE_AUTOUPDATER=1",
		"EXTRA=e", "GOOGLE_APPLICATION_CREDENTIALS=g", "HOME=/other", "HTTPS_PROXY=p", "LANG=en", "LC_ALL=C",
		"MAX_STRUCTURED_OUTPUT_RETRIES=2", "PATH=/bin", "SSH_AUTH_SOCK=/s", "SSL_CERT_FILE=c", "VERTEX_REGION_X=v",
		"https_proxy=q",
	}
	extra := map[string]string{"EXTRA": "e", "HOME": "/other", "DISABLE_AUTOUPDATER": "0",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "0", "CLAUDE_CODE_TOTAL_TOKENS_REMINDER": "off"}
	testkit.Same(t, "", want, environ(inherited, extra))
}
