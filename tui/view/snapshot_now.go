package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// Now describes what each agent does, for how long, how full its context is and what it has cost: the
// content of the tiles as plain lines.
func Now(s *supervisor.State, work func(id string) Work, now time.Time) string {
	if s == nil {
		return "There is no run yet."
	}
	var b strings.Builder
	for _, row := range AgentRows(s, work, now) {
		if row.Past {
			continue
		}
		b.WriteString("- **" + row.Name + "**")
		if row.Mode != "" {
			b.WriteString(" (" + row.Mode + ")")
		}
		b.WriteString(": " + sentence(row) + figures(s, row) + ".\n")
		for _, sub := range row.Subagents {
			b.WriteString("  - " + subagentWords(sub) + "\n")
		}
	}
	fmt.Fprintf(&b, "\nPermission mode: %s.", eventtext.One(s.Options.Permissions, eventtext.MaxName))
	return b.String()
}

// sentence describes what an agent does, and for how long.
func sentence(row PageAgent) string {
	text := row.State
	switch {
	case row.Bell && row.Doing != "":
		text += ": " + row.Doing
	case row.Busy && row.Tail:
		text = "writes: " + row.Doing
	case row.Busy && row.Doing != "":
		text = row.Doing
	case row.Doing != "":
		text += ", " + row.Doing
	}
	if row.Age >= time.Second && !row.Tail {
		text += ", for " + eventtext.Span(row.Age.Truncate(time.Second))
	}
	return text
}

// figures returns an agent's context and cost.
func figures(s *supervisor.State, row PageAgent) string {
	text := ""
	if row.Known {
		text += "; context " + eventtext.Percent(row.Pct)
	}
	for _, a := range s.Agents {
		if a.ID == row.ID && a.Spent() > 0 {
			text += ", " + eventtext.Dollars(a.Spent()) + eventtext.Simulated(s.Options.Rehearsal)
		}
	}
	return text
}

// subagentWords describes a subagent on one line.
func subagentWords(sub Subagent) string {
	text := sub.Name + ": "
	switch {
	case sub.Failed:
		text += "failed"
	case !sub.Works:
		text += "done"
	case sub.Doing != "":
		text += sub.Doing
	default:
		text += "at work"
	}
	return text + ", for " + eventtext.Span(sub.Age.Truncate(time.Second)) + ", " + words.Tokens(sub.Tokens) + " tokens"
}
