package tuitest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write golden files instead of comparing them")

// Golden compares the screen, text and styles, with testdata/screen/NAME.golden.
func (s *Stage) Golden(name string) {
	s.T.Helper()
	if !File(s.T, filepath.Join("screen", name), s.Dump()) {
		s.T.Logf("the screen is\n%s", framed(s.Screen.grid()))
	}
}

// File compares a text with testdata/NAME.golden, or writes it, and reports whether they are equal.
func File(t testing.TB, name, got string) bool {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644))
		return true
	}
	want, err := os.ReadFile(path)
	testkit.Need(t, err == nil, "%v (go test -update writes it)\n%s", err, got)
	diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n"))
	if diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
	return diff == ""
}

// Dump returns the screen as text: its size, cursor and title, the rows that are not blank, the rows again with a
// letter for each cell's style, and the meaning of the letters.
func (s *Stage) Dump() string {
	grid := s.Screen.grid()
	width := 0
	if len(grid) > 0 {
		width = len(grid[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%dx%d", width, len(grid))
	if x, y, visible := s.Screen.GetCursor(); visible {
		fmt.Fprintf(&b, ", cursor at %d,%d", x, y)
	}
	if title := s.Screen.GetTitle(); title != "" {
		fmt.Fprintf(&b, ", title %q", title)
	}
	b.WriteString("\n\n")
	letters := styleLetters(grid)
	for y, row := range grid {
		if text := rowText(row); text != "" {
			fmt.Fprintf(&b, "%3d %s\n", y, text)
		}
	}
	b.WriteString("\nstyles\n")
	for y, row := range grid {
		var line strings.Builder
		for _, p := range row {
			line.WriteByte(letters[describe(p.style)])
		}
		if marks := strings.TrimRight(line.String(), " "); marks != "" {
			fmt.Fprintf(&b, "%3d %s\n", y, marks)
		}
	}
	b.WriteByte('\n')
	for _, d := range slices.SortedFunc(maps.Keys(letters),
		func(a, b string) int { return int(letters[a]) - int(letters[b]) }) {
		if letters[d] != ' ' {
			fmt.Fprintf(&b, "%c = %s\n", letters[d], d)
		}
	}
	return b.String()
}

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// styleLetters gives each style a letter: if possible, the same on every screen, so that a new style does
// not rename the others. The terminal's own style is a blank.
func styleLetters(grid [][]place) map[string]byte {
	letters := map[string]byte{}
	for _, row := range grid {
		for _, p := range row {
			letters[describe(p.style)] = 0
		}
	}
	taken := map[byte]bool{}
	for _, d := range slices.Sorted(maps.Keys(letters)) {
		if d == plain {
			letters[d] = ' '
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(d))
		letters[d] = '?' // for more styles than a reader could distinguish
		for i := range uint32(len(alphabet)) {
			if c := alphabet[(h.Sum32()%uint32(len(alphabet))+i)%uint32(len(alphabet))]; !taken[c] {
				letters[d], taken[c] = c, true
				break
			}
		}
	}
	return letters
}

const plain = "plain"

// describe returns a style in words: "fg=#c8b273 bg=#101014 bold".
func describe(style tcell.Style) string {
	var words []string
	fg, bg, attrs := style.Decompose()
	if fg != tcell.ColorDefault {
		words = append(words, "fg="+colorName(fg))
	}
	if bg != tcell.ColorDefault {
		words = append(words, "bg="+colorName(bg))
	}
	for _, a := range []struct {
		mask tcell.AttrMask
		name string
	}{
		{tcell.AttrBold, "bold"}, {tcell.AttrDim, "dim"}, {tcell.AttrItalic, "italic"}, {tcell.AttrBlink, "blink"},
		{tcell.AttrReverse, "reverse"}, {tcell.AttrStrikeThrough, "strike"},
	} {
		if attrs&a.mask != 0 {
			words = append(words, a.name)
		}
	}
	if style.GetUnderlineStyle() != tcell.UnderlineStyleNone {
		words = append(words, "underline")
	}
	if words == nil {
		return plain
	}
	return strings.Join(words, " ")
}

// colorName returns a palette's number or #rrggbb: names are ambiguous, and differ between versions.
func colorName(c tcell.Color) string {
	if c.IsRGB() || c&tcell.ColorSpecial != 0 {
		return fmt.Sprintf("#%06x", c.Hex())
	}
	return fmt.Sprint(uint64(c &^ tcell.ColorValid))
}
