package tui

// This part of the tests tests screens in terms of a user's actions: press, type, await, expect. It draws on a
// simulated screen inside a synctest bubble, so that time advances only when all goroutines wait, and
// "idle" is exact.
//
//	Play(t, 80, 24, func(s *Stage) {
//		s.Start(run, stop)
//		s.Press("Ctrl+G", "Down")
//		s.Type("weave")
//		s.Expect("It is done.")
//		s.Golden("oracle-80x24")      // testdata/screen/oracle-80x24.golden
//	})
//
// Every action waits until all goroutines of the bubble do, so that an expectation needs no wait of its
// own; [Stage.Advance] lets time pass. `go test -update` writes golden files instead of comparing them.
//
// A key has the name that the table of keys gives it. What a terminal sends for it may differ: without the
// extended keyboard protocol, Alt+Enter reaches programs as Ctrl+Alt+M, and Shift+Enter as Enter; a test of
// package tuitest checks both.
//
// The bubble's first goroutine plays the scenario; the program runs on one of its own, which [Play] stops
// and waits for, even if the scenario failed.

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// Stage holds the program, the screen and the user of one scenario.
type Stage struct {
	T      *testing.T
	Screen *Screen

	stop    func()
	ended   chan struct{}
	err     error
	buttons tcell.ButtonMask
}

// Play plays a scenario in a bubble, on a screen of that size.
func Play(t *testing.T, w, h int, scene func(s *Stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		screen := tcell.NewSimulationScreen("UTF-8")
		s := &Stage{T: t, Screen: &Screen{SimulationScreen: screen, canvas: screen.(canvas), w: w, h: h}}
		defer s.end()
		scene(s)
	})
}

// Start runs a program that draws on s.Screen, until stop is called: at the end of the scenario, unless it
// has ended before.
func (s *Stage) Start(run func() error, stop func()) {
	s.T.Helper()
	testkit.Need(s.T, s.ended == nil || s.Ended(), "the stage is taken: one program at a time")
	s.stop, s.ended = stop, make(chan struct{})
	go func() {
		defer close(s.ended)
		s.err = run()
	}()
	s.AwaitIdle()
}

// end waits for the program. It runs after a failure, too: otherwise the message would be that of a bubble
// that cannot end.
func (s *Stage) end() {
	if s.ended == nil {
		return
	}
	if !s.Ended() {
		s.stop()
	}
	<-s.ended
}

// Ended reports whether the program has ended.
func (s *Stage) Ended() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// ExpectEnd fails unless the program has ended, and returns its error.
func (s *Stage) ExpectEnd() error {
	s.T.Helper()
	if !s.Ended() {
		s.fatalf("the program goes on")
	}
	return s.err
}

// AwaitIdle returns when all goroutines of the bubble wait: everything is drawn then. Time does not pass.
func (s *Stage) AwaitIdle() { synctest.Wait() }

// Advance lets time pass.
func (s *Stage) Advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// Press presses keys, one after the other.
func (s *Stage) Press(names ...string) {
	s.T.Helper()
	for _, name := range names {
		e, err := tuitest.Key(name)
		if err != nil {
			s.T.Fatal(err)
		}
		s.deliver(e)
	}
}

// Type types a text, key by key. A newline is Enter, a tab Tab.
func (s *Stage) Type(text string) {
	s.T.Helper()
	for _, r := range text {
		s.deliver(keyEvent(r))
	}
}

func keyEvent(r rune) tcell.Event {
	switch r {
	case '\n', '\r':
		return tcell.NewEventKey(tcell.KeyEnter, 0, tcell.ModNone)
	case '\t':
		return tcell.NewEventKey(tcell.KeyTab, 0, tcell.ModNone)
	}
	return tcell.NewEventKey(tcell.KeyRune, r, tcell.ModNone)
}

// Paste pastes a text in brackets, as the terminal sends it: all its keys are in the program's queue at
// once.
func (s *Stage) Paste(text string) {
	s.T.Helper()
	events := []tcell.Event{tcell.NewEventPaste(true)}
	for _, r := range strings.ReplaceAll(text, "\r\n", "\r") {
		events = append(events, keyEvent(r))
	}
	s.deliver(append(events, tcell.NewEventPaste(false))...)
}

// Resize changes the screen's size.
func (s *Stage) Resize(w, h int) {
	s.T.Helper()
	s.begin()
	s.Screen.resize(w, h)
	s.AwaitIdle()
}

func (s *Stage) deliver(events ...tcell.Event) {
	s.T.Helper()
	s.begin()
	for _, e := range events {
		s.Screen.post(e)
	}
	s.AwaitIdle()
}

// begin fails if no program is running that could handle the user's action.
func (s *Stage) begin() {
	s.T.Helper()
	switch {
	case s.ended == nil:
		s.T.Fatal("nothing is on the stage: Show or Start comes first")
	case s.Ended():
		s.fatalf("the program is over: %v", errors.Join(s.err))
	}
}

// Screen is a simulated screen that keeps its size: tview initialises the screen that it gets, which resets
// a plain one to 80×25. It has no lock: the test reads it when all goroutines of the program wait.
type Screen struct {
	tcell.SimulationScreen
	canvas

	given bool // up, by Fini: events are no longer handled
	w, h  int
	width int      // of what was last painted
	cells []cell   // of that, row by row
	seen  [][]cell // the same as a grid, once it was read
}

// canvas is the buffer that a simulation draws into. On Show the simulation would make a copy of it, in
// several encodings, which takes longer than all drawing.
type canvas interface {
	sync.Locker
	GetCells() *tcell.CellBuffer
}

// Init initialises the screen, also again after Fini.
func (s *Screen) Init() error {
	if err := s.SimulationScreen.Init(); err != nil {
		return err
	}
	s.given = false
	s.seen, s.cells = nil, nil
	s.SimulationScreen.SetSize(s.w, s.h)
	return nil
}

// Show paints what was drawn: it copies it.
func (s *Screen) Show() {
	s.Lock()
	defer s.Unlock()
	buffer := s.GetCells()
	w, h := buffer.Size()
	s.seen, s.width, s.cells = nil, w, slices.Grow(s.cells[:0], w*h)
	for y := range h {
		for x := range w {
			text, style, width := buffer.Get(x, y)
			if x+width > w {
				text, width = " ", 1 // a terminal also shows a blank instead of half a character
			}
			s.cells = append(s.cells, cell{text, width, style})
		}
	}
}

// Sync paints everything again.
func (s *Screen) Sync() { s.Show() }

// Fini closes the screen.
func (s *Screen) Fini() {
	s.given = true
	s.seen, s.cells = nil, nil
	s.SimulationScreen.Fini()
}

// grid returns what was last painted. It is shared, and must not be changed.
func (s *Screen) grid() [][]cell {
	s.Lock() // no frame is painted meanwhile, nor does the race detector suspect it
	defer s.Unlock()
	if s.seen == nil {
		for row := range slices.Chunk(slices.Clone(s.cells), max(s.width, 1)) {
			for x := 0; x < len(row); x++ {
				for style, covered := row[x].style, row[x].width-1; covered > 0 && x+1 < len(row); covered-- {
					x++
					row[x] = cell{style: style}
				}
			}
			s.seen = append(s.seen, row)
		}
	}
	return s.seen
}

// resize changes the size and notifies the program.
func (s *Screen) resize(w, h int) {
	s.w, s.h, s.seen = w, h, nil
	s.SimulationScreen.SetSize(w, h)
	s.SimulationScreen.HideCursor()
	s.post(tcell.NewEventResize(w, h))
}

// post passes an event to the program, like a terminal. While the queue is full, it waits for the program.
func (s *Screen) post(e tcell.Event) {
	for s.PostEvent(e) != nil {
		if synctest.Wait(); s.given {
			return
		}
	}
}

// cell is what one place of the screen shows. A covered cell, the second half of a wide one, has no text and the
// style of the first.
type cell struct {
	text  string
	width int
	style tcell.Style
}

func rowText(row []cell) string {
	var b strings.Builder
	for _, p := range row {
		b.WriteString(p.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// framed returns the grid's text between lines, so that blanks are visible.
func framed(grid [][]cell) string {
	var b strings.Builder
	for _, row := range grid {
		b.WriteByte('|')
		for _, p := range row {
			b.WriteString(p.text)
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// unsound finds a cell that no terminal could show unchanged.
func unsound(grid [][]cell) string {
	for y, row := range grid {
		for x, p := range row {
			if p.width == 1 && len(p.text) == 1 && ' ' <= p.text[0] && p.text[0] <= '~' {
				continue
			}
			switch {
			case strings.ContainsFunc(p.text, unicode.IsControl):
				return fmt.Sprintf("a control character at %d,%d: %q", x, y, p.text)
			case x+p.width > len(row):
				return fmt.Sprintf("%q is cut in two at %d,%d", p.text, x, y)
			case p.text != "" && uniseg.GraphemeClusterCount(p.text) != 1:
				return fmt.Sprintf("%q in one cell at %d,%d", p.text, x, y)
			}
		}
	}
	return ""
}

// unframed finds a frame that is not closed. A frame begins with its upper left corner.
func unframed(grid [][]cell) string {
	for y, row := range grid {
		for x, p := range row {
			if p.text != "╭" {
				continue
			}
			right := slices.IndexFunc(row[x:], func(p cell) bool { return p.text == "╮" })
			if right < 0 {
				return fmt.Sprintf("the frame at %d,%d has no right corner", x, y)
			}
			below := y + 1
			for below < len(grid) && strings.Contains("│├", grid[below][x].text) &&
				strings.Contains("│┤", grid[below][x+right].text) {
				below++
			}
			if below == len(grid) || grid[below][x].text != "╰" || grid[below][x+right].text != "╯" {
				return fmt.Sprintf("the frame at %d,%d is interrupted in row %d", x, y, below)
			}
		}
	}
	return ""
}

// Rows returns the texts of the screen's rows, without trailing blanks.
func (s *Stage) Rows() []string {
	grid := s.Screen.grid()
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

// ExpectSound fails if the screen contains something that no terminal could show, or that it would
// interpret: a control character, half a wide one. It is the invariant of tests with random input.
func (s *Stage) ExpectSound() {
	s.T.Helper()
	if fault := unsound(s.Screen.grid()); fault != "" {
		s.fatalf("%s", fault)
	}
}

// ExpectFramed fails unless each frame is whole: a panel that is too wide, or that something else was drawn over,
// lacks a corner or a part of a side.
func (s *Stage) ExpectFramed() {
	s.T.Helper()
	if fault := unframed(s.Screen.grid()); fault != "" {
		s.fatalf("%s", fault)
	}
}

// ExpectPlain fails if a cell has a colour, or a character outside of ASCII that is not in allowed.
func (s *Stage) ExpectPlain(allowed string) {
	s.T.Helper()
	for y, row := range s.Screen.grid() {
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
	for y, row := range s.Screen.grid() {
		if at := strings.Index(rowText(row), text); at >= 0 {
			for x := range row {
				if at -= len(row[x].text); at < 0 {
					return x, y, true
				}
			}
		}
	}
	return 0, 0, false
}

// fatalf fails and shows the screen.
func (s *Stage) fatalf(format string, args ...any) {
	s.T.Helper()
	s.T.Fatalf(format+"\n%s", append(args, framed(s.Screen.grid()))...)
}

// Golden compares the screen, text and styles, with testdata/screen/NAME.golden.
func (s *Stage) Golden(name string) {
	s.T.Helper()
	if !tuitest.File(s.T, filepath.Join("screen", name), s.Dump()) {
		s.T.Logf("the screen is\n%s", framed(s.Screen.grid()))
	}
}

// Move moves the mouse, with the buttons that are pressed.
func (s *Stage) Move(x, y int) {
	s.T.Helper()
	s.deliver(tcell.NewEventMouse(x, y, s.buttons, tcell.ModNone))
}

// Button presses or releases the left button at a cell.
func (s *Stage) Button(x, y int, down bool) {
	s.T.Helper()
	s.buttons = tcell.ButtonNone
	if down {
		s.buttons = tcell.Button1
	}
	s.Move(x, y)
}

// Click clicks the left button at a cell.
func (s *Stage) Click(x, y int) {
	s.T.Helper()
	s.Button(x, y, true)
	s.Button(x, y, false)
}

// ClickOn clicks at the beginning of a text.
func (s *Stage) ClickOn(text string) {
	s.T.Helper()
	x, y, ok := s.find(text)
	if !ok {
		s.fatalf("there is no %q to click on", text)
	}
	s.Click(x, y)
}

// Wheel turns the wheel down by one step, at a cell.
func (s *Stage) Wheel(x, y int) {
	s.T.Helper()
	s.deliver(tcell.NewEventMouse(x, y, tcell.WheelDown, tcell.ModNone))
}

// Keys makes names of keys from random bytes, for fuzz targets: every byte stands for one, and all keys of
// a keyboard are among them.
func Keys(data []byte) []string {
	names := make([]string, len(data))
	for i, b := range data {
		names[i] = keyOf(b)
	}
	return names
}

var others = append([]string{"Shift+Tab", "Shift+Enter", "Ctrl+Alt+M", "Alt+b", "Alt+f", "Ctrl+_", "é", "世"},
	tuitest.Names...)

func keyOf(b byte) string {
	switch {
	case b > ' ' && b < 0x7f:
		return string(rune(b))
	case b > 0 && b <= 26:
		return "Ctrl+" + string(rune('A'+b-1))
	}
	return others[int(b)%len(others)]
}

// Encode returns the bytes that Keys reads as these keys. It panics for a name that no byte stands for.
func Encode(names ...string) []byte {
	bytes := map[string]byte{}
	for b := range 256 {
		bytes[keyOf(byte(b))] = byte(b)
	}
	data := make([]byte, len(names))
	for i, name := range names {
		if data[i] = bytes[name]; keyOf(data[i]) != name {
			panic("no byte stands for the key " + name)
		}
	}
	return data
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
func styleLetters(grid [][]cell) map[string]byte {
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

// TestInvalidCellsAreDetected: the invariant of random tests is able to fail.
func TestInvalidCellsAreDetected(t *testing.T) {
	sound := []cell{{text: "世", width: 2}, {}, {text: "é", width: 1}, {text: " ", width: 1}}
	if fault := unsound([][]cell{sound}); fault != "" {
		t.Error(fault)
	}
	for _, bad := range [][]cell{
		{{text: "\x1b", width: 1}},
		{{text: "\u009b", width: 1}},
		{{text: "世", width: 2}},
		{{text: "ab", width: 1}},
	} {
		testkit.Check(t, unsound([][]cell{bad}) != "", "%+v passes for sound", bad)
	}
}

// TestBrokenFramesAreDetected: a frame lacks a corner, or something was drawn over a side of it.
func TestBrokenFramesAreDetected(t *testing.T) {
	grid := func(rows ...string) (grid [][]cell) {
		for _, row := range rows {
			var places []cell
			for _, r := range row {
				places = append(places, cell{text: string(r), width: 1})
			}
			grid = append(grid, places)
		}
		return grid
	}
	if fault := unframed(grid(" ╭─ a ─╮", " │ b   │", " ╰─────╯")); fault != "" {
		t.Error(fault)
	}
	for _, bad := range [][][]cell{
		grid("╭────", "│ b  ", "╰────"), grid("╭─╮", "│ x", "╰─╯"), grid("╭─╮", "x │", "╰─╯"), grid("╭─╮", "│ │"),
		grid("╭─╮", "│ │", "╰──"),
	} {
		testkit.Check(t, unframed(bad) != "", "%+v passes for whole", bad)
	}
}
