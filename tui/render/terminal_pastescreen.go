package render

import "github.com/gdamore/tcell/v2"

// pasteScreen is a screen whose pastes keep their line feeds. Most, but not all, terminals convert those of
// a paste to carriage returns, and the widget library drops a line feed (the key Ctrl+J) while it collects
// a paste.
type pasteScreen struct {
	tcell.Screen
	pasting bool
	enter   bool // the previous event was a carriage return
}

// PollEvent may be called only by one goroutine.
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
