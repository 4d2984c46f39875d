// Package terminal wraps the user's terminal for the frontend: a tcell screen that reports
// when the terminal is gone, keeps pastes out of the key decoder, asks for the background
// color, and leaves the terminal as it was. It imports no package of the frontend but render.
package terminal

import (
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/gdamore/tcell/v2"
	"github.com/gdamore/tcell/v2/terminfo"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// Screen is a tcell screen with what tview leaves out: whether it could be opened and taken
// back, and sequences to the terminal that are no cells. It belongs to tview's loop, but for
// PollEvent and Gone.
type Screen struct {
	tcell.Screen
	// OnLoss is called once when the terminal is gone, on any goroutine. It must not wait
	// for the loop. Set it before the screen is used.
	OnLoss func(error)
	// OnSend, if it is set, sees each sequence that Send is given.
	OnSend func(sequence string)

	base       tcell.Screen // tcell's own, below all that is added here
	failed     error
	pastes     *guard // nil for a screen that is not the terminal's own, and so are
	background *backgroundReader
	tty        *checkedTTY
	title      string
	closed     bool

	mu   sync.Mutex // guards what follows
	lost error      // why nothing is drawn any more
}

// Wrap makes a Screen of one that is not the terminal's own, such as a simulated one.
func Wrap(s tcell.Screen) *Screen {
	return &Screen{Screen: &pasteScreen{Screen: newChangesScreen(s)}, base: s}
}

// Open makes the screen of the process's terminal. Nothing is written to it before Init.
func Open() (*Screen, error) {
	info, err := tcell.LookupTerminfo(os.Getenv("TERM"))
	if err != nil {
		return nil, err
	}
	// The library sleeps where old terminals want padding: several times a frame. It
	// also does so for a text that looks like padding, such as a title of "$<9999>".
	own := *info
	own.PadChar = ""
	// A character set that the library does not know has ASCII in it.
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII)
	tty, err := tcell.NewDevTty()
	if err != nil {
		return nil, err
	}
	t, err := On(keep(tty), &own)
	if err != nil {
		_ = tty.Close()
	}
	return t, err
}

// On makes the screen of a terminal of that kind.
func On(tty tcell.Tty, kind *terminfo.Terminfo) (*Screen, error) {
	e := &backgroundReader{Tty: tty}
	g := newGuard(e)
	checked := &checkedTTY{Tty: g}
	s, err := tcell.NewTerminfoScreenFromTtyTerminfo(checked, kind)
	if err != nil {
		return nil, err
	}
	for r, plain := range plainer {
		s.RegisterRuneFallback(r, plain)
	}
	changes := &pasteScreen{Screen: newChangesScreen(s)}
	return &Screen{Screen: changes, base: s, pastes: g, background: e, tty: checked}, nil
}

// AskBackground asks the terminal what its background is, if it is one that can be
// asked; heard is called on another goroutine, if at all.
func (t *Screen) AskBackground(heard func(render.RGB)) {
	if t.background != nil && asksBackground(os.Getenv("TERM"), os.Getenv("TMUX") != "") {
		t.background.heard = heard
		t.background.ask()
	}
}

// plainer is what stands for typography where the character set has none.
var plainer = map[rune]string{
	'–': "-", '—': "-", '…': ".", '·': "-", '“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '→': ">", '•': "*",
	'\u00a0': " ", '✓': "v", '✗': "!",
}

// Init implements tcell.Screen. tview drops its error: see Failed.
func (t *Screen) Init() error {
	t.failed = t.Screen.Init()
	return t.failed
}

// Failed is the error of Init.
func (t *Screen) Failed() error { return t.failed }

// SetWindowTitle changes the window's title, if it is another one.
func (t *Screen) SetWindowTitle(title string) {
	if title != t.title {
		t.title = title
		t.SetTitle(strings.ReplaceAll(title, "$<", "$ <")) // that would be padding
	}
}

// ForgetTitle has the next title be set even if it is the same one: another program that
// had the terminal may have changed it.
func (t *Screen) ForgetTitle() { t.title = "" }

// Paste takes the oldest paste that was not taken yet. It reports false if the screen does
// not keep pastes apart, or has none.
func (t *Screen) Paste() (Paste, bool) {
	if t.pastes == nil {
		return Paste{}, false
	}
	return t.pastes.take()
}

// KeepsPastes reports whether pastes are read by Paste, and not from the screen's events.
func (t *Screen) KeepsPastes() bool { return t.pastes != nil }

// Send writes a sequence made by package notify, between two paints.
func (t *Screen) Send(sequence string) {
	if t.OnSend != nil {
		t.OnSend(sequence)
	}
	if tty, ok := t.Tty(); ok && sequence != "" {
		_, _ = tty.Write([]byte(sequence)) // a terminal that is gone is found out elsewhere
	}
}

// PollEvent implements tcell.Screen. It is called on a goroutine of tview's. A terminal that
// cannot be read is gone; the frontend ends while the loop still answers, so tview is not told.
func (t *Screen) PollEvent() tcell.Event {
	for {
		e := t.Screen.PollEvent()
		gone, ok := e.(*tcell.EventError)
		if !ok {
			return e
		}
		t.lose(gone)
	}
}

// Suspend implements tcell.Screen. It fails where the terminal is gone: then there is none to
// lend.
func (t *Screen) Suspend() error {
	if t.Gone() == nil {
		t.lose(t.Screen.Suspend())
		if t.tty != nil {
			t.lose(t.tty.stopError())
		}
	}
	return t.Gone()
}

// Resume implements tcell.Screen. tview drops its error, and draws.
func (t *Screen) Resume() error {
	if t.Gone() == nil {
		t.lose(t.Screen.Resume())
	}
	return t.Gone()
}

// Show, Sync and Fini implement tcell.Screen.
func (t *Screen) Show() {
	if t.drawable() {
		t.Screen.Show()
	}
}

func (t *Screen) Sync() {
	if t.drawable() {
		t.Screen.Sync()
	}
}

func (t *Screen) Fini() {
	t.closed = true
	t.Screen.Fini()
}

// lose stops all drawing, if there is an error.
func (t *Screen) lose(err error) {
	t.mu.Lock()
	first := err != nil && t.lost == nil
	if first {
		t.lost = err
	}
	t.mu.Unlock()
	if first && t.OnLoss != nil {
		t.OnLoss(err)
	}
}

// Gone is why the terminal is lost; nil while it is not.
func (t *Screen) Gone() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// errCells says that tcell's buffer is smaller than its screen.
var errCells = errors.New("the screen cannot be drawn: it lost its cells")

// drawable guards against a fault of tcell (v2.13.10), whose draw never ends where its buffer of
// cells is smaller than its screen: outside of the buffer drawCell returns a width of 0, so that
// "x += width - 1" undoes the loop's x++. Suspend and Fini empty the buffer, and it stays empty
// when Resume fails; the screen keeps its size. To report upstream: draw should continue by
// max(width, 1), Fini should set fini (which Show asks for and nobody sets), and resize should
// compare the window's size with the buffer's, too.
func (t *Screen) drawable() bool {
	if t.Gone() != nil || t.closed {
		return false
	}
	w, h := t.Size()
	if w <= 0 || h <= 0 {
		return true
	}
	_, _, width := t.base.Get(w-1, h-1)
	if width == 0 {
		t.lose(errCells)
	}
	return width > 0
}
