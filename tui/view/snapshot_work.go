package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// Work is what is known of an agent beyond the state: what it does, and the end of what it writes.
type Work struct {
	eventtext.AgentActivity
	Writing string
}

// silentAfter is how long a working agent may be silent before the screen shows it. Long thoughts are
// silent, so it does not count as a problem yet.
const silentAfter = 2 * time.Minute

// doing describes what an agent does in its running turn, and since when. tail reports that the end of the
// text matters.
func doing(s *supervisor.State, a *supervisor.Agent, w Work, now time.Time) (text string, since time.Time, tail bool) {
	if n := w.Working(); n > 0 {
		return delegated(w, n)
	}
	root := SnapshotRoot(s, a)
	if r := w.Running(); r.Call() {
		return callWords(r, root), r.At, false
	}
	if c := a.ToolCall; c != nil && !c.Cut { // of a run that was joined while it was running
		what := eventtext.Relative(root, eventtext.One(c.What, eventtext.MaxSummary))
		return strings.TrimSpace(eventtext.ToolName(c.Tool) + " " + what), c.Since, false
	}
	if text := sanitize.Line(lastLine(w.Writing), 400); text != "" {
		return text, time.Time{}, true
	}
	since = a.Since
	if w.Seen.After(since) {
		since = w.Seen
	}
	switch {
	case a.Watch.Hung:
		return "gives no sign of life", since, false
	case now.Sub(since) >= silentAfter:
		return supervisor.LifecycleThinking + ", without a word", since, false
	}
	return supervisor.LifecycleThinking, since, false
}

// quiet reports whether an agent was reported as silent and has shown no work since.
func quiet(s *supervisor.State, a *supervisor.Agent, w Work, now time.Time) bool {
	return a.Watch.Silent && now.Sub(w.Seen) >= s.Options.QuietAfter
}

// delegated describes what an agent does while its subagents work.
func delegated(w Work, n int) (text string, since time.Time, tail bool) {
	for _, sub := range w.Subagents {
		if !sub.Works() {
			continue
		}
		if since.IsZero() {
			since, text = sub.Began, sub.Name
		}
	}
	if n > 1 {
		text = fmt.Sprintf("%d subagents: %s", n, text)
	}
	return text, since, false
}

// callWords describes a call on one line, with paths relative to the workspace.
func callWords(i eventtext.ActivityItem, root string) string {
	text := i.Tool
	if summary := eventtext.Relative(root, i.Summary); summary != "" {
		text += " " + summary
	}
	return text
}

// lastLine returns the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \t\n")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// SnapshotRoot returns the directory in which an agent works.
func SnapshotRoot(s *supervisor.State, a *supervisor.Agent) string {
	if a.Isolation != "" && a.Isolation != runconfig.IsolationShared && s.Options.Workspace.Own != "" {
		return s.Options.Workspace.Dir(a.ID)
	}
	return s.Options.CWD
}

// SnapshotModel returns the model that was set for an agent; empty: none was set.
func SnapshotModel(s *supervisor.State, a *supervisor.Agent) string {
	model := s.Options.Model
	if a.Role == supervisor.RoleArbiter && s.Options.ArbiterModel != "" {
		model = s.Options.ArbiterModel
	}
	for _, m := range Modes(s) {
		if m.Name == a.Mode && m.Model != "" && m.Model != "inherit" {
			model = m.Model
		}
	}
	if a.Model != "" {
		model = a.Model
	}
	return sanitize.Line(model, 40)
}

// subagents returns the lines below an agent's.
func subagents(a *supervisor.Agent, w Work, now time.Time) []Subagent {
	var list []Subagent
	for _, sub := range w.Subagents {
		line := Subagent{Name: sub.Name, Works: sub.Works(), Failed: sub.Failed, Tokens: sub.Tokens}
		if line.Works {
			line.Age = max(now.Sub(sub.Began), 0)
			line.Doing = callWords(sub.Doing, "")
		} else {
			line.Age = max(sub.Ended.Sub(sub.Began), 0)
		}
		if a.Context.Window > 0 {
			line.Pct = 100 * float64(sub.Tokens) / float64(a.Context.Window)
		}
		list = append(list, line)
	}
	return list
}
