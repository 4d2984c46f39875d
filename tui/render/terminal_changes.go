package render

import (
	"sync/atomic"

	"github.com/gdamore/tcell/v2"
)

// changesScreen passes on only the cells that changed since the last Show. The widget library clears the
// screen before it draws, and tcell sends a cell again if it was cleared and drawn as before: without this,
// every frame would send all cells that are not blank.
type changesScreen struct {
	tcell.Screen
	drawn cells // what is drawn on: next, or the screen below for the first frame and if it is very large
	next  tcell.CellBuffer
	style tcell.Style // the style of Clear
	shown bool        // there was a frame
	// resized is set after a change of the size: the new part of a terminal may contain anything, and tcell
	// sends no blank there that it was not given.
	resized atomic.Bool
}

// cells are the cells of a screen or a buffer.
type cells interface {
	Fill(rune, tcell.Style)
	Put(x, y int, text string, style tcell.Style) (string, int)
	Get(x, y int) (string, tcell.Style, int)
}

// mostKept is how many cells are kept here. Only an unrealistically large screen has more, and would take
// much memory twice.
const mostKept = 1 << 17

func newChangesScreen(below tcell.Screen) *changesScreen {
	s := &changesScreen{Screen: below}
	s.drawn = below
	return s
}

// fit gives the buffer the size of the screen. The first frame uses no buffer, because it differs
// everywhere from what was on the terminal: it appears sooner that way.
func (s *changesScreen) fit() {
	w, h := s.Size()
	s.drawn = &s.next
	if !s.shown || w*h > mostKept {
		w, h, s.drawn = 0, 0, s.Screen
	}
	s.next.Resize(w, h)
}

// Clear implements tcell.Screen.
func (s *changesScreen) Clear() { s.Fill(' ', s.style) }

// Fill implements tcell.Screen.
func (s *changesScreen) Fill(r rune, style tcell.Style) {
	s.fit()
	s.drawn.Fill(r, style)
}

// Put implements tcell.Screen.
func (s *changesScreen) Put(x, y int, text string, style tcell.Style) (string, int) {
	return s.drawn.Put(x, y, text, style)
}

// PutStr implements tcell.Screen.
func (s *changesScreen) PutStr(x, y int, text string) { s.PutStrStyled(x, y, text, s.style) }

// PutStrStyled implements tcell.Screen.
func (s *changesScreen) PutStrStyled(x, y int, text string, style tcell.Style) {
	for width := 0; text != ""; x += width {
		text, width = s.drawn.Put(x, y, text, style)
		if width == 0 {
			return // beyond the screen
		}
	}
}

// SetCell implements tcell.Screen.
func (s *changesScreen) SetCell(x, y int, style tcell.Style, runes ...rune) {
	if len(runes) == 0 {
		runes = []rune{' '}
	}
	s.drawn.Put(x, y, string(runes), style)
}

// SetContent implements tcell.Screen.
func (s *changesScreen) SetContent(x, y int, primary rune, combining []rune, style tcell.Style) {
	s.SetCell(x, y, style, append([]rune{primary}, combining...)...)
}

// Get implements tcell.Screen.
func (s *changesScreen) Get(x, y int) (string, tcell.Style, int) { return s.drawn.Get(x, y) }

// GetContent implements tcell.Screen.
func (s *changesScreen) GetContent(x, y int) (rune, []rune, tcell.Style, int) {
	text, style, width := s.drawn.Get(x, y)
	runes := []rune(text)
	return runes[0], runes[1:], style, width
}

// SetStyle implements tcell.Screen.
func (s *changesScreen) SetStyle(style tcell.Style) {
	s.style = style
	s.Screen.SetStyle(style)
}

// PollEvent implements tcell.Screen.
func (s *changesScreen) PollEvent() tcell.Event {
	e := s.Screen.PollEvent()
	if _, ok := e.(*tcell.EventResize); ok {
		s.resized.Store(true)
	}
	return e
}

// Show implements tcell.Screen.
func (s *changesScreen) Show() {
	s.copyChanges()
	s.shown = true
	s.Screen.Show()
}

// Sync implements tcell.Screen.
func (s *changesScreen) Sync() {
	s.copyChanges()
	s.shown = true
	s.Screen.Sync()
}

// copyChanges passes to the screen below the cells that differ, or all after a change of its size. It compares
// with that screen, which forgets its cells when the terminal is lent to another program.
func (s *changesScreen) copyChanges() {
	if !s.shown {
		return // the first frame is there already
	}
	all := s.resized.Swap(false)
	w, h := s.next.Size()
	for y := range h {
		for x := range w {
			text, style, _ := s.next.Get(x, y)
			if there, as, _ := s.Screen.Get(x, y); all || there != text || as != style {
				s.Screen.Put(x, y, text, style)
			}
		}
	}
}
