package tuitest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
)

const listenTo = "ARBITER_TEST_LISTEN"

func TestMain(m *testing.M) {
	if os.Getenv(listenTo) != "" {
		if err := listen(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// log is a primitive that reports what is done to it.
type log struct {
	*tview.Box
	calls []string
	late  string
}

func newLog() *log { return &log{Box: tview.NewBox()} }

func (l *log) add(format string, args ...any) {
	l.calls = append(l.calls, fmt.Sprintf(format, args...))
}

func (l *log) Draw(screen tcell.Screen) {
	x, y, w, h := l.GetRect()
	put := func(row int, text string, style tcell.Style) {
		for i, r := range []rune(text) {
			screen.SetContent(x+i*1, y+row, r, nil, style)
		}
	}
	put(0, fmt.Sprintf("%dx%d", w, h), tcell.StyleDefault.Bold(true))
	for i, s := range l.calls {
		put(i+1, s, tcell.StyleDefault.Foreground(tcell.NewRGBColor(1, 2, 3)))
	}
	put(h-1, l.late, tcell.StyleDefault.Background(tcell.PaletteColor(4)))
	screen.ShowCursor(2, 1)
}

func (l *log) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return func(e *tcell.EventKey, _ func(tview.Primitive)) { l.add("key %s", e.Name()) }
}

func (l *log) PasteHandler() func(string, func(tview.Primitive)) {
	return func(text string, _ func(tview.Primitive)) { l.add("paste %q", text) }
}

func (l *log) MouseHandler() func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive) {
	return func(a tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		if a != tview.MouseMove {
			x, y := e.Position()
			l.add("mouse %d at %d,%d", a, x, y)
		}
		return true, nil
	}
}

// expectRow fails unless a row has exactly that text. A negative number counts from the bottom.
func expectRow(s *Stage, y int, want string) {
	s.T.Helper()
	rows := s.Rows()
	if y < 0 {
		y += len(rows)
	}
	if rows[y] != want {
		s.fatalf("row %d is %q, want %q", y, rows[y], want)
	}
}

func TestUserActions(t *testing.T) {
	Play(t, 44, 20, func(s *Stage) {
		l := newLog()
		s.Show(l)
		expectRow(s, 0, "44x20")
		if x, y, visible := s.Screen.GetCursor(); !visible || x != 2 || y != 1 {
			t.Errorf("the cursor is at %d,%d (visible: %v)", x, y, visible)
		}
		s.Press("Ctrl+G", "Alt+x")
		s.Type("é\n")
		s.Paste("two\nlines\tπ")
		s.Click(3, 2)
		s.ClickOn("key")
		s.Wheel(1, 1, -1)
		s.Expect("key Ctrl+G", "key Alt+Rune[x]", "key Rune[é]", "key Enter", `paste "two\nlines\tπ"`)
		s.ExpectOrder("mouse 1 at 3,2", "mouse 2 at 3,2", "mouse 3 at 3,2", "mouse 1 at 0,1", "mouse 13 at 1,1")
		s.ExpectNot("mouse 14", "key Esc")
		x, y, _ := s.find("paste")
		if fg, _, _ := s.grid()[y][x].style.Decompose(); fg != tcell.NewRGBColor(1, 2, 3) {
			t.Errorf("the style of a text is %v", fg)
		}
		s.ExpectSound()
	})
}

func TestResizeIsDrawnOnce(t *testing.T) {
	Play(t, 80, 24, func(s *Stage) {
		s.Show(newLog())
		for _, size := range [][2]int{{200, 50}, {40, 12}, {1, 1}, {400, 120}} {
			s.Resize(size[0], size[1])
			if len(s.Rows()) != size[1] {
				t.Fatalf("%d rows after a resize to %v", len(s.Rows()), size)
			}
			s.Advance(time.Second) // tview draws again after a storm
			if size[0] > 10 {
				expectRow(s, 0, fmt.Sprintf("%dx%d", size[0], size[1]))
			}
		}
	})
}

func TestTimePassesOnAdvance(t *testing.T) {
	Play(t, 30, 5, func(s *Stage) {
		l := newLog()
		s.Show(l)
		time.AfterFunc(time.Minute, func() { s.App.QueueUpdateDraw(func() { l.late = "the hour has come" }) })
		s.AwaitIdle()
		expectRow(s, -1, "")
		before := s.Screen.Paints()
		s.Advance(time.Minute)
		expectRow(s, -1, "the hour has come")
		if got := s.Screen.Paints() - before; got != 1 {
			t.Errorf("%d paints, want 1", got)
		}
	})
}

func TestGoldenShowsTextAndStyles(t *testing.T) {
	Play(t, 24, 6, func(s *Stage) {
		l := newLog()
		l.late = "late"
		s.Show(l)
		s.Press("Down")
		s.Golden("log")
		dump := s.Dump()
		for _, want := range []string{"24x6, cursor at 2,1\n", "  1 key Down\n", "bold\n", "fg=#010203\n", "bg=4\n"} {
			if !strings.Contains(dump, want) {
				t.Errorf("no %q in\n%s", want, dump)
			}
		}
		s.Press("Up")
		if strings.Contains(dump, "key Up") || s.Dump() == dump {
			t.Error("another screen has the same dump")
		}
	})
}

// TestLettersStay: an additional style does not change the letters of the others.
func TestLettersStay(t *testing.T) {
	row := []place{{text: "a", width: 1, style: tcell.StyleDefault.Bold(true)},
		{text: "b", width: 1, style: tcell.StyleDefault.Foreground(tcell.ColorRed)}}
	few := styleLetters([][]place{row})
	many := styleLetters([][]place{append(row, place{text: "c", width: 1, style: tcell.StyleDefault.Italic(true)})})
	if len(few) != 2 || len(many) != 3 {
		t.Fatalf("letters %v and %v", few, many)
	}
	for d, c := range few {
		if many[d] != c {
			t.Errorf("%s was %c and is %c", d, c, many[d])
		}
	}
}

// TestInvalidCellsAreDetected: the invariant of random tests is able to fail.
func TestInvalidCellsAreDetected(t *testing.T) {
	sound := []place{{text: "世", width: 2}, {}, {text: "é", width: 1}, {text: " ", width: 1}}
	if fault := unsound([][]place{sound}); fault != "" {
		t.Error(fault)
	}
	for _, bad := range [][]place{
		{{text: "\x1b", width: 1}},
		{{text: "\u009b", width: 1}},
		{{text: "世", width: 2}},
		{{text: "ab", width: 1}},
	} {
		if unsound([][]place{bad}) == "" {
			t.Errorf("%+v passes for sound", bad)
		}
	}
}

// TestBrokenFramesAreDetected: a frame lacks a corner, or something was drawn over a side of it.
func TestBrokenFramesAreDetected(t *testing.T) {
	grid := func(rows ...string) (grid [][]place) {
		for _, row := range rows {
			var places []place
			for _, r := range row {
				places = append(places, place{text: string(r), width: 1})
			}
			grid = append(grid, places)
		}
		return grid
	}
	if fault := unframed(grid(" ╭─ a ─╮", " │ b   │", " ╰─────╯")); fault != "" {
		t.Error(fault)
	}
	for _, bad := range [][][]place{
		grid("╭────", "│ b  ", "╰────"), grid("╭─╮", "│ x", "╰─╯"), grid("╭─╮", "x │", "╰─╯"), grid("╭─╮", "│ │"),
		grid("╭─╮", "│ │", "╰──"),
	} {
		if unframed(bad) == "" {
			t.Errorf("%+v passes for whole", bad)
		}
	}
}

func TestEndOfAProgram(t *testing.T) {
	Play(t, 10, 5, func(s *Stage) {
		app := tview.NewApplication().SetScreen(s.Screen).SetRoot(newLog(), true)
		gone := errors.New("gone")
		s.Start(func() error { return errors.Join(app.Run(), gone) }, app.Stop)
		if s.Ended() {
			t.Fatal("the program has ended at once")
		}
		s.Press("Ctrl+C")
		if err := s.ExpectEnd(); !errors.Is(err, gone) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestWideTextIsOneCell(t *testing.T) {
	Play(t, 12, 3, func(s *Stage) {
		b := tview.NewBox()
		b.SetDrawFunc(func(screen tcell.Screen, x, y, w, h int) (int, int, int, int) {
			screen.Put(0, 0, "世", tcell.StyleDefault.Bold(true))
			screen.Put(2, 0, "x", tcell.StyleDefault)
			screen.Put(0, 1, "e\u0301", tcell.StyleDefault)
			return x, y, w, h
		})
		s.Show(b)
		expectRow(s, 0, "世x")
		expectRow(s, 1, "e\u0301")
		s.ExpectSound()
		if x, _, ok := s.find("x"); !ok || x != 2 {
			t.Errorf("x is found at %d, want 2", x)
		}
	})
}

// TestLongPaste: a paste that is larger than the queues arrives complete.
func TestLongPaste(t *testing.T) {
	Play(t, 80, 5, func(s *Stage) {
		l := newLog()
		s.Show(l)
		text := strings.Repeat("0123456789", 2000)
		s.Paste(text)
		if len(l.calls) != 1 || l.calls[0] != fmt.Sprintf("paste %q", text) {
			t.Errorf("%d things were said", len(l.calls))
		}
	})
}
