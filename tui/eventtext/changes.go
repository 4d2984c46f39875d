package eventtext

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// shownFiles is how many changed files a sentence names.
const shownFiles = 5

// changedText lists changed files with their lines: "a.go +3 −1, b.go (deleted) (with Orchestrator II)". by is whose
// turn ended.
func changedText(c contract.Changes, by string, name func(string) string) string {
	var files []string
	for _, f := range c.Files[:min(len(c.Files), shownFiles)] {
		var agents []string
		for _, id := range f.Agents {
			if f.Unsure || id != by {
				agents = append(agents, amid(Called(name, id)))
			}
		}
		text := changedFile(f)
		switch {
		case f.Unsure:
			text += " (" + strings.Join(agents, " or ") + ")"
		case len(agents) > 0:
			text += " (with " + strings.Join(agents, ", ") + ")"
		}
		files = append(files, text)
	}
	if more := len(c.Files) - len(files) + c.More; more > 0 {
		files = append(files, words.Count(more, "more file"))
	}
	return strings.Join(files, ", ")
}

func changedFile(f contract.FileChange) string {
	text := One(f.Path, MaxSummary)
	switch {
	case f.Status == "deleted":
		return text + " (deleted)"
	case f.Status == "renamed":
		text = One(f.Old, MaxSummary) + " to " + text
	case f.Status == "added":
		text += " (new)"
	}
	if f.Added > 0 {
		text += " +" + words.Number(f.Added)
	}
	if f.Deleted > 0 {
		text += " -" + words.Number(f.Deleted)
	}
	return text
}

func overlapText(o contract.Overlap, name func(string) string) string {
	agents := make([]string, len(o.Agents))
	for i, id := range o.Agents {
		agents[i] = amid(Called(name, id))
	}
	return strings.Join(agents, " and ") + " changed the same file: " + One(o.Path, MaxSummary)
}

// mergeText reports what happened to an agent's work: "The work of Orchestrator I was merged: a.go, b.go".
func mergeText(m contract.Merge, who string) string {
	var files []string
	for _, f := range m.Files[:min(len(m.Files), shownFiles)] {
		files = append(files, One(f, MaxSummary))
	}
	if more := len(m.Files) - len(files); more > 0 {
		files = append(files, words.Count(more, "more file"))
	}
	list := After(": ", strings.Join(files, ", "))
	if m.Status == "conflict" {
		return "The work of " + amid(who) + " conflicts with that of others" + list
	}
	return "The work of " + amid(who) + " was merged" + list
}

// acceptanceText reports the result of a criterion: "Criterion passed: the tests pass (make test)".
func acceptanceText(a contract.Acceptance) string {
	text := "Criterion " + One(a.Status, MaxName) + After(", ", One(a.Before, MaxName)) + ": " + One(a.Text, MaxSummary)
	if a.Command != "" && a.Command != a.Text {
		text += " (" + One(a.Command, MaxSummary) + ")"
	}
	if a.Status == "failed" && a.ExitCode >= 0 {
		text += ", exit code " + words.Number(a.ExitCode)
	}
	return text
}
