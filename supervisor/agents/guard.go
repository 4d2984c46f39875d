package agents

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Guard restricts the tools of an agent to those that its file names. It is a value without state. The run's
// policy still decides about what it allows.
//
// It judges what a tool is asked to do, not the effects: an agent that may not edit but may run Bash can write
// files with it. An agent file can prevent that by naming the commands, as in Bash(git *).
type Guard struct {
	agent  string
	policy policy.Policy // with what is denied
	tools  []policy.Rule
	all    bool   // every tool that is not denied
	broken string // an entry of DisallowedTools that cannot be read
}

// Guard returns the agent's guard, with the directories and the links of a policy.
func (a *Agent) Guard(p policy.Policy) Guard {
	g := Guard{agent: a.Name, all: a.Tools == nil, policy: p}
	for _, text := range a.Tools {
		if rule, err := policy.ParseRule(text); err == nil {
			g.tools = append(g.tools, rule)
		}
	}
	for _, text := range a.DisallowedTools {
		rule, err := policy.ParseRule(text)
		if err != nil {
			g.broken = text
		}
		g.policy.Deny = append(g.policy.Deny, rule)
	}
	return g
}

// Allows reports whether the agent, or one of its subagents, may use the tool in this way. rule is the entry
// that decided, if one did; why is for the model, and empty if ok. The tools that end a turn and report on it
// are always allowed. cwd is the directory of the session's shell; empty: the agent's working directory.
func (g Guard) Allows(tool string, input json.RawMessage, cwd string) (ok bool, rule, why string) {
	if _, own := bridge.OwnTool(tool); own || tool == bridge.VerdictTool {
		return true, "", ""
	}
	if g.broken != "" {
		return false, g.broken, "the mode " + g.agent + " denies something that cannot be read: " + g.broken
	}
	request := policy.Request{Tool: tool, Input: input, CWD: cwd}
	if d := g.policy.Decide(request); d.Behavior != "" { // nobody can be asked, so doubt denies, too
		return false, d.Rule, "the mode " + g.agent + " does without " + d.Rule
	}
	if g.all {
		return true, "", ""
	}
	named := slices.DeleteFunc(slices.Clone(g.tools), func(r policy.Rule) bool { return !r.Names(tool) })
	switch {
	case len(named) == 0 && bridge.StartsSubagent(tool):
		// Orchestrators work with subagents, unless that is denied. Each call of a subagent is judged itself.
		return true, "", ""
	case len(named) == 0:
		return false, "", "the mode " + g.agent + " has no tool " + tool
	}
	if rule, within := g.policy.Within(request, g.tools); within {
		return true, rule, ""
	}
	var texts []string
	for _, r := range named {
		texts = append(texts, r.String())
	}
	return false, "", "the mode " + g.agent + " has " + tool + " for no more than " + strings.Join(texts, ", ")
}

// CLI returns the values of --tools and --disallowedTools. tools is nil if all are meant; otherwise it contains
// only the names of the built-in ones, without what is in parentheses, and Agent: that flag does not select MCP
// tools. It also restricts subagents, even those whose own file names more (CLI 2.1.329). The Guard applies the
// rules within a tool, because it sees every call.
func (a *Agent) CLI() (tools, disallowed []string) {
	disallowed = slices.Clone(a.DisallowedTools)
	if a.Tools == nil {
		return nil, disallowed
	}
	if !slices.ContainsFunc(disallowed, bridge.StartsSubagent) {
		tools = append(tools, "Agent")
	}
	for _, text := range a.Tools {
		rule, err := policy.ParseRule(text)
		if err != nil || strings.HasPrefix(rule.Tool(), "mcp__") || bridge.StartsSubagent(rule.Tool()) ||
			slices.Contains(tools, rule.Tool()) {
			continue
		}
		tools = append(tools, rule.Tool())
	}
	if tools == nil {
		tools = []string{} // none, which is not the same as all
	}
	return tools, disallowed
}

// Narrows reports whether the agent may use a tool only for some calls.
func (a *Agent) Narrows() bool {
	return slices.ContainsFunc(a.Tools, func(text string) bool {
		rule, err := policy.ParseRule(text)
		return err == nil && !rule.Whole()
	})
}
