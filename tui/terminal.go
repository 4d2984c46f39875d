package tui

import (
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/gdamore/tcell/v2"
	"github.com/gdamore/tcell/v2/terminfo"

	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// terminal is the screen with what tview leaves out: whether it could be opened and taken
// back, and words to the terminal that are no cells. It belongs to tview's loop.
type terminal struct {
	tcell.Screen
	failed     error
	pastes     *guard // nil for a screen that is not the terminal's own, and so are
	background *backgroundReader
	tty        *checkedTTY
	title      string
	wrote      func(sequence string) // of tests

	onLoss func(error) // told once, on any goroutine; it does not wait for the loop
	closed bool

	mu   sync.Mutex // guards what follows
	lost error      // why nothing is drawn any more
}

// newScreen is the terminal's own screen.
func newScreen() (*terminal, error) {
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
	t, err := screenOn(keep(tty), &own)
	if err != nil {
		_ = tty.Close()
	}
	return t, err
}

// screenOn is the screen of a terminal of that kind.
func screenOn(tty tcell.Tty, kind *terminfo.Terminfo) (*terminal, error) {
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
	return &terminal{Screen: editor.Screen(s), pastes: g, background: e, tty: checked}, nil
}

// askBackground asks the terminal what its background is, if it is one that can be
// asked; heard is called on another goroutine, if at all.
func (t *terminal) askBackground(heard func(render.RGB)) {
	if t.background != nil && asksBackground(os.Getenv("TERM"), os.Getenv("TMUX") != "") {
		t.background.heard = heard
		t.background.ask()
	}
}

// plainer is what stands for typography where the character set has none.
var plainer = map[rune]string{
	'–': "-", '—': "-", '…': ".", '·': "-", '“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '→': ">", '•': "*", '\u00a0': " ", '✓': "v", '✗': "!",
}

// Init implements tcell.Screen; tview drops its error.
func (t *terminal) Init() error {
	t.failed = t.Screen.Init()
	return t.failed
}

// setTitle changes the window's title, if it is another one.
func (t *terminal) setTitle(title string) {
	if title != t.title {
		t.title = title
		t.SetTitle(strings.ReplaceAll(title, "$<", "$ <")) // that would be padding
	}
}

// write sends a sequence made by package notify, between two paints.
func (t *terminal) write(sequence string) {
	if t.wrote != nil {
		t.wrote(sequence)
	}
	if tty, ok := t.Tty(); ok && sequence != "" {
		_, _ = tty.Write([]byte(sequence)) // a terminal that is gone is found out elsewhere
	}
}

// PollEvent implements tcell.Screen. It is called on a goroutine of tview's. A terminal that
// cannot be read is gone; the face ends while the loop still answers, so tview is not told.
func (t *terminal) PollEvent() tcell.Event {
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
func (t *terminal) Suspend() error {
	if t.gone() == nil {
		t.lose(t.Screen.Suspend())
		if t.tty != nil {
			t.lose(t.tty.stopError())
		}
	}
	return t.gone()
}

// Resume implements tcell.Screen. tview drops its error, and draws.
func (t *terminal) Resume() error {
	if t.gone() == nil {
		t.lose(t.Screen.Resume())
	}
	return t.gone()
}

// Show, Sync and Fini implement tcell.Screen.
func (t *terminal) Show() {
	if t.drawable() {
		t.Screen.Show()
	}
}

func (t *terminal) Sync() {
	if t.drawable() {
		t.Screen.Sync()
	}
}

func (t *terminal) Fini() {
	t.closed = true
	t.Screen.Fini()
}

// lose has nothing be drawn any more, if there is an error.
func (t *terminal) lose(err error) {
	t.mu.Lock()
	first := err != nil && t.lost == nil
	if first {
		t.lost = err
	}
	t.mu.Unlock()
	if first && t.onLoss != nil {
		t.onLoss(err)
	}
}

// gone is why the terminal is no more, if it is not.
func (t *terminal) gone() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// errCells says that tcell's buffer is smaller than its screen.
var errCells = errors.New("the screen cannot be drawn: it lost its cells")

// drawable guards against a fault of tcell (v2.13.10), whose draw never ends where its buffer of
// cells is smaller than its screen: outside of the buffer drawCell returns a width of 0, so that
// "x += width - 1" undoes the loop's x++. Suspend and Fini empty the buffer, and it stays empty
// when Resume fails; the screen keeps its size. To report upstream: draw should go on by
// max(width, 1), Fini should set fini (which Show asks for and nobody sets), and resize should
// compare the window's size with the buffer's, too.
func (t *terminal) drawable() bool {
	if t.gone() != nil || t.closed {
		return false
	}
	w, h := t.Size()
	if w <= 0 || h <= 0 {
		return true
	}
	_, _, width := t.Get(w-1, h-1)
	if width == 0 {
		t.lose(errCells)
	}
	return width > 0
}
