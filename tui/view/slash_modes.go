package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// SlashAgents describes the modes of a run: when each is used, what it may do, its source, and its results.
func SlashAgents(s *supervisor.State) string {
	var b strings.Builder
	for _, m := range Modes(s) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", SlashWord(m.Name), plainText(sanitize.Text(m.Description)))
		field := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&b, "- %s: %s\n", name, value)
			}
		}
		field("tools", tools(m))
		field("model", code(orElse(m.Model, "the run's")))
		field("effort", code(m.Effort))
		field("limits", limits(m.Limits))
		field("from", code(orElse(m.Source, "built-in")))
		field("of late", performance(s, m.Name))
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "This run has no modes."
	}
	return b.String()
}

// plainText prevents a description from becoming a heading of the page.
func plainText(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		if t := strings.TrimLeft(l, " \t"); strings.HasPrefix(t, "#") {
			lines[i] = `\` + t
		}
	}
	return strings.Join(lines, "\n")
}

func orElse(text, other string) string {
	if strings.TrimSpace(text) == "" {
		return other
	}
	return text
}

// code returns a word in the form that is shown unchanged.
func code(text string) string {
	text = strings.ReplaceAll(SlashWord(text), "`", "'")
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func tools(m agents.Agent) string {
	list := "all"
	if m.Tools != nil {
		list = "none"
		if len(m.Tools) > 0 {
			list = codes(m.Tools)
		}
	}
	if len(m.DisallowedTools) > 0 {
		list += ", but not " + codes(m.DisallowedTools)
	}
	return list
}

func codes(list []string) string {
	var out []string
	for _, one := range list {
		out = append(out, code(one))
	}
	return strings.Join(out, ", ")
}

func limits(l agents.Limits) string {
	var parts []string
	if l.MaxTurns > 0 {
		parts = append(parts, words.Count(l.MaxTurns, "turn"))
	}
	if l.MaxCostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", l.MaxCostUSD))
	}
	if l.Timeout > 0 {
		parts = append(parts, l.Timeout.String())
	}
	return strings.Join(parts, ", ")
}

// performance describes the results of a mode in this task; empty if it was not used.
func performance(s *supervisor.State, mode string) string {
	if s == nil {
		return ""
	}
	p := s.Task.History.Performance(mode)
	if p == nil || math.IsNaN(p.SuccessRate) { // it was always cancelled
		return ""
	}
	text := fmt.Sprintf("%.0f %% succeeded", p.SuccessRate)
	if p.IterationAverage > 0 {
		text += fmt.Sprintf(", %.1f executions to a success", p.IterationAverage)
	}
	if p.LastSuccess != "" {
		text += "; last success " + whenText(p.LastSuccess)
	}
	if p.LastFailure != "" {
		text += "; last failure " + whenText(p.LastFailure)
	}
	return text
}

// whenText formats a time for a person.
func whenText(stamp string) string {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return SlashWord(stamp)
	}
	return at.Local().Format(time.DateTime)
}
