package supervisor

import (
	"cmp"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/envelope"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/task"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// config is what an agent's process is started with (and what its role may do).
func (s *State) config(a *roster.Agent) bridge.AgentConfig {
	o := s.Options
	c := bridge.AgentConfig{
		SessionID: a.SessionID, CWD: s.dirOf(a.ID), Model: o.Model,
		DisallowedTools: slices.Clone(o.Deny),
		SettingSources:  []string{"user"},
		PermissionMode:  "default",
		Partial:         o.Partial,
		ContextCap:      o.ContextTokens,
		ContextCaps:     o.ContextTokensFor,
		Env:             o.Env,
		StartTimeoutMS:  int(o.StartTimeout.Milliseconds()),
	}
	if o.Trusted {
		c.SettingSources = []string{"user", "project"}
	}
	c.StrictMCP = !o.Trusted
	c.Judged = true
	c.Sandbox = s.sandboxIn(c.CWD)
	if a.Role == roster.RoleArbiter {
		c.Env = o.EnvOfArbiter()
	}
	if o.Permissions == string(policy.ModeRules) {
		c.Env = policy.GitEnvironment(c.Env)
	}
	if o.MaxCostUSD > 0 {
		// The limit is shared: the run ends once all agents together have reached it. This
		// stops a process whose costs are not told in time.
		c.MaxBudgetUSD = max(o.MaxCostUSD-s.Spent(), 0.01)
	}
	hooks := s.HookConfig(a)
	c.Hooks = &hooks
	if a.Role == roster.RoleArbiter {
		s.configArbiter(&c)
	} else {
		s.configOrchestrator(&c, a)
	}
	if a.Model != "" {
		c.Model = a.Model
	}
	return c
}

// HookConfig is what the hooks of an agent tell it, in a supervised process and in a terminal.
func (s *State) HookConfig(a *roster.Agent) bridge.HookConfig {
	return bridge.HookConfig{
		Role: string(a.Role), Warn: s.Options.ContextWarn, Critical: s.Options.ContextCritical, Spent: a.NotifiedLevel,
		Reminder: s.reminder(a), KeepContext: true,
	}
}

func (s *State) configArbiter(c *bridge.AgentConfig) {
	if s.Options.ArbiterModel != "" {
		c.Model = s.Options.ArbiterModel
	}
	c.Tools = []string{"Read", "Grep", "Glob"}
	c.StrictMCP = true // the user's MCP servers may write; the Arbiter never does
	c.JSONSchema = verdict.ArbiterSchema()
	c.MCPTools = ArbiterTools()
	p := prompts.Arbiter{
		CWD: c.CWD, Delimiter: s.Options.Delimiter, Isolated: s.Options.Workspace.Isolated(),
		MaxOrchestrators: s.Options.MaxOrchestrators, Rehearsal: s.Options.Rehearsal,
	}
	p.Decider = map[string]string{
		runconfig.DeciderStateless: "a model that knows nothing but the state of the task",
		runconfig.DeciderRules:     "deterministic rules",
		runconfig.DeciderHybrid: "deterministic rules, and where they are not clear a model that knows nothing but " +
			"the state of the task",
	}[s.Options.Decider]
	for _, m := range s.Options.AvailableModes() {
		p.Modes = append(p.Modes, prompts.Mode{Name: m.Name, Description: m.Description})
	}
	c.SystemPrompt = p.Text()
}

func (s *State) configOrchestrator(c *bridge.AgentConfig, a *roster.Agent) {
	c.JSONSchema = verdict.OrchestratorSchema()
	c.MCPTools = orchestratorTools()
	p := prompts.Orchestrator{
		ID: a.ID, Name: a.Name, CWD: c.CWD, Delimiter: s.Options.Delimiter, Isolated: a.Isolation != "",
		Rehearsal: s.Options.Rehearsal,
	}
	if mode, ok := s.Options.ModeNamed(a.Mode); ok {
		p.Mode, p.ModePrompt = mode.Name, mode.Prompt
		tools, denied := mode.CLI()
		c.Tools, c.DisallowedTools = tools, append(c.DisallowedTools, denied...)
		c.AskTools = mode.Asked()
		c.Effort = mode.Effort
		if mode.Model != "" && mode.Model != "inherit" {
			c.Model = mode.Model
		}
	}
	c.AppendSystemPrompt = p.Text()
}

// render puts a message into its envelope: the sender is a property of the
// pipe, never of text. The work log that travels with it comes first.
func (s *State) render(m conversation.Mail) string {
	e := envelope.Envelope{Delimiter: s.Options.Delimiter, From: m.From, Name: s.DisplayName(m.From), Kind: m.Kind,
		ID: m.ID}
	to, _ := s.Agent(m.To)
	for _, id := range m.Carries {
		for _, entry := range s.Conversation.WorkLog {
			if entry.ID == id {
				e.Parts = append(e.Parts, envelope.Part{
					Title: "work log", From: entry.From, Kind: entry.Kind, At: entry.At, Text: entry.Text,
					Untrusted: true,
				})
			}
		}
	}
	if to.ReturnNotice != "" {
		e.Parts = append(e.Parts, envelope.Part{Title: "your session", From: contract.Supervisor,
			Text: to.ReturnNotice})
	}
	e.Parts = append(e.Parts, envelope.Part{Text: m.Text, Untrusted: s.IsOrchestrator(m.From)})
	for _, a := range m.Attached {
		e.Parts = append(e.Parts, envelope.Part{Title: a.Title, From: a.From, Kind: a.Kind, Text: a.Text,
			Untrusted: !a.Trusted})
	}
	if p := s.ArbiterRequest; p != nil && m.To == contract.Arbiter {
		if text := s.stateText(p); text != "" {
			e.Parts = append(e.Parts, envelope.Part{Title: "where the task stands", From: contract.Supervisor,
				Text: text})
		}
	}
	if to.Role == roster.RoleOrchestrator && to.ContextLow() {
		e.Parts = append(e.Parts, envelope.Part{Title: "context", From: contract.Supervisor, Text: to.HandoffDemand()})
	}
	return e.Render()
}

// handoffBrief renders what a new Arbiter inherits, to stand before a message.
func (s *State) handoffBrief(text string) string {
	return envelope.Envelope{
		Delimiter: s.Options.Delimiter, From: contract.Supervisor, Name: s.DisplayName(contract.Supervisor),
		Kind:  "inheritance",
		Parts: []envelope.Part{{Text: text}},
	}.Render()
}

// Parts of a reminder, in bytes: beyond 10,000 characters in all the CLI puts what a hook
// adds into a file, and shows the model its beginning (observed with CLI 2.1.329).
const (
	reminderBrief = 5_000
	reminderPlan  = 2_500
)

// reminder is what an agent reads again after a compaction.
func (s *State) reminder(a *roster.Agent) string {
	r := prompts.Reminder{
		ID: a.ID, Name: a.Name, Delimiter: s.Options.Delimiter, Arbiter: a.Role == roster.RoleArbiter,
		Plan:  words.Head(task.PlanText(s.Task.Plan), reminderPlan),
		Brief: words.Head(cmp.Or(a.Brief, nothingText), reminderBrief),
		Task:  words.Head(cmp.Or(s.Task.Text, nothingText), reminderBrief), Roll: words.Head(s.LivingText(), 500),
	}
	return r.Text()
}

// remind renews what an agent reads after a compaction.
func (st *step) remind(a *roster.Agent) {
	st.do(effect.Configure{Params: bridge.ConfigureParams{AgentRef: a.AgentRef, Reminder: st.reminder(a)}})
}

// keepModes holds on to modes whose files are gone, while somebody lives under them: an
// agent without its mode would have tools that it was denied.
func (st *step) keepModes(old []agents.Agent) {
	for i := range st.Agents {
		a := st.Agents[i]
		if _, known := st.Options.ModeNamed(a.Mode); known || a.Mode == "" || a.Dismissed {
			continue
		}
		for _, m := range old {
			if m.Name == a.Mode {
				st.Options.Modes = append(slices.Clip(st.Options.Modes), m)
				st.emit(contract.Supervisor, contract.Notice{Text: "the file of the mode " + m.Name + " is gone; " +
					a.Name + " goes on as it was"})
			}
		}
	}
}
