package view

import (
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// SnapshotSteps converts steps of a plan, or of an agent's own list, for the pages.
func SnapshotSteps(s *supervisor.State, plan []contract.Step) []PageStep {
	var list []PageStep
	for _, p := range plan {
		step := PageStep{Text: beginning(p.Text, mostOfStep), Status: p.Status, Mode: SlashWord(p.Mode)}
		if p.Agent != "" {
			step.Agent = SlashName(s, p.Agent)
		}
		list = append(list, step)
	}
	return list
}

// Bounds of texts that may have any length: they are wrapped for each frame.
const (
	mostOfStep = 4 << 10
	mostOfTask = 32 << 10
)

// beginning returns the beginning of a text, sanitised.
func beginning(text string, most int) string {
	if len(text) <= most {
		return sanitize.Text(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return sanitize.Text(text[:most]) + "…"
}

// SnapshotTasks returns the agents' own lists.
func SnapshotTasks(s *supervisor.State) []Tasks {
	var list []Tasks
	for _, t := range s.Task.AgentTasks {
		if len(t.Items) > 0 {
			list = append(list, Tasks{Agent: SlashName(s, t.Agent), Tone: render.Speaker(t.Agent),
				Items: SnapshotSteps(s, t.Items)})
		}
	}
	return list
}

// TaskText returns the part of a task's text that is shown.
func TaskText(text string) string { return beginning(text, mostOfTask) }
