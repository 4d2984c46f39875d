package runloop

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// The CLI judges by native rules what runs without asking: nativeRules are those that it is given. Arbiter's own
// reading of a call, in judge.go, can only take away.

// parsed parses texts that are known to be valid rules: they were parsed before they became the run's.
func parsed(texts []string) []policy.Rule {
	var list []policy.Rule
	for _, text := range texts {
		rule, err := policy.ParseRule(text)
		if err != nil {
			panic("runloop: a rule in force: " + err.Error())
		}
		list = append(list, rule)
	}
	return list
}

// allowed are the rules that allow: those of the run's options, and what a human has granted in the run or, in an
// earlier one, for the workspace.
func (l *Loop) allowed(s *supervisor.State) []policy.Rule {
	return slices.Concat(parsed(s.Options.Allow), parsed(s.Permission.Rules), l.keptRules)
}

// everything are the allow rules of mode allow-all for a process that was started in another mode: the CLI
// cannot be switched to asking nothing later. It still asks about sensitive files and MCP tools.
var everything = []string{"Bash", "Edit", "Write", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Skill"}

// nativeRules are the rules and the permission mode that an agent's CLI is given: in mode rules it asks, and is
// refused. unsupported are rules that the CLI has no form for: allow rules of this kind allow nothing, deny and ask
// rules are held by Arbiter's own reading alone.
func (l *Loop) nativeRules(s *supervisor.State, agent string) (
	rules bridge.PermissionRules, mode string, unsupported []string,
) {
	p, mode := l.bare(s, agent), "default"
	add := func(to *[]string, behavior string, list []policy.Rule) {
		for _, rule := range list {
			switch text, err := rule.Native(behavior, p.CWD, p.Home); {
			case err != nil:
				unsupported = append(unsupported, err.Error())
			case !slices.Contains(*to, text):
				*to = append(*to, text)
			}
		}
	}
	add(&rules.Deny, policy.Deny, parsed(s.Options.Deny))
	add(&rules.Ask, policy.Ask, parsed(s.Options.Ask))
	add(&rules.Allow, policy.Allow, l.allowed(s))
	switch policy.Mode(s.Options.Permissions) {
	case policy.ModeAllowAll:
		mode, rules.Allow = bridge.BypassPermissions, append(rules.Allow, everything...)
	case policy.ModeAcceptEdits:
		if edits, ok := policy.EditsBelow(p.CWD); ok {
			rules.Allow = append(rules.Allow, edits)
		} else {
			mode = "acceptEdits"
		}
	}
	return rules, mode, unsupported
}

// setRules puts the present rules into the configuration of a session that is about to start, and returns which of
// them the CLI has no form for.
func (l *Loop) setRules(agent string, c *bridge.AgentConfig) (unsupported []string, changes int) {
	s := l.Snapshot()
	c.Rules, c.PermissionMode, unsupported = l.nativeRules(s, agent)
	c.NoSkillCommands = c.NoSkillCommands || len(s.Options.Deny)+len(s.Options.Ask) > 0
	return unsupported, s.Permission.Changes
}
