package command

import (
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ShortID is enough of a run's id to name it.
func ShortID(run string) string {
	if len(run) > 8 {
		return run[:8]
	}
	return run
}

// Title is what a task is called in lists.
func Title(task string) string {
	return sanitize.Line(sanitize.Redact(words.Title(task)), 100)
}
