package snapshot

import (
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// Steps are steps of a plan, or of an agent's own list, as the pages show them.
func Steps(s *supervisor.State, plan []contract.Step) []pages.Step {
	var list []pages.Step
	for _, p := range plan {
		step := pages.Step{Text: beginning(p.Text, mostOfStep), Status: p.Status, Mode: slash.Word(p.Mode)}
		if p.Agent != "" {
			step.Agent = slash.Name(s, p.Agent)
		}
		list = append(list, step)
	}
	return list
}

// What is shown of texts that may be of any length: they are wrapped for each picture.
const (
	mostOfStep = 4 << 10
	mostOfTask = 32 << 10
)

// beginning is as much of a text as may be shown, fit for that.
func beginning(text string, most int) string {
	if len(text) <= most {
		return sanitize.Text(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return sanitize.Text(text[:most]) + "…"
}

// Tasks are the lists that agents keep for themselves.
func Tasks(s *supervisor.State) []pages.Tasks {
	var list []pages.Tasks
	for _, t := range s.Task.AgentTasks {
		if len(t.Items) > 0 {
			list = append(list, pages.Tasks{Agent: slash.Name(s, t.Agent), Tone: render.Speaker(t.Agent),
				Items: Steps(s, t.Items)})
		}
	}
	return list
}

// TaskText is the text of a task, as much of it as is shown.
func TaskText(text string) string { return beginning(text, mostOfTask) }
