package tuitest

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"

	"github.com/gdamore/tcell/v2"
)

// Screen is a simulated screen that keeps its size: tview initialises the screen that it gets, which resets
// a plain one to 80×25.
type Screen struct {
	tcell.SimulationScreen

	paints atomic.Int64
	bells  atomic.Int64
	given  atomic.Bool // up, by Fini: events are no longer handled

	// mu makes reading the painted cells, the title and the clipboard safe while the program continues: the
	// simulation returns the buffer that it draws into.
	mu    sync.Mutex
	w, h  int
	title string
	clip  []byte
	front painting  // last painted
	seen  [][]place // the same as a grid, once it was read
}

// painting is what was in a screen's cells when it was shown: the text and the style of each, row by row.
type painting struct {
	w, h  int
	cells []painted
}

type painted struct {
	text  string
	style tcell.Style
}

// canvas is the buffer that a simulation draws into. On Show the simulation would make a copy of it, in
// several encodings, which takes longer than all drawing.
type canvas interface {
	sync.Locker
	GetCells() *tcell.CellBuffer
}

func newScreen(w, h int) *Screen {
	return &Screen{SimulationScreen: tcell.NewSimulationScreen("UTF-8"), w: w, h: h}
}

// Init initialises the screen, also again after Fini.
func (s *Screen) Init() error {
	if err := s.SimulationScreen.Init(); err != nil {
		return err
	}
	s.given.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.front = nil, painting{}
	s.SimulationScreen.SetSize(s.w, s.h)
	return nil
}

// Show paints what was drawn.
func (s *Screen) Show() {
	s.paints.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paint()
}

// paint copies what was drawn.
func (s *Screen) paint() {
	drawn := s.SimulationScreen.(canvas)
	drawn.Lock()
	defer drawn.Unlock()
	cells := drawn.GetCells()
	s.seen = nil
	s.front.w, s.front.h = cells.Size()
	s.front.cells = slices.Grow(s.front.cells[:0], s.front.w*s.front.h)
	for y := range s.front.h {
		for x := range s.front.w {
			text, style, width := cells.Get(x, y)
			if x+width > s.front.w {
				text = " " // a terminal also shows a blank instead of half a character
			}
			s.front.cells = append(s.front.cells, painted{text, style})
		}
	}
}

// Sync paints everything again.
func (s *Screen) Sync() {
	s.paints.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paint()
}

// Fini closes the screen.
func (s *Screen) Fini() {
	s.given.Store(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.front = nil, painting{}
	s.SimulationScreen.Fini()
}

// grid returns what was last painted. It is shared, and must not be changed.
func (s *Screen) grid() [][]place {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = gridOf(s.front)
	}
	return s.seen
}

// SetTitle gives the window a title.
func (s *Screen) SetTitle(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title = title
}

// GetTitle returns the last title.
func (s *Screen) GetTitle() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.title
}

// SetClipboard puts data into the clipboard.
func (s *Screen) SetClipboard(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clip = slices.Clone(data)
}

// GetClipboardData returns the content of the clipboard.
func (s *Screen) GetClipboardData() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.clip)
}

// Beep counts a bell.
func (s *Screen) Beep() error {
	s.bells.Add(1)
	return nil
}

// Paints returns how many times the screen was painted.
func (s *Screen) Paints() int { return int(s.paints.Load()) }

// Bells returns how many times it rang.
func (s *Screen) Bells() int { return int(s.bells.Load()) }

// resize changes the size and notifies the program.
func (s *Screen) resize(w, h int) {
	s.mu.Lock()
	s.w, s.h, s.seen = w, h, nil
	s.SimulationScreen.SetSize(w, h)
	s.SimulationScreen.HideCursor()
	s.mu.Unlock()
	s.post(tcell.NewEventResize(w, h))
}

// post passes an event to the program, like a terminal. While the queue is full, it waits for the program.
func (s *Screen) post(e tcell.Event) {
	for s.PostEvent(e) != nil && !s.given.Load() {
		synctest.Wait()
	}
}
