package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Size of a terminal.
type Size struct{ Columns, Rows int }

// Cursor is the position of the next text.
type Cursor struct {
	X, Y    int
	Visible bool
	Shape   int // as set by the program (DECSCUSR); 0: the terminal's default
}

// Screen is what a user sees at one moment. It is a copy that is never changed.
type Screen struct {
	Size   Size
	Cells  [][]uv.Cell // rows of columns; without content and width where the one before covers it
	Cursor Cursor
	Title  string
	// Modes are the DEC private modes that are on.
	Modes map[ansi.DECMode]bool
	// Keyboard counts the requests for the extended keyboard protocol that are still active.
	Keyboard  int
	Keypad    bool   // application mode
	Clipboard string // the last content
	// Pen is the style that further text would have.
	Pen uv.Style
}

// Alt reports whether this is the alternate screen, which leaves no trace.
func (s Screen) Alt() bool { return s.Modes[1049] || s.Modes[1047] || s.Modes[47] }

// Mouse reports whether the program receives clicks.
func (s Screen) Mouse() bool { return s.Modes[1000] || s.Modes[1002] || s.Modes[1003] }

// Row returns the text of a row without trailing blanks; a negative number counts from the bottom.
func (s Screen) Row(y int) string {
	if y < 0 {
		y += len(s.Cells)
	}
	if y < 0 || y >= len(s.Cells) {
		return ""
	}
	return strings.TrimRight(text(s.Cells[y]), " ")
}

func text(row []uv.Cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString(c.Content)
	}
	return b.String()
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

// Find returns the cell in which a text begins, in one row.
func (s Screen) Find(words string) (x, y int, ok bool) {
	for y, row := range s.Cells {
		if at := strings.Index(text(row), words); at >= 0 {
			for x := range row {
				if at -= len(row[x].Content); at < 0 {
					return x, y, true
				}
			}
		}
	}
	return 0, 0, false
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
	add(!s.Modes[ansi.ModeTextCursorEnable], "the cursor is hidden")
	add(!s.Modes[ansi.ModeAutoWrap], "lines do not wrap")
	for _, mode := range slices.Sorted(maps.Keys(s.Modes)) {
		add(mode != ansi.ModeTextCursorEnable && mode != ansi.ModeAutoWrap, fmt.Sprintf("mode %d is on", mode))
	}
	add(s.Keyboard != 0, "the extended keyboard is on")
	add(s.Keypad, "the keypad is in application mode")
	add(!s.Pen.IsZero(), fmt.Sprintf("text is styled by %q", s.Pen.String()))
	add(s.Cursor.Shape != 0, fmt.Sprintf("the cursor has shape %d", s.Cursor.Shape))
	return left
}
