package tui

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
)

// slow is a program around the frontend whose disk and processes do not answer until they are released.
type slow struct {
	*fakeHost
	answer chan struct{}
}

func (s slow) Inputs() []string { <-s.answer; return s.fakeHost.Inputs() }

func (s slow) Inspect(ctx context.Context) Findings { <-s.answer; return s.fakeHost.Inspect(ctx) }

// colourless is a terminal that makes arbiter panic before the first frame.
type colourless struct {
	tcell.SimulationScreen
	ended int
}

func (c *colourless) Colors() int { panic("no colours") }

func (c *colourless) Fini() { c.ended++; c.SimulationScreen.Fini() }

// TestFaultBeforeTheFirstFrame: the terminal is restored even if arbiter panics before the first frame.
func TestFaultBeforeTheFirstFrame(t *testing.T) {
	screen := &colourless{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}
	f, err := New(Options{Screen: screen, Host: &fakeHost{}})
	if err != nil {
		t.Fatal(err)
	}
	var fault *Fault
	if err := f.Run(context.Background()); !errors.As(err, &fault) || fault.Panic != "no colours" ||
		len(fault.Stack) == 0 {
		t.Errorf("it ends with %v", err)
	}
	if screen.ended != 1 {
		t.Errorf("the terminal was given back %d times", screen.ended)
	}
}

// TestFirstFrameDoesNotWait: the oracle is visible before the disk and `claude` have answered. Text that
// was typed before is there when they have.
func TestFirstFrameDoesNotWait(t *testing.T) {
	screen := newWatched()
	host := slow{&fakeHost{found: Findings{Claude: "2.1.329", Login: LoginYes}}, make(chan struct{})}
	f, err := New(Options{Screen: screen, Host: host, Theme: "dark"})
	if err != nil {
		t.Fatal(err)
	}
	painted, recalled := make(chan struct{}), make(chan struct{})
	var first, again sync.Once
	screen.painted = func() {
		first.Do(func() { close(painted) })
		if f.root.prompt.input.Text() == "An older word" {
			again.Do(func() { close(recalled) })
		}
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer f.Leave()
	wg.Go(func() {
		if err := f.Run(context.Background()); err != nil {
			t.Error(err)
		}
	})
	await := func(done chan struct{}, what string, press func()) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(2 * time.Minute); ; {
			select {
			case <-done:
				return
			case <-tick.C:
				press()
			case <-deadline:
				t.Errorf("no %s", what)
				return
			}
		}
	}
	await(painted, "first frame", func() {})
	close(host.answer)
	await(recalled, "word of before", func() { screen.InjectKey(tcell.KeyUp, 0, tcell.ModNone) })
}
