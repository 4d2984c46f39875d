package render

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gdamore/tcell/v2"
	"github.com/gdamore/tcell/v2/terminfo"
)

// This part of the package wraps the user's terminal for the frontend: a tcell screen that reports when the
// terminal is gone, keeps pastes out of the key decoder, asks for the background color, and leaves the
// terminal as it was. It imports no package of the frontend but render.

// Screen is a tcell screen with what tview lacks: errors of opening and resuming, and sequences that are
// not cells. It belongs to tview's loop, except PollEvent and Gone.
//
// It passes on only the cells that changed since the last Show. The widget library clears the screen before it draws,
// and tcell sends a cell again if it was cleared and drawn as before: without this, every frame would send all cells
// that are not blank. All drawing is that of a [Canvas]: by Fill, Put and Get.
type Screen struct {
	tcell.Screen
	// OnLoss is called once when the terminal is lost, on any goroutine. It must not wait for the loop. Set
	// it before the screen is used.
	OnLoss func(error)
	// OnSend, if set, is called with each sequence that is passed to Send.
	OnSend func(sequence string)

	failed error
	input  *inputTTY // nil for a screen that is not the terminal's own, as is
	title  string
	closed bool

	drawn cells // what is drawn on: next, or tcell's screen for the first frame and if it is very large
	next  tcell.CellBuffer
	shown bool // there was a frame
	// resized is set after a change of the size: the new part of a terminal may contain anything, and tcell
	// sends no blank there that it was not given.
	resized atomic.Bool

	mu   sync.Mutex // guards the following fields
	lost error      // why nothing is drawn any more
}

// WrapScreen returns a Screen for one that is not the terminal's own, such as a simulated one.
func WrapScreen(s tcell.Screen) *Screen {
	if own, ok := s.(*Screen); ok {
		return own
	}
	return &Screen{Screen: s, drawn: s}
}

// OpenTerminal returns the screen of the process's terminal. Nothing is written to it before Init.
func OpenTerminal() (*Screen, error) {
	info, err := tcell.LookupTerminfo(os.Getenv("TERM"))
	if err != nil {
		return nil, fmt.Errorf("this machine does not know the terminal that TERM names, %q; most work with "+
			"TERM=xterm-256color", os.Getenv("TERM"))
	}
	// The library sleeps several times per frame where old terminals need padding. It also does so for a
	// text that looks like padding, such as a title of "$<9999>".
	own := *info
	own.PadChar = ""
	// A character set that the library does not support includes ASCII.
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII)
	tty, err := tcell.NewDevTty()
	if err != nil {
		return nil, err
	}
	line := func() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }
	kept := &noFlush{Tty: tty, line: line}
	t, err := OnTerminal(kept, &own)
	if err != nil {
		_ = tty.Close()
		return nil, err
	}
	kept.answers = t.input.keys.listens
	return t, nil
}

// OnTerminal returns the screen of a terminal of that kind.
func OnTerminal(tty tcell.Tty, kind *terminfo.Terminfo) (*Screen, error) {
	input := &inputTTY{Tty: tty}
	s, err := tcell.NewTerminfoScreenFromTtyTerminfo(input, kind)
	if err != nil {
		return nil, err
	}
	input.charset = s.CharacterSet
	for r, plain := range plainer() {
		s.RegisterRuneFallback(r, plain)
	}
	return &Screen{Screen: s, drawn: s, input: input}, nil
}

// AskBackground requests the terminal's background color, if that is safe; onColor is called on another
// goroutine, if at all.
func (t *Screen) AskBackground(onColor func(RGB)) {
	if t.input != nil && asksBackground(os.Getenv("TERM"), os.Getenv("TMUX") != "") {
		t.input.keys.listen(onColor)
		_, _ = t.input.Write([]byte(askBackground)) // the loss of the terminal is detected elsewhere
	}
}

// askBackground requests a terminal's background color (OSC 11). Terminals that do not support it do not
// answer.
const askBackground = "\x1b]11;?\x1b\\"

// asksBackground reports whether the request may be sent: some terminals would print it, or pass it on to
// another terminal.
func asksBackground(term string, tmux bool) bool {
	for _, prefix := range []string{"linux", "vt", "dumb", "ansi", "cons"} {
		if strings.HasPrefix(term, prefix) {
			return false
		}
	}
	return term != "" && (tmux || !strings.HasPrefix(term, "screen"))
}

// plainer maps typographic characters to replacements in the same room, for character sets that lack them.
var plainer = sync.OnceValue(func() map[rune]string {
	return map[rune]string{
		'–': "-", '—': "-", '…': ".", '·': "-", '“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '→': ">", '•': "*",
		'\u00a0': " ", '✓': "v", '✗': "!", '×': "x", '≈': "~",
	}
})

// Init implements tcell.Screen. tview drops its error: see Failed.
func (t *Screen) Init() error {
	if t.failed = t.Screen.Init(); t.failed == nil {
		t.reportKeys()
	}
	return t.failed
}

// reportKeys has a terminal with the kitty keyboard protocol name the key of a Latin layout, too. The library ends that
// when it leaves the terminal.
func (t *Screen) reportKeys() {
	if tty, ok := t.Tty(); ok {
		_, _ = tty.Write([]byte("\x1b[=4;2u")) // the loss of the terminal is detected elsewhere
	}
}

// Failed returns the error of Init.
func (t *Screen) Failed() error { return t.failed }

// SetWindowTitle changes the window's title, if it differs.
func (t *Screen) SetWindowTitle(title string) {
	if title != t.title {
		t.title = title
		t.SetTitle(strings.ReplaceAll(title, "$<", "$ <")) // it would count as padding
	}
}

// ForgetTitle makes the next title be set even if it is unchanged: another program that had the terminal
// may have changed it.
func (t *Screen) ForgetTitle() { t.title = "" }

// Paste returns the oldest paste that was not taken yet. It returns false if the screen does not separate
// pastes, or has none.
func (t *Screen) Paste() (Paste, bool) {
	if t.input == nil {
		return Paste{}, false
	}
	return t.input.keys.take()
}

// KeepsPastes reports whether pastes are read by Paste, and not from the screen's events.
func (t *Screen) KeepsPastes() bool { return t.input != nil }

// Send writes a sequence made by package notify, between two paints.
func (t *Screen) Send(sequence string) {
	if t.OnSend != nil {
		t.OnSend(sequence)
	}
	if tty, ok := t.Tty(); ok && sequence != "" {
		_, _ = tty.Write([]byte(sequence)) // the loss of the terminal is detected elsewhere
	}
}

// PollEvent implements tcell.Screen. A goroutine of tview calls it. A terminal that cannot be read is lost;
// the frontend ends while the loop still answers, so tview does not get the error.
func (t *Screen) PollEvent() tcell.Event {
	for {
		e := t.Screen.PollEvent()
		if _, ok := e.(*tcell.EventResize); ok {
			t.resized.Store(true)
		}
		gone, ok := e.(*tcell.EventError)
		if !ok {
			return e
		}
		t.lose(gone)
	}
}

// Suspend implements tcell.Screen. It fails if the terminal is lost.
func (t *Screen) Suspend() error {
	if t.Gone() == nil {
		t.lose(t.Screen.Suspend())
		if t.input != nil {
			t.lose(t.input.stopError())
		}
	}
	return t.Gone()
}

// Resume implements tcell.Screen. tview drops its error, and draws.
func (t *Screen) Resume() error {
	if t.Gone() == nil {
		if err := t.Screen.Resume(); err != nil {
			t.lose(err)
		} else {
			t.reportKeys()
		}
	}
	return t.Gone()
}

// Show, Sync and Fini implement tcell.Screen.
func (t *Screen) Show() {
	if t.drawable() {
		t.copyChanges()
		t.Screen.Show()
	}
}

func (t *Screen) Sync() {
	if t.drawable() {
		t.copyChanges()
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

// Gone returns why the terminal is lost; nil while it is not.
func (t *Screen) Gone() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// errCells reports that tcell's buffer is smaller than its screen.
var errCells = errors.New("the screen cannot be drawn: it lost its cells")

// drawable guards against a fault of tcell (v2.13.10), whose draw never ends if its buffer of cells is
// smaller than its screen: outside of the buffer drawCell returns a width of 0, so that "x += width - 1"
// undoes the loop's x++. Suspend and Fini empty the buffer, and it stays empty when Resume fails; the
// screen keeps its size. To report upstream: draw should continue by max(width, 1), Fini should set fini
// (which Show checks, but which is never set), and resize should compare the window's size with the
// buffer's, too.
func (t *Screen) drawable() bool {
	if t.Gone() != nil || t.closed {
		return false
	}
	w, h := t.Size()
	if w <= 0 || h <= 0 {
		return true
	}
	_, _, width := t.Screen.Get(w-1, h-1)
	if width == 0 {
		t.lose(errCells)
	}
	return width > 0
}

// cells are the cells of a screen or a buffer.
type cells interface {
	Fill(rune, tcell.Style)
	Put(x, y int, text string, style tcell.Style) (string, int)
	Get(x, y int) (string, tcell.Style, int)
}

// lockedCells are those of tcell's screens. To lock them for each cell takes most of the time of a frame.
type lockedCells interface {
	sync.Locker
	GetCells() *tcell.CellBuffer
}

// mostKept is how many cells are kept here. Only an unrealistically large screen has more, and would take
// much memory twice.
const mostKept = 1 << 17

// Clear implements tcell.Screen.
func (t *Screen) Clear() { t.Fill(' ', tcell.StyleDefault) }

// Fill implements tcell.Screen. The first frame uses no buffer, because it differs everywhere from what was on the
// terminal: it appears sooner that way.
func (t *Screen) Fill(r rune, style tcell.Style) {
	w, h := t.Size()
	t.drawn = &t.next
	if !t.shown || w*h > mostKept {
		w, h, t.drawn = 0, 0, t.Screen
	}
	t.next.Resize(w, h)
	t.drawn.Fill(r, style)
}

func (t *Screen) Put(x, y int, text string, style tcell.Style) (string, int) {
	return t.drawn.Put(x, y, text, style)
}

func (t *Screen) Get(x, y int) (string, tcell.Style, int) { return t.drawn.Get(x, y) }

// copyChanges passes to tcell's screen the cells that differ, or all after a change of its size. It compares
// with that screen, which forgets its cells when the terminal is lent to another program.
func (t *Screen) copyChanges() {
	if !t.shown {
		t.shown = true
		return // the first frame is there already
	}
	all := t.resized.Swap(false)
	w, h := t.next.Size()
	shown := cells(t.Screen)
	if s, ok := t.Screen.(lockedCells); ok {
		s.Lock()
		defer s.Unlock()
		shown = s.GetCells()
	}
	for y := range h {
		for x := range w {
			text, style, _ := t.next.Get(x, y)
			if there, as, _ := shown.Get(x, y); all || there != text || as != style {
				shown.Put(x, y, text, style)
			}
		}
	}
}
