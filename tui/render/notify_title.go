package render

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// NotifyMoment is the part of a state that the title shows and that can cause an alert. The zero value is a
// screen that waits for a first task.
type NotifyMoment struct {
	Awaited []NotifyWait // what a human is awaited for, oldest first
	Ended   string       // how the run ended: complete, failed, cancelled, …; empty: it has not
	Word    string       // the state of the program: "weaving"; empty: no run
	Threads int          // Orchestrators at work
	Where   string       // the workspace's name, to tell windows apart
	Focused bool         // the terminal reported that it has the focus: no alert is needed
	ASCII   bool         // the title must have only ASCII characters
}

// NotifyWait is one thing that waits for a human.
type NotifyWait struct {
	// Call is the name of the alert. Things with one name are announced once while any of them lasts: an
	// agent may ask for several permissions in a row.
	Call string
	For  string // in few words: "Orchestrator I asks to run a command"
}

// titleMost is the maximum length of a title, in characters.
const titleMost = 80

// TitleSequence returns the text of the terminal's title.
func TitleSequence(m NotifyMoment) string {
	mark, words := "", "speak"
	switch {
	case len(m.Awaited) > 1:
		mark, words = "? ", fmt.Sprintf("%d words are awaited", len(m.Awaited))
	case len(m.Awaited) == 1:
		mark, words = "? ", "a word is awaited"
	case m.Ended == "complete":
		mark, words = "✓ ", "it is done"
	case m.Ended == "cancelled":
		mark, words = "– ", "it was ended"
	case m.Ended == "limit":
		mark, words = "✗ ", "a limit is reached"
	case m.Ended == "needs_input":
		mark, words = "? ", "a word is awaited"
	case m.Ended != "":
		mark, words = "✗ ", "it has failed"
	case m.Word != "":
		mark, words = "◆ ", m.Word
		switch {
		case m.Threads == 1:
			words += " · 1 thread"
		case m.Threads > 1:
			words += fmt.Sprintf(" · %d threads", m.Threads)
		}
	}
	title := mark + "arbiter – " + words
	if m.Where != "" {
		title += " · " + sanitize.Line(m.Where, 32)
	}
	title = sanitize.Line(title, titleMost)
	if m.ASCII {
		title = strings.Map(func(r rune) rune {
			if r > '~' {
				return '?'
			}
			return r
		}, ascii.Replace(title))
	}
	return title
}

var ascii = strings.NewReplacer("✓", "+", "✗", "!", "◆", ">", "–", "-", "·", "-", "…", "~")
