package tuitest

import (
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
)

// Rows returns the texts of the screen's rows, without trailing blanks.
func (s *Stage) Rows() []string {
	grid := s.grid()
	rows := make([]string, len(grid))
	for y := range grid {
		rows[y] = rowText(grid[y])
	}
	return rows
}

// Text returns the screen's text without trailing empty rows.
func (s *Stage) Text() string { return strings.TrimRight(strings.Join(s.Rows(), "\n"), "\n") }

// Shows reports whether one of the rows contains a text.
func (s *Stage) Shows(text string) bool {
	return slices.ContainsFunc(s.Rows(), func(row string) bool { return strings.Contains(row, text) })
}

// Expect fails unless each of the texts is in one of the rows.
func (s *Stage) Expect(texts ...string) {
	s.T.Helper()
	for _, text := range texts {
		if !s.Shows(text) {
			s.fatalf("there is no %q", text)
		}
	}
}

// ExpectNot fails if one of the texts is in one of the rows.
func (s *Stage) ExpectNot(texts ...string) {
	s.T.Helper()
	for _, text := range texts {
		if s.Shows(text) {
			s.fatalf("there is %q", text)
		}
	}
}

// ExpectOrder fails unless the texts are in rows from the top down.
func (s *Stage) ExpectOrder(texts ...string) {
	s.T.Helper()
	rest := s.Rows()
	for i, text := range texts {
		y := slices.IndexFunc(rest, func(row string) bool { return strings.Contains(row, text) })
		if y < 0 {
			s.fatalf("there is no %q below %q", text, texts[:i])
		}
		rest = rest[y+1:]
	}
}

// ExpectTitle fails unless the window has that title.
func (s *Stage) ExpectTitle(want string) {
	s.T.Helper()
	if got := s.Screen.GetTitle(); got != want {
		s.fatalf("the title is %q, want %q", got, want)
	}
}

// ExpectClipboard fails unless that text was the last one put into the clipboard.
func (s *Stage) ExpectClipboard(want string) {
	s.T.Helper()
	if got := string(s.Screen.GetClipboardData()); got != want {
		s.fatalf("the clipboard has %q, want %q", got, want)
	}
}

// ExpectSound fails if the screen contains something that no terminal could show, or that it would
// interpret: a control character, half a wide one. It is the invariant of tests with random input.
func (s *Stage) ExpectSound() {
	s.T.Helper()
	if fault := unsound(s.grid()); fault != "" {
		s.fatalf("%s", fault)
	}
}

// ExpectFramed fails unless each frame is whole: a panel that is too wide, or that something else was drawn over,
// lacks a corner or a part of a side.
func (s *Stage) ExpectFramed() {
	s.T.Helper()
	if fault := unframed(s.grid()); fault != "" {
		s.fatalf("%s", fault)
	}
}

// ExpectPlain fails if a cell has a colour, or a character outside of ASCII that is not in allowed.
func (s *Stage) ExpectPlain(allowed string) {
	s.T.Helper()
	for y, row := range s.grid() {
		for x, p := range row {
			if fg, bg, _ := p.style.Decompose(); fg != tcell.ColorDefault || bg != tcell.ColorDefault {
				s.fatalf("%q at %d,%d is %s", p.text, x, y, describe(p.style))
			}
			if strings.ContainsFunc(p.text, func(r rune) bool { return r > '~' && !strings.ContainsRune(allowed, r) }) {
				s.fatalf("%q at %d,%d is not ASCII", p.text, x, y)
			}
		}
	}
}

func (s *Stage) find(text string) (x, y int, ok bool) {
	for y, row := range s.grid() {
		at := strings.Index(rowText(row), text)
		if at < 0 {
			continue
		}
		for x, n := 0, 0; x < len(row); x++ {
			if row[x].width > 0 && n >= at {
				return x, y, true
			}
			n += len(row[x].text)
		}
	}
	return 0, 0, false
}

// fatalf fails and shows the screen.
func (s *Stage) fatalf(format string, args ...any) {
	s.T.Helper()
	s.T.Fatalf(format+"\n%s", append(args, framed(s.grid()))...)
}
