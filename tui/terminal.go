package tui

import (
	"os"
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/cell"
	"github.com/arbiter-cli/arbiter/tui/composer"
)

// terminal is the screen with what tview leaves out: whether it could be opened, and
// words to the terminal that are no cells. It belongs to tview's loop.
type terminal struct {
	tcell.Screen
	failed error
	pastes *guard // nil for a screen that is not the terminal's own, and so is
	ear    *ear
	title  string
	wrote  func(sequence string) // of tests
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
	e := &ear{Tty: keep(tty)}
	g := newGuard(e)
	s, err := tcell.NewTerminfoScreenFromTtyTerminfo(g, &own)
	if err != nil {
		_ = tty.Close()
		return nil, err
	}
	for r, plain := range plainer {
		s.RegisterRuneFallback(r, plain)
	}
	return &terminal{Screen: composer.Screen(s), pastes: g, ear: e}, nil
}

// askBackground asks the terminal what its background is, if it is one that can be
// asked; heard is called on another goroutine, if at all.
func (t *terminal) askBackground(heard func(cell.RGB)) {
	if t.ear != nil && asksBackground(os.Getenv("TERM"), os.Getenv("TMUX") != "") {
		t.ear.heard = heard
		t.ear.ask()
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
