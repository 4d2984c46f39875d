package tui

import (
	"os"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/notify"
)

// terminal is the screen with what tview leaves out: whether it could be opened, and
// words to the terminal that are no cells. It belongs to tview's loop.
type terminal struct {
	tcell.Screen
	failed error
	pastes *guard // nil for a screen that is not the terminal's own
	notify notify.Options
	title  string
	wrote  func(sequence string) // of tests
}

// newScreen is the terminal's own screen.
func newScreen() (tcell.Screen, *guard, error) {
	info, err := tcell.LookupTerminfo(os.Getenv("TERM"))
	if err != nil {
		return nil, nil, err
	}
	// The library sleeps where old terminals want padding: several times a frame. It
	// also does so for a text that looks like padding, such as a title of "$<9999>".
	own := *info
	own.PadChar = ""
	// A character set that the library does not know has ASCII in it.
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII)
	tty, err := tcell.NewDevTty()
	if err != nil {
		return nil, nil, err
	}
	g := newGuard(tty)
	s, err := tcell.NewTerminfoScreenFromTtyTerminfo(g, &own)
	if err != nil {
		_ = tty.Close()
		return nil, nil, err
	}
	for r, plain := range plainer {
		s.RegisterRuneFallback(r, plain)
	}
	return s, g, nil
}

// plainer is what stands for typography where the character set has none.
var plainer = map[rune]string{
	'–': "-", '—': "-", '…': ".", '·': "-", '“': `"`, '”': `"`, '„': `"`, '‘': "'", '’': "'", '→': ">", '•': "*", '\u00a0': " ", '✓': "x", '✗': "!",
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
