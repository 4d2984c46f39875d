package supervisor

// This file computes the configuration with which an agent's process starts: tools, prompt, the texts of its
// hooks, and its directory.

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// agentConfig is the configuration that an agent's process is started with (and says what its role may do).
func (s *State) agentConfig(a *Agent) bridge.AgentConfig {
	o := &s.Options
	c := bridge.AgentConfig{
		SessionID: a.SessionID, CWD: s.DirOf(a.ID), Model: o.Model,
		SettingSources: []string{"user"},
		Partial:        o.Partial,
		ContextCap:     o.ContextTokens,
		ContextCaps:    o.ContextTokensFor,
		Env:            o.Env,
		StartTimeoutMS: int(o.StartTimeout.Milliseconds()),
	}
	trusted := s.trusts(a.Host)
	if trusted {
		c.SettingSources = []string{"user", "project"}
	}
	c.StrictMCP = !trusted
	c.Judged = true
	c.Sandbox = s.sandboxOf(c.CWD)
	if a.Role == RoleArbiter {
		c.Env = o.EnvOfArbiter()
	}
	if o.Permissions == string(runconfig.ModeRules) {
		c.Env = GitEnvironment(c.Env)
	}
	if o.MaxCostUSD > 0 {
		// The supervisor enforces the shared limit. This limit only stops a turn that does not end, when the
		// run has cost twice its limit. The costs of a session continue to count when it is resumed.
		c.MaxBudgetUSD = max(o.MaxCostUSD-s.Spent(), 0) + o.MaxCostUSD + a.Spent()
	}
	if fuse := a.Fuse.From + a.Fuse.USD; a.Fuse.USD > 0 && (c.MaxBudgetUSD == 0 || fuse < c.MaxBudgetUSD) {
		c.MaxBudgetUSD = fuse // the CLI itself begins no further call
	}
	if a.Make != "" {
		c.Model = "" // the run's is Claude's
	}
	hooks := s.Hooks(a)
	c.Hooks = &hooks
	if a.Role == RoleArbiter {
		s.configureArbiter(&c)
	} else {
		s.configureOrchestrator(&c, a)
	}
	if a.Model != "" {
		c.Model = a.Model
	}
	if a.Make != "" {
		m, _ := s.Options.MakeNamed(a.Make)
		m.Name = a.Make // it is refused when it is no longer configured
		if a.Role == RoleArbiter {
			m.AcceptUnasked = false // it changes nothing: that was accepted of Orchestrators
			c.Sandbox = readOnly(c.Sandbox)
		}
		c.Make, c.MakeSession = &m.MakeSpec, a.MakeSession
	}
	return c
}

// Hooks is the configuration of an agent's hooks, in a supervised process and in a terminal.
func (s *State) Hooks(a *Agent) bridge.HookConfig {
	return bridge.HookConfig{
		Role: string(a.Role), Warn: s.Options.ContextWarn, Critical: s.Options.ContextCritical, Spent: a.NotifiedLevel,
		Reminder: s.reminder(a), KeepContext: true,
	}
}

func (s *State) configureArbiter(c *bridge.AgentConfig) {
	if s.Options.ArbiterModel != "" {
		c.Model = s.Options.ArbiterModel
	}
	// What it reads on the web needs permission, as with any agent.
	c.Tools = []string{"Read", "Grep", "Glob", "WebSearch", "WebFetch"}
	c.StrictMCP = true // the user's MCP servers may write; the Arbiter never does
	c.JSONSchema = verdict.ArbiterSchema()
	c.MCPTools = ArbiterTools()
	p := decider.ArbiterPrompt{
		CWD: c.CWD, Delimiter: s.Options.Delimiter, Isolated: s.Options.Workspace.Isolated(),
		MaxOrchestrators: s.Options.MaxOrchestrators, Rehearsal: s.Options.Rehearsal,
	}
	p.Decider = map[string]string{
		runconfig.DeciderStateless: "A model that knows only the state of the task",
		runconfig.DeciderRules:     "A set of fixed rules",
		runconfig.DeciderHybrid: "A set of fixed rules, and in unclear cases a model that knows only the state of the " +
			"task,",
	}[s.Options.Decider]
	for _, m := range s.Options.AvailableModes() {
		line := decider.PromptMode{Name: m.Name, Description: m.Description, Effort: m.Effort}
		if m.Model != "inherit" {
			line.Model = m.Model
		}
		p.Modes = append(p.Modes, line)
	}
	if len(s.Options.Hosts) > 0 {
		p.Hosts = s.Options.HostNames()
	}
	if len(s.Options.Makes) > 0 {
		p.Makes = strings.Join(s.Options.MakeNames(), ", ")
	}
	c.SystemPrompt = p.Text()
}

func (s *State) configureOrchestrator(c *bridge.AgentConfig, a *Agent) {
	c.JSONSchema = verdict.OrchestratorSchema()
	c.MCPTools = OrchestratorTools()
	p := decider.OrchestratorPrompt{
		ID: a.ID, Name: a.Name, CWD: c.CWD, Delimiter: s.Options.Delimiter, Isolated: a.Isolation != "",
		Rehearsal: s.Options.Rehearsal,
	}
	if mode, ok := s.Options.ModeNamed(a.Mode); ok {
		p.Mode, p.ModePrompt = mode.Name, mode.Prompt
		tools, denied := mode.CLI()
		c.Tools, c.DisallowedTools = tools, append(c.DisallowedTools, denied...)
		c.NoSkillCommands = mode.Narrows()
		c.Effort = mode.Effort
		if (a.Make != "") != (mode.Make != "" && mode.Make != runconfig.ClaudeMake) {
			mode.Model = "" // it is the name of a model of the mode's own make
		}
		if mode.Model != "" && mode.Model != "inherit" {
			c.Model = mode.Model
		}
	}
	c.AppendSystemPrompt = p.Text()
}

// Parts of a reminder, in bytes: if a hook adds more than 10,000 characters in total, the CLI writes them to a
// file, and shows the model only the beginning (observed with CLI 2.1.329).
const (
	reminderBrief    = 4_500
	reminderPlan     = 2_000
	reminderCriteria = 1_500
)

// reminder is what an agent reads again after a compaction.
func (s *State) reminder(a *Agent) string {
	m := decider.ReminderPrompt{
		ID: a.ID, Name: a.Name, Delimiter: s.Options.Delimiter, Arbiter: a.Role == RoleArbiter,
		Plan:     words.Head(PlanText(s.Task.Plan), reminderPlan),
		Criteria: words.Head(s.Task.Acceptance.Text(), reminderCriteria),
		Brief:    words.Head(cmp.Or(a.Brief, noText), reminderBrief),
		Task:     words.Head(cmp.Or(s.Task.Text, noText), reminderBrief), Roll: words.Head(s.LivingText(), 500),
	}
	return m.Text()
}

// OwnDir is the working directory of an agent with a directory of its own; empty: it shares the run's.
func (s *State) OwnDir(id string) string {
	if s.placeOf(id).Agent == "" {
		return ""
	}
	if a, _ := s.Agent(id); a.Host != "" {
		top := s.topOn(a.Host, id)
		if top == "" {
			return ""
		}
		return path.Join(top, s.Options.Workspace.Prefix)
	}
	return s.Options.Workspace.Dir(id)
}

// topOn is the top of an agent's own directory on another host; empty if that host was never up.
func (s *State) topOn(host, id string) string {
	dir := s.Lifecycle.Bridge(host).Dir
	if dir == "" {
		return ""
	}
	return path.Join(dir, s.Options.Run[:min(len(s.Options.Run), 8)], id)
}

// placeOf describes the directory to create for an agent; zero: it shares the run's.
func (s *State) placeOf(id string) runconfig.Place {
	a, ok := s.Agent(id)
	switch {
	case !ok:
	case a.Role == RoleArbiter && s.Options.Workspace.Isolated():
		return runconfig.Place{Agent: id, Generation: a.Generation}
	case a.Isolation != "":
		p := runconfig.Place{Agent: id, Generation: a.Generation, Kind: a.Isolation, After: a.Predecessor}
		if s.Options.Sandbox != nil { // the sandbox must not let it write to the user's Git directory
			p.Kind = runconfig.IsolationClone
		}
		return p
	}
	return runconfig.Place{}
}

// DirOf is the working directory of an agent.
func (s *State) DirOf(id string) string {
	if dir := s.OwnDir(id); dir != "" {
		return dir
	}
	return s.Options.CWD
}

// sandboxOf is the sandbox of a process that works in a directory; nil: none.
func (s *State) sandboxOf(dir string) *bridge.SandboxConfig {
	o := &s.Options
	if o.Sandbox == nil || dir == o.CWD {
		return o.Sandbox
	}
	cfg := *o.Sandbox
	top := dir
	for _, a := range s.Agents { // the agent starts in the same place below the top as the run does
		switch {
		case s.OwnDir(a.ID) != dir:
		case a.Host != "": // its port knows the rest
			top = s.topOn(a.Host, a.ID)
			return &bridge.SandboxConfig{Program: o.Sandbox.Program, Write: []string{top}, Reach: []string{top},
				Network: o.Sandbox.Network, Hosts: o.Sandbox.Hosts}
		default:
			top = o.Workspace.Top(a.ID)
		}
	}
	cfg.Write = append(slices.Clone(cfg.Write), top)
	if o.Workspace.Objects != "" {
		cfg.Read = append(slices.Clone(cfg.Read), o.Workspace.Objects)
	}
	cfg.Reach = append(slices.Clone(cfg.Reach), top) // it lies in the state directory, which is hidden
	return &cfg
}

// readOnly is a sandbox in which the workspace, and what else Orchestrators may write to, is read-only; nil: none.
func readOnly(c *bridge.SandboxConfig) *bridge.SandboxConfig {
	if c == nil {
		return nil
	}
	only := *c
	only.Read, only.Write, only.ReadOnly = slices.Concat(c.Read, c.Write), nil, true
	return &only
}

// trusts reports whether agents on a host start with the workspace's own settings.
func (s *State) trusts(host string) bool {
	return s.Options.Trusted && !s.Lifecycle.Bridge(host).Untrusted
}

// GitEnvironment adds settings to an environment so that git's reading forms run no program: there is no file
// system monitor, and a directory that only looks like a repository is not used as one. env is not changed.
func GitEnvironment(env map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, env)
	n, _ := strconv.Atoi(out["GIT_CONFIG_COUNT"]) // what is no number counts as none
	for _, set := range [][2]string{{"core.fsmonitor", "false"}, {"safe.bareRepository", "explicit"}} {
		out["GIT_CONFIG_KEY_"+strconv.Itoa(n)], out["GIT_CONFIG_VALUE_"+strconv.Itoa(n)] = set[0], set[1]
		n++
	}
	out["GIT_CONFIG_COUNT"] = strconv.Itoa(n)
	return out
}
