package tuitest

import "github.com/gdamore/tcell/v2"

// Move moves the mouse, with the buttons that are pressed.
func (s *Stage) Move(x, y int) {
	s.T.Helper()
	s.deliver(tcell.NewEventMouse(x, y, s.buttons, tcell.ModNone))
}

// Button presses or releases the left button at a cell.
func (s *Stage) Button(x, y int, down bool) {
	s.T.Helper()
	s.buttons = tcell.ButtonNone
	if down {
		s.buttons = tcell.Button1
	}
	s.Move(x, y)
}

// Click clicks the left button at a cell.
func (s *Stage) Click(x, y int) {
	s.T.Helper()
	s.Button(x, y, true)
	s.Button(x, y, false)
}

// ClickOn clicks at the beginning of a text.
func (s *Stage) ClickOn(text string) {
	s.T.Helper()
	x, y, ok := s.find(text)
	if !ok {
		s.fatalf("there is no %q to click on", text)
	}
	s.Click(x, y)
}

// Wheel turns the wheel at a cell: up for a negative number of steps, otherwise down.
func (s *Stage) Wheel(x, y, steps int) {
	s.T.Helper()
	turn := tcell.WheelDown
	if steps < 0 {
		turn, steps = tcell.WheelUp, -steps
	}
	for range steps {
		s.deliver(tcell.NewEventMouse(x, y, turn, tcell.ModNone))
	}
}
