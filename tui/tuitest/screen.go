package tuitest

import (
	"sync"
	"sync/atomic"

	"github.com/gdamore/tcell/v2"
)

// Screen is a simulated screen of a size of its own: tview initialises the screen it
// is handed, and that resets a plain one to 80×25.
type Screen struct {
	tcell.SimulationScreen

	mu     sync.Mutex
	w, h   int
	paints atomic.Int64
	bells  atomic.Int64
}

func newScreen(w, h int) *Screen {
	return &Screen{SimulationScreen: tcell.NewSimulationScreen("UTF-8"), w: w, h: h}
}

// Init begins, or begins again after the screen was given up.
func (s *Screen) Init() error {
	if err := s.SimulationScreen.Init(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.SimulationScreen.SetSize(s.w, s.h)
	return nil
}

// Show paints what was drawn.
func (s *Screen) Show() {
	s.paints.Add(1)
	s.SimulationScreen.Show()
}

// Beep rings.
func (s *Screen) Beep() error {
	s.bells.Add(1)
	return nil
}

// Paints is how often the screen was painted.
func (s *Screen) Paints() int { return int(s.paints.Load()) }

// Bells is how often it rang.
func (s *Screen) Bells() int { return int(s.bells.Load()) }

// resize changes the size; the program is told.
func (s *Screen) resize(w, h int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w, s.h = w, h
	s.SimulationScreen.SetSize(w, h)
	s.post(tcell.NewEventResize(w, h))
}

// post hands an event in as the terminal would, however many wait already.
func (s *Screen) post(e tcell.Event) { s.PostEventWait(e) }
