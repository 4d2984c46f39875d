package terminal

import "github.com/gdamore/tcell/v2"

// pasteScreen is a screen whose pastes keep their line feeds. Most terminals turn those of
// a paste into carriage returns, but not all do, and the widget library drops a line
// feed (it is the key Ctrl+J) while it collects a paste.
type pasteScreen struct {
	tcell.Screen
	pasting bool
	enter   bool // the event before was a carriage return
}

// PollEvent is called by one goroutine only.
func (s *pasteScreen) PollEvent() tcell.Event {
	for {
		e := s.Screen.PollEvent()
		switch e := e.(type) {
		case *tcell.EventPaste:
			s.pasting, s.enter = e.Start(), false
		case *tcell.EventKey:
			feed := s.pasting && e.Key() == tcell.KeyCtrlJ
			if feed && s.enter { // CR LF is one newline
				s.enter = false
				continue
			}
			s.enter = s.pasting && e.Key() == tcell.KeyEnter
			if feed {
				return tcell.NewEventKey(tcell.KeyEnter, 0, tcell.ModNone)
			}
		}
		return e
	}
}
