package tui

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// failingTTY is a terminal that goes away at one of the calls to it, counted by number; later calls fail. Its
// window may have another size each time the frontend asks.
type failingTTY struct {
	mu             sync.Mutex
	failAfter      int // calls until its end; negative: it does not end
	calls          int
	gone           chan struct{}
	drained        chan struct{}
	resized        func()
	sizes          func() (w, h int)
	inUseElsewhere bool // to another program
	wasGone        bool // when it was lent
	noticed        bool // that it has gone, or it has not, when the frontend is left
}

func newFailingTTY(failAfter int, sizes func() (w, h int)) *failingTTY {
	return &failingTTY{failAfter: failAfter, sizes: sizes}
}

// call counts a call.
func (m *failingTTY) call() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	if m.ended() {
		if m.calls == m.failAfter+1 {
			close(m.gone)
		}
		return syscall.EIO
	}
	return nil
}

// ended reports whether it is gone.
func (m *failingTTY) ended() bool { return m.failAfter >= 0 && m.calls > m.failAfter }

// lendTTY simulates that another program uses the terminal for a few calls.
func (m *failingTTY) lendTTY() {
	m.mu.Lock()
	m.inUseElsewhere, m.wasGone = true, m.wasGone || m.ended()
	m.mu.Unlock()
	for range 3 {
		_ = m.call()
	}
	m.mu.Lock()
	m.inUseElsewhere = false
	m.mu.Unlock()
}

func (m *failingTTY) Start() error {
	m.drained = make(chan struct{})
	return m.call()
}

func (m *failingTTY) Drain() error          { close(m.drained); return nil }
func (m *failingTTY) Stop() error           { return m.call() }
func (m *failingTTY) Close() error          { return nil }
func (m *failingTTY) NotifyResize(f func()) { m.mu.Lock(); m.resized = f; m.mu.Unlock() }

func (m *failingTTY) Read([]byte) (int, error) {
	select {
	case <-m.gone:
		return 0, syscall.EIO
	case <-m.drained:
		return 0, nil
	}
}

func (m *failingTTY) Write(p []byte) (int, error) {
	if err := m.call(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (m *failingTTY) WindowSize() (tcell.WindowSize, error) {
	if err := m.call(); err != nil {
		return tcell.WindowSize{}, err
	}
	w, h := m.sizes()
	return tcell.WindowSize{Width: w, Height: h}, nil
}

// resize reports another size, like the kernel.
func (m *failingTTY) resize() {
	m.mu.Lock()
	f := m.resized
	m.mu.Unlock()
	if f != nil {
		f()
	}
}

// onFailingTTY shows a frontend on that terminal, which is lent twice and resized, and returns the frontend's
// error.
func onFailingTTY(t *testing.T, tty *failingTTY) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tty.gone = make(chan struct{}) // created in the bubble
		info, lookup := tcell.LookupTerminfo("xterm-256color")
		if lookup != nil {
			t.Fatal(lookup)
		}
		kind := *info
		kind.PadChar = ""
		screen, failed := render.OnTerminal(tty, &kind)
		if failed != nil {
			t.Fatal(failed)
		}
		lendTTY := func() error { tty.lendTTY(); return nil }
		host := &fakeHost{t: t, found: Findings{Claude: "2.1.329", Login: LoginNo}, login: lendTTY}
		f, failed := New(Options{Screen: screen, Host: host, Theme: "dark"})
		if failed != nil {
			t.Fatal(failed)
		}
		f.screen = screen
		screen.OnLoss = f.lose
		over := make(chan struct{})
		go func() {
			defer close(over)
			err = f.Run(context.Background())
		}()
		time.Sleep(2 * frame)
		for range 2 {
			synctest.Wait()
			if e := screen.PostEvent(tcell.NewEventKey(tcell.KeyRune, 'l', tcell.ModNone)); e != nil {
				break // the event loop has ended
			}
			time.Sleep(2 * frame)
			tty.resize()
			time.Sleep(2 * frame)
		}
		select {
		case <-over:
			tty.noticed = true
		default:
			tty.mu.Lock()
			tty.noticed = !tty.ended()
			tty.mu.Unlock()
		}
		f.Leave()
		<-over
	})
	return err
}

// TestTerminalIsLostAtAnyCall: the terminal goes away at any moment, also while and right after another
// program uses it. The frontend ends and reports why. It does not draw forever, and does not lend a
// terminal that is gone.
func TestTerminalIsLostAtAnyCall(t *testing.T) {
	fixed := func() (w, h int) { return 80, 24 }
	complete := newFailingTTY(-1, fixed)
	if err := onFailingTTY(t, complete); err != nil {
		t.Fatal(err)
	}
	stride := effort(3, 1, 1)
	for failAfter := 0; failAfter < complete.calls; failAfter += stride {
		t.Run(fmt.Sprint(failAfter), func(t *testing.T) {
			tty := newFailingTTY(failAfter, fixed)
			if err := onFailingTTY(t, tty); err != nil && !strings.HasSuffix(err.Error(), syscall.EIO.Error()) {
				t.Errorf("it ends with %v", err)
			}
			if !tty.noticed {
				t.Error("the face goes on without a terminal")
			}
			if tty.wasGone {
				t.Error("a terminal that was gone was lent")
			}
		})
	}
}

// TestWindowOfTwoSizes: at each query the window may have its other size, or may be gone.
func TestWindowOfTwoSizes(t *testing.T) {
	for seed := range effort[uint64](40, 80, 200) {
		random := rand.New(rand.NewPCG(seed, 1))
		wide := true
		sizes := func() (w, h int) {
			if random.IntN(3) == 0 { // not always: each change causes a paint, and another query
				wide = !wide
			}
			if wide {
				return 80, 24
			}
			return 40, 12
		}
		failAfter := -1
		if seed%2 == 1 {
			failAfter = random.IntN(80)
		}
		tty := newFailingTTY(failAfter, sizes)
		if err := onFailingTTY(t, tty); err != nil && !strings.HasSuffix(err.Error(), syscall.EIO.Error()) {
			t.Errorf("seed %d: it ends with %v", seed, err)
		}
		if !tty.noticed {
			t.Errorf("seed %d: the face goes on without a terminal", seed)
		}
	}
}
