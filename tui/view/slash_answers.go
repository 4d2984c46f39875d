package view

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// SlashAnswer is a slash command that is answered with a text, on a screen with a title.
type SlashAnswer struct {
	Title string
	Text  func(s *supervisor.State, arg string) string
}

// SlashAnswers are those commands, by name. They work before the first run, too.
var SlashAnswers = map[string]SlashAnswer{
	"task":        {"THE TASK", func(s *supervisor.State, _ string) string { return taskText(s) }},
	"agents":      {"THE MODES", func(s *supervisor.State, _ string) string { return SlashAgents(s) }},
	"context":     {"HOW FULL", contextSlash},
	"accept":      {"WHAT MUST HOLD", func(s *supervisor.State, _ string) string { return criteria(s) }},
	"cost":        {"THE COST", func(s *supervisor.State, _ string) string { return costSlash(s) }},
	"hosts":       {"THE HOSTS", func(s *supervisor.State, _ string) string { return hosts(s) }},
	"permissions": {"WHAT IS ALLOWED", func(s *supervisor.State, _ string) string { return permissions(s) }},
}

// SlashWord makes a short text from outside fit for one line.
func SlashWord(s string) string { return sanitize.Line(s, 200) }

// SlashName returns the name of a party, with its host unless that is the host of arbiter.
func SlashName(s *supervisor.State, id string) string {
	if s != nil && id != contract.Arbiter {
		for i := range s.Agents {
			if s.Agents[i].ID == id {
				return eventtext.OnHost(SlashWord(s.Agents[i].Name), s.Agents[i].Host)
			}
		}
	}
	return eventtext.Name(id) // an agent that was forgotten
}

// SlashOver reports whether an agent's work has ended.
func SlashOver(a *supervisor.Agent) bool {
	return a.Role == supervisor.RoleOrchestrator &&
		(a.Status == supervisor.AgentEnded || a.Status == supervisor.AgentStopping || a.Standing == supervisor.HandedOff)
}

// contextSlash reports how full the contexts are, of one agent or of all running ones.
func contextSlash(s *supervisor.State, id string) string {
	var b strings.Builder
	for i := range members(s) {
		a := s.Agents[i]
		if id != "" && a.ID != id || id == "" && SlashOver(a) {
			continue
		}
		fmt.Fprintf(&b, "- **%s** ", SlashName(s, a.ID))
		if a.Context.Window == 0 {
			b.WriteString("nothing is known yet\n")
			continue
		}
		fmt.Fprintf(&b, "%d of %d tokens, %.1f %%", a.Context.Tokens, a.Context.Window, a.Context.Pct)
		if a.Context.TurnsLeft > 0 {
			fmt.Fprintf(&b, ", about %s before it must hand off", words.Count(a.Context.TurnsLeft, "turn"))
		}
		if a.Compactions > 0 {
			fmt.Fprintf(&b, ", compacted %s", words.Count(a.Compactions, "time"))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "There is no such agent."
	}
	fmt.Fprintf(&b, "\nAn agent is warned at %g %% and told to hand off at %g %%.", s.Options.ContextWarn,
		s.Options.ContextCritical)
	return b.String()
}

func members(s *supervisor.State) []*supervisor.Agent {
	if s == nil {
		return nil
	}
	return s.Agents
}

// costSlash reports what a run has cost.
func costSlash(s *supervisor.State) string {
	if s == nil {
		return "Nothing yet."
	}
	var b strings.Builder
	used := s.Used()
	mark := eventtext.Simulated(s.Options.Rehearsal)
	fmt.Fprintf(&b, "**$%.4f**%s in all", s.Spent(), mark)
	if s.Options.MaxCostUSD > 0 {
		fmt.Fprintf(&b, ", of $%.2f at most", s.Options.MaxCostUSD)
	}
	fmt.Fprintf(&b, "\n\n| tokens | |\n|---|--:|\n| in | %d |\n| read from the cache | %d |\n| written to the cache "+
		"| %d |\n| out | %d |\n\n| agent | cost%s |\n|---|--:|\n",
		used.Input, used.CacheRead, used.CacheCreation, used.Output, mark)
	for i := range s.Agents {
		fmt.Fprintf(&b, "| %s | $%.4f |\n", SlashName(s, s.Agents[i].ID), s.Agents[i].Spent())
	}
	if s.Options.Rehearsal {
		b.WriteString("\nA rehearsal: these are the prices of a scripted model, and nothing is paid.")
	}
	return b.String()
}

// permissions reports what is allowed, asked and denied.
func permissions(s *supervisor.State) string {
	if s == nil {
		return "There is no run yet."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Mode: **%s**\n\n", SlashWord(s.Options.Permissions))
	list := func(title string, rules []string) {
		fmt.Fprintf(&b, "%s\n\n", title)
		for _, r := range rules {
			fmt.Fprintf(&b, "- `%s`\n", SlashWord(r))
		}
		if len(rules) == 0 {
			b.WriteString("- none\n")
		}
		b.WriteString("\n")
	}
	list("Denied by rules:", s.Options.Deny)
	list("Asked for by rules:", s.Options.Ask)
	list("Allowed by rules:", s.Options.Allow)
	list("Allowed by your answers, for this run:", s.Permission.Rules)
	fmt.Fprintf(&b, "Allowed by you for this run: %s. Waiting for you: %d.\n\nTo change it: /permissions MODE, "+
		"/allow RULE, /ask RULE, /deny RULE. The Arbiter reads and rules; it changes nothing, whatever the rules say.",
		words.Count(len(s.Permission.Actions), "action"), len(s.Permission.Open))
	return b.String()
}

// taskText returns the full task.
func taskText(s *supervisor.State) string {
	if s == nil || s.Task.Text == "" {
		return "There is no task yet."
	}
	return sanitize.Text(s.Task.Text)
}
