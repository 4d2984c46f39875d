package terminal

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/url"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// emulator interprets what a program sends: it wraps the emulator of charmbracelet/x/vt, and adds what that
// does not report. Modes are kept here, because in the library a cursor hidden on one screen stays hidden
// only on that screen, and a title must not contain a semicolon. Only one goroutine at a time may call its
// methods.
type emulator struct {
	vt       *vt.Emulator
	modes    map[ansi.DECMode]bool
	title    string
	titles   []string // titles that were saved
	clip     string
	keyboard int
	shape    int
	keypad   bool
	pen      uv.Style
	savedPen uv.Style
	shield   shield
}

// newEmulator returns an emulator. A terminal of size zero has one cell here: the library needs at least
// one, and the program still gets the true size.
func newEmulator(size Size) *emulator {
	e := &emulator{modes: map[ansi.DECMode]bool{ansi.ModeTextCursorEnable: true, ansi.ModeAutoWrap: true}}
	e.vt = vt.NewEmulator(max(size.Columns, 1), max(size.Rows, 1))
	e.vt.SetScrollbackSize(1)
	e.vt.SetCallbacks(vt.Callbacks{
		EnableMode:  func(m ansi.Mode) { e.mode(m, true) },
		DisableMode: func(m ansi.Mode) { e.mode(m, false) },
	})
	for _, command := range []int{0, 1, 2} {
		e.vt.RegisterOscHandler(command, func(data []byte) bool {
			if command != 1 {
				e.title = operand(data)
			}
			return true
		})
	}
	e.vt.RegisterOscHandler(52, func(data []byte) bool {
		_, encoded, _ := bytes.Cut([]byte(operand(data)), []byte(";"))
		if text, err := base64.StdEncoding.DecodeString(string(encoded)); err == nil {
			e.clip = string(text)
		}
		return true
	})
	// The library does not report the effect of these, or does not support them. A handler that returns false leaves
	// the work to the next one.
	look := func(command int, f func(ansi.Params)) {
		e.vt.RegisterCsiHandler(command, func(p ansi.Params) bool { f(p); return false })
	}
	look('m', func(p ansi.Params) { uv.ReadStyle(p, &e.pen) })
	look(ansi.Command(0, ' ', 'q'), func(p ansi.Params) { e.shape, _, _ = p.Param(0, 0) })
	look(ansi.Command('>', 0, 'u'), func(ansi.Params) { e.keyboard++ })
	look(ansi.Command('<', 0, 'u'), func(p ansi.Params) {
		n, _, _ := p.Param(0, 1)
		e.keyboard = max(e.keyboard-max(n, 1), 0)
	})
	look('t', func(p ansi.Params) {
		switch op, _, _ := p.Param(0, 0); {
		case op == 22 && len(e.titles) < 1000: // of a hostile program
			e.titles = append(e.titles, e.title)
		case op == 23 && len(e.titles) > 0:
			last := len(e.titles) - 1
			e.title, e.titles = e.titles[last], e.titles[:last]
		}
	})
	for final, f := range map[int]func(){
		'7': func() { e.savedPen = e.pen },
		'8': func() { e.pen = e.savedPen },
		'c': func() { e.pen, e.shape, e.keyboard, e.keypad = uv.Style{}, 0, 0, false },
		'=': func() { e.keypad = true },
		'>': func() { e.keypad = false },
	} {
		e.vt.RegisterEscHandler(final, func() bool { f(); return false })
	}
	return e
}

// operand returns the text after the number of an OSC.
func operand(data []byte) string {
	_, text, _ := bytes.Cut(data, []byte(";"))
	return unshield(string(text))
}

func (e *emulator) mode(m ansi.Mode, on bool) {
	private, ok := m.(ansi.DECMode)
	switch {
	case !ok || private == ansi.ModeNumericKeypad: // that is ESC =, and handled there
	case on:
		e.modes[private] = true
	default:
		delete(e.modes, private)
	}
}

// close ends the answers. The library's own Close races with a Read, that of its pipe does not.
func (e *emulator) close() {
	if c, ok := e.vt.InputPipe().(io.Closer); ok {
		c.Close()
	}
}

// write processes what a program sent. If the library panics, that is an error of the test, not its end.
func (e *emulator) write(p []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("emulator failed at %.100q: %v", p, r)
		}
	}()
	_, err = e.vt.Write(e.shield.pass(p))
	return err
}

func (e *emulator) resize(size Size) { e.vt.Resize(max(size.Columns, 1), max(size.Rows, 1)) }

func (e *emulator) screen() Screen {
	w, h := e.vt.Width(), e.vt.Height()
	at := e.vt.CursorPosition()
	s := Screen{
		Size:   Size{w, h},
		Cells:  make([][]uv.Cell, h),
		Cursor: Cursor{X: at.X, Y: at.Y, Visible: e.modes[ansi.ModeTextCursorEnable], Shape: e.shape},
		Title:  e.title, Clipboard: e.clip,
		Modes: maps.Clone(e.modes), Keyboard: e.keyboard, Keypad: e.keypad, Pen: e.pen,
	}
	for y := range h {
		s.Cells[y] = make([]uv.Cell, w)
		for x := range w {
			if c := e.vt.CellAt(x, y); c != nil { // the library takes a link's URL for its parameters
				s.Cells[y][x] = *c
				s.Cells[y][x].Link = uv.NewLink(unshield(c.Link.Params))
			}
		}
		fillGaps(s.Cells[y])
	}
	return s
}

// fillGaps puts blanks into empty cells that no wide one covers.
func fillGaps(row []uv.Cell) {
	covered := 0
	for x := range row {
		if covered > 0 {
			covered--
			row[x] = uv.Cell{Style: row[x-1].Style}
			continue
		}
		if row[x].Width < 1 || row[x].Content == "" {
			row[x].Content, row[x].Width = " ", 1
		}
		covered = row[x].Width - 1
	}
}

// shield makes the content of an OSC reach its handler completely. The library reads bytes there, not
// characters, and takes the 0x9c in "✓" for the end of the string. UTF-8 terminals do not.
type shield struct{ at shieldState }

type shieldState int

const (
	outside shieldState = iota
	escaped
	inOSC
)

// pass returns the input for the emulator: in an OSC, bytes beyond ASCII are escaped as in a URL.
func (s *shield) pass(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for _, b := range p {
		switch {
		case b == 0x1b:
			s.at = escaped
		case s.at == escaped && b == ']':
			s.at = inOSC
		case s.at == inOSC && b == '\a', s.at == escaped:
			s.at = outside
		case s.at == inOSC && (b >= 0x80 || b == '%'):
			out = fmt.Appendf(out, "%%%02X", b)
			continue
		}
		out = append(out, b)
	}
	return out
}

func unshield(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
