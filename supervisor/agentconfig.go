package supervisor

// This file computes the configuration with which an agent's process starts: tools, prompt, the texts of its
// hooks, and its directory.

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ConfigRun is what the configuration of every agent of a run depends on.
type ConfigRun struct {
	AgentDirs
	Task  string // the human's task
	Plan  []contract.Step
	Spent float64 // US dollars, by all agents
	// Untrusted are other hosts where agents start without the workspace's settings.
	Untrusted []string
}

// Config is the configuration that an agent's process is started with (and says what its role may do).
func (r ConfigRun) Config(a *Agent) bridge.AgentConfig {
	o := r.Options
	c := bridge.AgentConfig{
		SessionID: a.SessionID, CWD: r.Of(a.ID), Model: o.Model,
		SettingSources: []string{"user"},
		Partial:        o.Partial,
		ContextCap:     o.ContextTokens,
		ContextCaps:    o.ContextTokensFor,
		Env:            o.Env,
		StartTimeoutMS: int(o.StartTimeout.Milliseconds()),
	}
	trusted := o.Trusted && !slices.Contains(r.Untrusted, a.Host)
	if trusted {
		c.SettingSources = []string{"user", "project"}
	}
	c.StrictMCP = !trusted
	c.Judged = true
	c.Sandbox = r.Sandbox(c.CWD)
	if a.Role == RoleArbiter {
		c.Env = o.EnvOfArbiter()
	}
	if o.Permissions == string(policy.ModeRules) {
		c.Env = policy.GitEnvironment(c.Env)
	}
	if o.MaxCostUSD > 0 {
		// The supervisor enforces the shared limit. This limit only stops a turn that does not end, when the
		// run has cost twice its limit. The costs of a session continue to count when it is resumed.
		c.MaxBudgetUSD = max(o.MaxCostUSD-r.Spent, 0) + o.MaxCostUSD + a.Spent()
	}
	hooks := r.Hooks(a)
	c.Hooks = &hooks
	if a.Role == RoleArbiter {
		r.arbiter(&c)
	} else {
		r.orchestrator(&c, a)
	}
	if a.Model != "" {
		c.Model = a.Model
	}
	return c
}

// Hooks is the configuration of an agent's hooks, in a supervised process and in a terminal.
func (r ConfigRun) Hooks(a *Agent) bridge.HookConfig {
	return bridge.HookConfig{
		Role: string(a.Role), Warn: r.Options.ContextWarn, Critical: r.Options.ContextCritical, Spent: a.NotifiedLevel,
		Reminder: r.Reminder(a), KeepContext: true,
	}
}

func (r ConfigRun) arbiter(c *bridge.AgentConfig) {
	if r.Options.ArbiterModel != "" {
		c.Model = r.Options.ArbiterModel
	}
	c.Tools = []string{"Read", "Grep", "Glob"}
	c.StrictMCP = true // the user's MCP servers may write; the Arbiter never does
	c.JSONSchema = verdict.ArbiterSchema()
	c.MCPTools = ArbiterTools()
	p := decider.ArbiterPrompt{
		CWD: c.CWD, Delimiter: r.Options.Delimiter, Isolated: r.Options.Workspace.Isolated(),
		MaxOrchestrators: r.Options.MaxOrchestrators, Rehearsal: r.Options.Rehearsal,
	}
	p.Decider = map[string]string{
		runconfig.DeciderStateless: "a model that knows nothing but the state of the task",
		runconfig.DeciderRules:     "deterministic rules",
		runconfig.DeciderHybrid: "deterministic rules, and where they are not clear a model that knows nothing but " +
			"the state of the task",
	}[r.Options.Decider]
	for _, m := range r.Options.AvailableModes() {
		p.Modes = append(p.Modes, decider.PromptMode{Name: m.Name, Description: m.Description})
	}
	c.SystemPrompt = p.Text()
}

func (r ConfigRun) orchestrator(c *bridge.AgentConfig, a *Agent) {
	c.JSONSchema = verdict.OrchestratorSchema()
	c.MCPTools = OrchestratorTools()
	p := decider.OrchestratorPrompt{
		ID: a.ID, Name: a.Name, CWD: c.CWD, Delimiter: r.Options.Delimiter, Isolated: a.Isolation != "",
		Rehearsal: r.Options.Rehearsal,
	}
	if mode, ok := r.Options.ModeNamed(a.Mode); ok {
		p.Mode, p.ModePrompt = mode.Name, mode.Prompt
		tools, denied := mode.CLI()
		c.Tools, c.DisallowedTools = tools, append(c.DisallowedTools, denied...)
		c.NoSkillCommands = mode.Narrows()
		c.Effort = mode.Effort
		if mode.Model != "" && mode.Model != "inherit" {
			c.Model = mode.Model
		}
	}
	c.AppendSystemPrompt = p.Text()
}

// Parts of a reminder, in bytes: if a hook adds more than 10,000 characters in total, the CLI writes them to a
// file, and shows the model only the beginning (observed with CLI 2.1.329).
const (
	reminderBrief = 5_000
	reminderPlan  = 2_500
)

// Reminder is what an agent reads again after a compaction.
func (r ConfigRun) Reminder(a *Agent) string {
	m := decider.ReminderPrompt{
		ID: a.ID, Name: a.Name, Delimiter: r.Options.Delimiter, Arbiter: a.Role == RoleArbiter,
		Plan:  words.Head(PlanText(r.Plan), reminderPlan),
		Brief: words.Head(cmp.Or(a.Brief, "(nothing)"), reminderBrief),
		Task:  words.Head(cmp.Or(r.Task, "(nothing)"), reminderBrief), Roll: words.Head(r.Roster.LivingText(), 500),
	}
	return m.Text()
}
