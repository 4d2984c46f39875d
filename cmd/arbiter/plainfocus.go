package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// maxFocusItems is how many of an agent's last texts and calls /focus shows.
const maxFocusItems = 12

// plainFocus describes one agent.
func plainFocus(p plainHost, l *clients.ScreenSession, c view.EditorCommand) string {
	s, id := l.Snapshot(), c.Arg(0)
	var a *supervisor.Agent
	for _, x := range s.Agents {
		if x.ID == id {
			a = x
		}
	}
	if a == nil {
		return "There is no agent " + sanitize.Line(id, 60) + "; /now lists those that are there."
	}
	var items []eventtext.ActivityItem
	if p.agents.doing != nil {
		items = p.agents.doing.Agent(id).Items
	}
	return focusText(s, a, items)
}

func focusText(s *supervisor.State, a *supervisor.Agent, items []eventtext.ActivityItem) string {
	var b strings.Builder
	b.WriteString(view.SlashName(s, a.ID))
	if a.Mode != "" {
		b.WriteString(" (" + sanitize.Line(a.Mode, 60) + ")")
	}
	fmt.Fprintf(&b, ": %s, process %d, session %s, %s%s.\n", a.Status, a.Generation, sanitize.Line(a.SessionID, 60),
		eventtext.Dollars(a.Spent()), eventtext.Simulated(s.Options.Rehearsal))
	if brief := strings.TrimSpace(a.Brief); brief != "" {
		b.WriteString("Its brief: " + eventtext.Sentence(sanitize.Line(words.FirstLine(brief), 300)) + "\n")
	}
	if len(items) == 0 {
		b.WriteString("It has said and done nothing yet.\n")
	}
	for _, i := range items[max(len(items)-maxFocusItems, 0):] {
		b.WriteString("- " + i.At.Local().Format("15:04:05") + " " + itemText(i) + "\n")
	}
	return b.String()
}

// itemText renders an agent's text or call on one line.
func itemText(i eventtext.ActivityItem) string {
	if !i.Call() {
		return "says: " + eventtext.Sentence(sanitize.Line(i.Text, 300))
	}
	text := sanitize.Line(i.Tool+" "+i.Summary, 200)
	if i.Added+i.Removed > 0 {
		text += fmt.Sprintf(", +%d -%d lines", i.Added, i.Removed)
	}
	switch {
	case i.Runs():
		text += ", running for " + eventtext.Span(time.Since(i.At).Truncate(time.Second))
	case i.Failed:
		text += ", failed: " + sanitize.Line(i.Result, 200)
	default:
		text += ", " + eventtext.Span(i.Until.Sub(i.At))
	}
	return eventtext.Sentence(text)
}
