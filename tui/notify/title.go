package notify

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// Moment is the part of a state that the title tells and that can be a reason to call.
// The zero value is an oracle that waits for a first word.
type Moment struct {
	Awaited []Wait // what a human is awaited for, oldest first
	Ended   string // how the run ended: complete, failed, cancelled, …; empty: it has not
	Word    string // the state of the machine: "weaving"; empty: no run
	Threads int    // Orchestrators at work
	Where   string // the workspace's name, to tell windows apart
	Focused bool   // the terminal said that it has the focus: nobody has to be called
	ASCII   bool   // the title has nothing beyond it
}

// Wait is one thing that a human is awaited for.
type Wait struct {
	// Call names what the human is called for. Things of one name are called for once, for as long as one of
	// them lasts: an agent asks for several permissions in a row.
	Call string
	For  string // in few words: "Orchestrator I asks to run a command"
}

// titleMost is how long a title is at most, in characters.
const titleMost = 80

// Title is the text of the terminal's title.
func Title(m Moment) string {
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
