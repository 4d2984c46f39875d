package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Size of a terminal.
type Size struct{ Columns, Rows int }

// Cell is one place of the screen.
type Cell struct {
	Text  string // one grapheme cluster; empty in a cell that the one before covers
	Width int    // 2 of a wide one, 0 of a covered one
	Style Style
	Link  string // target of a hyperlink
}

// Cursor is the position of the next text.
type Cursor struct {
	X, Y    int
	Visible bool
	Shape   int // as set by the program (DECSCUSR); 0: the terminal's default
}

// Modes that programs set, by their DEC private numbers.
const (
	ModeCursorKeys     = 1
	ModeWrap           = 7
	ModeCursor         = 25
	ModeMouseClicks    = 1000
	ModeMouseDrags     = 1002
	ModeMouseMoves     = 1003
	ModeFocus          = 1004
	ModeMouseSGR       = 1006
	ModeAltScreen      = 1049
	ModeBracketedPaste = 2004
	ModeSynchronised   = 2026
)

// Screen is what a user sees at one moment. It is a copy that is never changed.
type Screen struct {
	Size   Size
	Cells  [][]Cell // rows of columns
	Cursor Cursor
	Title  string
	Bells  int
	// Modes are the DEC private modes that are on.
	Modes map[int]bool
	// Keyboard counts the requests for the extended keyboard protocol that are still active.
	Keyboard  int
	Keypad    bool   // application mode
	Clipboard string // the last content
	// Pen is the style that further text would have.
	Pen Style
}

// Alt reports whether this is the alternate screen, which leaves no trace.
func (s Screen) Alt() bool { return s.Modes[ModeAltScreen] || s.Modes[1047] || s.Modes[47] }

// Mouse reports whether the program receives clicks.
func (s Screen) Mouse() bool {
	return s.Modes[ModeMouseClicks] || s.Modes[ModeMouseDrags] || s.Modes[ModeMouseMoves]
}

// Row returns the text of a row without trailing blanks; a negative number counts from the bottom.
func (s Screen) Row(y int) string {
	if y < 0 {
		y += len(s.Cells)
	}
	if y < 0 || y >= len(s.Cells) {
		return ""
	}
	var b strings.Builder
	for _, c := range s.Cells[y] {
		b.WriteString(c.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Rows returns the texts of all rows.
func (s Screen) Rows() []string {
	rows := make([]string, len(s.Cells))
	for y := range rows {
		rows[y] = s.Row(y)
	}
	return rows
}

// Text returns the screen's text without trailing empty rows.
func (s Screen) Text() string { return strings.TrimRight(strings.Join(s.Rows(), "\n"), "\n") }

// Find returns the cell at which a text begins, in one row.
func (s Screen) Find(text string) (x, y int, ok bool) {
	for y, row := range s.Cells {
		for x := range row {
			if row[x].Width != 0 && startsAt(row[x:], text) {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}

func startsAt(cells []Cell, text string) bool {
	for _, c := range cells {
		if text == "" {
			return true
		}
		if len(text) <= len(c.Text) {
			return strings.HasPrefix(c.Text, text)
		}
		if !strings.HasPrefix(text, c.Text) {
			return false
		}
		text = text[len(c.Text):]
	}
	return text == ""
}

// Shows reports whether one of the rows contains a text.
func (s Screen) Shows(text string) bool {
	_, _, ok := s.Find(text)
	return ok
}

// Shows is a condition for [Terminal.Wait]: all of the texts are on the screen.
func Shows(texts ...string) func(Screen) bool {
	return func(s Screen) bool { return !slices.ContainsFunc(texts, func(t string) bool { return !s.Shows(t) }) }
}

// Leftovers describes what a program should have reset before it ended. Otherwise it would affect the
// shell.
func (s Screen) Leftovers() []string {
	var left []string
	add := func(on bool, what string) {
		if on {
			left = append(left, what)
		}
	}
	add(!s.Modes[ModeCursor], "the cursor is hidden")
	add(!s.Modes[ModeWrap], "lines do not wrap")
	for _, mode := range slices.Sorted(maps.Keys(s.Modes)) {
		add(mode != ModeCursor && mode != ModeWrap, fmt.Sprintf("mode %d is on", mode))
	}
	add(s.Keyboard != 0, "the extended keyboard is on")
	add(s.Keypad, "the keypad is in application mode")
	add(s.Pen != Plain, "text is "+s.Pen.String())
	add(s.Cursor.Shape != 0, fmt.Sprintf("the cursor has shape %d", s.Cursor.Shape))
	return left
}

// Color is a text or background colour: the terminal's own, one of its palette of 256, or one of 2^24.
type Color int32

// Default is the terminal's own colour.
const Default Color = -1

const rgbFlag = 1 << 24

// RGB is a true colour.
func RGB(r, g, b uint8) Color { return rgbFlag | Color(r)<<16 | Color(g)<<8 | Color(b) }

// Values returns the red, green and blue of a true colour, or of one of the palette. ok is false for the
// terminal's own.
func (c Color) Values() (r, g, b uint8, ok bool) {
	switch {
	case c < 0:
		return 0, 0, 0, false
	case c&rgbFlag != 0:
		return uint8(c >> 16), uint8(c >> 8), uint8(c), true
	}
	red, green, blue, _ := ansi.IndexedColor(c).RGBA()
	return uint8(red >> 8), uint8(green >> 8), uint8(blue >> 8), true
}

// String is "default", a number of the palette, or "#rrggbb".
func (c Color) String() string {
	switch {
	case c < 0:
		return "default"
	case c&rgbFlag != 0:
		return fmt.Sprintf("#%06x", int32(c&^rgbFlag))
	}
	return fmt.Sprint(int32(c))
}

// Style is how a cell is drawn. The zero value is not the default style: that is [Plain].
type Style struct {
	Fg, Bg                             Color
	Bold, Faint, Italic, Underline     bool
	Blink, Reverse, Conceal, Strikeout bool
}

// Plain is the style of a terminal that received no style.
var Plain = Style{Fg: Default, Bg: Default}

// String lists what differs from [Plain]: "fg=2 bg=#102030 bold".
func (s Style) String() string {
	var words []string
	if s.Fg != Default {
		words = append(words, "fg="+s.Fg.String())
	}
	if s.Bg != Default {
		words = append(words, "bg="+s.Bg.String())
	}
	for _, a := range []struct {
		on   bool
		name string
	}{
		{s.Bold, "bold"}, {s.Faint, "faint"}, {s.Italic, "italic"}, {s.Underline, "underline"},
		{s.Blink, "blink"}, {s.Reverse, "reverse"}, {s.Conceal, "conceal"}, {s.Strikeout, "strikeout"},
	} {
		if a.on {
			words = append(words, a.name)
		}
	}
	if words == nil {
		return "plain"
	}
	return strings.Join(words, " ")
}
