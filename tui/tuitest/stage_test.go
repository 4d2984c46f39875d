package tuitest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/tui/keys"
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

// TestInvalidCellsAreDetected: the invariant of random tests is able to fail.
func TestInvalidCellsAreDetected(t *testing.T) {
	sound := []place{{text: "世", width: 2}, {}, {text: "é", width: 1}, {text: " ", width: 1}}
	fault := unsound([][]place{sound})
	testkit.Check(t, fault == "", "%v", fault)
	for _, bad := range [][]place{
		{{text: "\x1b", width: 1}},
		{{text: "\u009b", width: 1}},
		{{text: "世", width: 2}},
		{{text: "ab", width: 1}},
	} {
		testkit.Check(t, unsound([][]place{bad}) != "", "%+v passes for sound", bad)
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
	fault := unframed(grid(" ╭─ a ─╮", " │ b   │", " ╰─────╯"))
	testkit.Check(t, fault == "", "%v", fault)
	for _, bad := range [][][]place{
		grid("╭────", "│ b  ", "╰────"), grid("╭─╮", "│ x", "╰─╯"), grid("╭─╮", "x │", "╰─╯"), grid("╭─╮", "│ │"),
		grid("╭─╮", "│ │", "╰──"),
	} {
		testkit.Check(t, unframed(bad) != "", "%+v passes for whole", bad)
	}
}

func allKeys() []string {
	var names []string
	for r := '!'; r <= '~'; r++ {
		names = append(names, string(r))
	}
	for r := 'A'; r <= 'Z'; r++ {
		names = append(names, "Ctrl+"+string(r))
	}
	names = append(names, "Ctrl+_", "Ctrl+]", `Ctrl+\`, "Ctrl+^", "Ctrl+Space", "é", "世", "Shift+Tab")
	for _, n := range Names {
		names = append(names, n)
		if n != "Tab" && n != "Esc" && n != "Space" && n != "Backspace" && n != "Enter" {
			names = append(names, "Shift+"+n, "Ctrl+"+n, "Alt+"+n)
		}
	}
	return append(names, "Alt+b", "Alt+f", "Alt+.", "Alt+Backspace", "Alt+Enter")
}

// TestKeyNamesAreThoseOfTheTable: a scenario uses the table's names of keys.
func TestKeyNamesAreThoseOfTheTable(t *testing.T) {
	for _, name := range append(allKeys(), "Shift+Enter", "Ctrl+Alt+M") {
		e, err := Key(name)
		if err != nil {
			t.Error(err)
			continue
		}
		want := name
		if same := map[string]string{"Ctrl+I": "Tab", "Ctrl+M": "Enter", "Ctrl+H": "Backspace",
			"Ctrl+Alt+M": "Alt+Enter"}[name]; same != "" {
			want = same
		}
		testkit.Same(t, fmt.Sprintf("Key(%q) is called", name), want, keys.Name(e))
	}
	for _, name := range []string{"", "Ctrl", "Hyper+a", "F0", "F65", "F1x", "Entr", "Ctrl+Alt+Nothing"} {
		if e, err := Key(name); err == nil {
			t.Errorf("Key(%q) is %v, want an error", name, e.Name())
		}
	}
	for name, want := range map[string]tcell.Key{"+": tcell.KeyRune, "Alt++": tcell.KeyRune, "ctrl+a": tcell.KeyCtrlA,
		"escape": tcell.KeyEsc} {
		e, err := Key(name)
		testkit.Check(t, err == nil && e.Key() == want, "Key(%q) is %v, %v", name, e, err)
	}
}

// listen prints the events that a real terminal produces for keys, one per line.
func listen() error {
	screen, err := tcell.NewScreen()
	if err != nil {
		return err
	}
	if err := screen.Init(); err != nil {
		return err
	}
	file, err := os.OpenFile(os.Getenv(listenTo), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer screen.Fini()
	for {
		if e, ok := screen.PollEvent().(*tcell.EventKey); ok {
			fmt.Fprintln(file, eventText(e))
			screen.SetTitle(eventText(e))
			if e.Key() == tcell.KeyRune && e.Rune() == 'Ω' {
				return nil
			}
		} else {
			screen.SetTitle("ready")
		}
		screen.Show()
	}
}

func eventText(e *tcell.EventKey) string {
	text := fmt.Sprintf("%s key %d mod %d", e.Name(), e.Key(), e.Modifiers())
	if e.Key() == tcell.KeyRune {
		text += fmt.Sprintf(" rune %q", e.Rune())
	}
	return text
}

// TestKeysAreThoseOfATerminal presses every key in a real terminal and compares tcell's event with the one
// that a scenario delivers.
func TestKeysAreThoseOfATerminal(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	file := t.TempDir() + "/events"
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), listenTo+"="+file, "TERM=xterm-256color", "GORACE=atexit_sleep_ms=0")
	term := testkit.Must(terminal.Start(cmd, terminal.Size{Columns: 80, Rows: 24}))(t)
	defer term.Close()
	testkit.Must(term.Wait(ctx, func(s terminal.Screen) bool { return s.Title != "" }))(t)
	var want []string
	press := func(name string) {
		if name == "Esc" {
			return // tcell waits for more input; the following input is another key
		}
		testkit.OK(t, term.Press(name))
		e := testkit.Must(Key(name))(t)
		want = append(want, eventText(e))
	}
	for _, name := range allKeys() {
		press(name)
	}
	press("Shift+Enter") // the extended protocol, which tcell requests
	press("Ω")
	testkit.Must(term.Exit(ctx))(t)
	text := testkit.Must(os.Open(file))(t)
	defer text.Close()
	scan := bufio.NewScanner(text)
	for _, w := range want {
		testkit.Need(t, scan.Scan(), "the terminal's events end before %q", w)
		got := scan.Text()
		testkit.Check(t, got == w || legacy(got, w), "a terminal makes %s, a scenario %s", got, w)
	}
}

// legacy reports whether the two are Alt+Enter: without the extended protocol it is ESC CR, which tcell
// reports as Ctrl+Alt+M.
func legacy(got, want string) bool {
	return strings.HasPrefix(want, "Alt+Enter ") && strings.Contains(got, `rune 'm'`)
}
