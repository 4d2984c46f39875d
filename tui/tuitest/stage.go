package tuitest

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

// Stage holds the program, the screen and the user of one scenario.
type Stage struct {
	T      *testing.T
	Screen *Screen

	App     *tview.Application // set by Show
	stop    func()
	ended   chan struct{}
	err     error
	buttons tcell.ButtonMask
}

// Play plays a scenario in a bubble, on a screen of that size.
func Play(t *testing.T, w, h int, scene func(s *Stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &Stage{T: t, Screen: newScreen(w, h)}
		defer s.end()
		scene(s)
	})
}

// Show runs an application with p as its whole screen, and returns when it is drawn.
func (s *Stage) Show(p tview.Primitive) {
	s.T.Helper()
	s.App = tview.NewApplication().SetScreen(s.Screen).EnableMouse(true).EnablePaste(true).SetRoot(p, true)
	s.Start(s.App.Run, s.App.Stop)
}

// Start runs a program that draws on s.Screen, until stop is called: at the end of the scenario, unless it
// has ended before.
func (s *Stage) Start(run func() error, stop func()) {
	s.T.Helper()
	if s.ended != nil && !s.Ended() {
		s.T.Fatal("the stage is taken: one program at a time")
	}
	s.stop, s.ended = stop, make(chan struct{})
	go func() {
		defer close(s.ended)
		s.err = run()
	}()
	s.AwaitIdle()
}

// end waits for the program. It runs after a failure, too: otherwise the message would be that of a bubble
// that cannot end.
func (s *Stage) end() {
	if s.ended == nil {
		return
	}
	if !s.Ended() {
		s.stop()
	}
	<-s.ended
}

// Ended reports whether the program has ended.
func (s *Stage) Ended() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// ExpectEnd fails unless the program has ended, and returns its error.
func (s *Stage) ExpectEnd() error {
	s.T.Helper()
	if !s.Ended() {
		s.fatalf("the program goes on")
	}
	return s.err
}

// AwaitIdle returns when all goroutines of the bubble wait: everything is drawn then. Time does not pass.
func (s *Stage) AwaitIdle() { synctest.Wait() }

// Advance lets time pass.
func (s *Stage) Advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Press presses keys, one after the other.
func (s *Stage) Press(names ...string) {
	s.T.Helper()
	for _, name := range names {
		e, err := Key(name)
		if err != nil {
			s.T.Fatal(err)
		}
		s.deliver(e)
	}
}

// Type types a text, key by key. A newline is Enter, a tab Tab.
func (s *Stage) Type(text string) {
	s.T.Helper()
	for _, r := range text {
		switch r {
		case '\n':
			s.Press("Enter")
		case '\t':
			s.Press("Tab")
		default:
			s.deliver(tcell.NewEventKey(tcell.KeyRune, r, tcell.ModNone))
		}
	}
}

// Paste pastes a text in brackets, as the terminal sends it: all its keys are in the program's queue at
// once.
func (s *Stage) Paste(text string) {
	s.T.Helper()
	s.begin()
	s.Screen.post(tcell.NewEventPaste(true))
	for _, r := range strings.ReplaceAll(text, "\r\n", "\r") {
		switch r {
		case '\n', '\r':
			s.Screen.post(tcell.NewEventKey(tcell.KeyEnter, 0, tcell.ModNone))
		case '\t':
			s.Screen.post(tcell.NewEventKey(tcell.KeyTab, 0, tcell.ModNone))
		default:
			s.Screen.post(tcell.NewEventKey(tcell.KeyRune, r, tcell.ModNone))
		}
	}
	s.Screen.post(tcell.NewEventPaste(false))
	s.AwaitIdle()
}

// Resize changes the screen's size.
func (s *Stage) Resize(w, h int) {
	s.T.Helper()
	s.begin()
	s.Screen.resize(w, h)
	s.AwaitIdle()
}

func (s *Stage) deliver(e tcell.Event) {
	s.T.Helper()
	s.begin()
	s.Screen.post(e)
	s.AwaitIdle()
}

// begin fails if no program is running that could handle the user's action.
func (s *Stage) begin() {
	s.T.Helper()
	switch {
	case s.ended == nil:
		s.T.Fatal("nothing is on the stage: Show or Start comes first")
	case s.Ended():
		s.fatalf("the program is over: %v", errors.Join(s.err))
	}
}
