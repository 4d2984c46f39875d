package tui

import (
	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/notify"
)

// terminal is the screen with what tview leaves out: whether it could be opened, and
// words to the terminal that are no cells. It belongs to tview's loop.
type terminal struct {
	tcell.Screen
	failed error
	notify notify.Options
	title  string
	wrote  func(sequence string) // of tests
}

// Init implements tcell.Screen; tview drops its error.
func (t *terminal) Init() error {
	t.failed = t.Screen.Init()
	return t.failed
}

// setTitle changes the window's title, if it is another one.
func (t *terminal) setTitle(title string) {
	if title != t.title {
		t.title = title
		t.SetTitle(title)
	}
}

// write sends a sequence made by package notify, between two paints.
func (t *terminal) write(sequence string) {
	if t.wrote != nil {
		t.wrote(sequence)
	}
	if tty, ok := t.Tty(); ok && sequence != "" {
		_, _ = tty.Write([]byte(sequence)) // a terminal that is gone is found out elsewhere
	}
}
