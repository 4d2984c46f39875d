package agents

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Guard holds the tools of an agent to what its file names. It is a value without
// state. What it allows is still up to the run's policy.
//
// It judges what a tool is asked to do, not what comes of it: an agent that may not edit
// and may run Bash can write files by that. An agent file that means it names the
// commands, as in Bash(git *).
type Guard struct {
	agent  string
	policy policy.Policy
	all    bool   // every tool that is not denied
	broken string // an entry of DisallowedTools that cannot be read
}

// Guard returns the agent's. Path rules are about files below cwd, ~ about home.
// Both are absolute.
func (a *Agent) Guard(cwd, home string) Guard {
	g := Guard{agent: a.Name, all: a.Tools == nil, policy: policy.Policy{Mode: policy.ModeRules, CWD: cwd, Home: home}}
	for _, text := range a.Tools {
		if rule, err := policy.ParseRule(text); err == nil {
			g.policy.Allow = append(g.policy.Allow, rule)
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

// Allows reports whether the agent may use the tool like this: the agent, or one of its
// subagents. rule is the entry that decided, where one did; why is for the model, and
// empty if ok. The tools that a turn is ended and reported with are always allowed.
// cwd is where the session's shell is; empty: the agent's working directory.
func (g Guard) Allows(tool string, input json.RawMessage, cwd string) (ok bool, rule, why string) {
	if _, own := policy.Own(tool); own || tool == policy.VerdictTool {
		return true, "", ""
	}
	if g.broken != "" {
		return false, g.broken, "the mode " + g.agent + " denies something that cannot be read: " + g.broken
	}
	request := policy.Request{Tool: tool, Input: input, CWD: cwd}
	if rule, denied := g.policy.Denied(request); denied {
		return false, rule, "the mode " + g.agent + " does without " + rule
	}
	if g.all {
		return true, "", ""
	}
	named := g.policy
	named.Allow = slices.DeleteFunc(slices.Clone(named.Allow), func(r policy.Rule) bool { return !r.Names(tool) })
	switch {
	case len(named.Allow) == 0 && isAgent(tool):
		return true, "", ""
	case len(named.Allow) == 0:
		return false, "", "the mode " + g.agent + " has no tool " + tool
	}
	if rule, covered := named.Covered(request); covered {
		return true, rule, ""
	}
	var texts []string
	for _, r := range named.Allow {
		texts = append(texts, r.String())
	}
	return false, "", "the mode " + g.agent + " has " + tool + " for no more than " + strings.Join(texts, ", ")
}

// Allows is Guard(cwd, home).Allows, for one question.
func (a *Agent) Allows(cwd, home, tool string, input json.RawMessage) (ok bool, rule, why string) {
	return a.Guard(cwd, home).Allows(tool, input, "")
}

// isAgent finds the tool that subagents are started with. Orchestrators work by them, so
// that they have it unless it is denied; what a subagent does is asked for call by call.
func isAgent(tool string) bool { return policy.StartsSubagent(tool) }

// CLI returns what --tools and --disallowedTools get. tools is nil if all are meant;
// else it has the names of the built-in ones alone, without what stands in parentheses,
// and Agent: MCP tools are not chosen by that flag. It bounds subagents, too, also those
// whose own file names more (CLI 2.1.329). Rules within a tool are the Guard's, which
// sees what the CLI asks about: see [Agent.Asked].
func (a *Agent) CLI() (tools, disallowed []string) {
	disallowed = slices.Clone(a.DisallowedTools)
	if a.Tools == nil {
		return nil, disallowed
	}
	agentDenied := slices.ContainsFunc(disallowed, isAgent)
	if !agentDenied {
		tools = append(tools, "Agent")
	}
	for _, text := range a.Tools {
		rule, err := policy.ParseRule(text)
		if err != nil || rule.MCP() || isAgent(rule.Tool()) || slices.Contains(tools, rule.Tool()) {
			continue
		}
		tools = append(tools, rule.Tool())
	}
	if tools == nil {
		tools = []string{} // none, which is not the same as all
	}
	return tools, disallowed
}

// Asked returns the tools that the agent has for some uses only. The CLI runs what it
// takes for harmless, such as ls, and what the user's own settings allow, without asking;
// a permissions.ask rule with the name of the tool, in --settings, makes it ask for every
// use, by subagents, too, and over the user's settings (observed with CLI 2.1.329).
func (a *Agent) Asked() []string {
	var list []string
	for _, text := range a.Tools {
		rule, err := policy.ParseRule(text)
		if err == nil && !rule.Whole() && !slices.Contains(list, rule.Tool()) {
			list = append(list, rule.Tool())
		}
	}
	return list
}
