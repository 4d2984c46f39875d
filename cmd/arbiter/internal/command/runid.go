package command

import (
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ShortID returns the first characters of a run's id, which are enough to name the run.
func ShortID(run string) string {
	if len(run) > 8 {
		return run[:8]
	}
	return run
}

// Title returns the title of a task in lists.
func Title(task string) string {
	return sanitize.Line(sanitize.Redact(words.Title(task)), 100)
}
