package terminal

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// seen returns the screen that an emulator shows for an output.
func seen(size Size, output string) Screen {
	e := newEmulator(size)
	go drain(e)
	defer e.close()
	if err := e.write([]byte(output)); err != nil {
		panic(err)
	}
	return e.screen()
}

func drain(e *emulator) {
	buf := make([]byte, 100)
	for {
		if _, err := e.vt.Read(buf); err != nil {
			return
		}
	}
}

func TestStyles(t *testing.T) {
	s := seen(small, "a\x1b[1;31mb\x1b[0;48;5;200;3;4mc\x1b[0;38;2;1;2;3;7;9md\x1b[0;2;5;97me\x1b[m世f")
	var got []string
	for _, c := range s.Cells[0][:8] {
		got = append(got, c.Content+" "+strings.Trim(c.Style.String(), "\x1b[m"))
	}
	want := []string{"a ", "b 1;31", "c 3;4;48;5;200", "d 7;9;38;2;1;2;3", "e 2;5;97", "世 ", " ", "f "}
	testkit.Same(t, "got", want, got)
	x, y, ok := s.Find("世f")
	testkit.Check(t, ok && x == 5 && y == 0, "found at %d,%d %v", x, y, ok)
	testkit.Check(t, !s.Shows("af") && s.Shows("abcde"), "a text is found where it is not, or not where it is")
}

func TestSequencesAreReported(t *testing.T) {
	clip := base64.StdEncoding.EncodeToString([]byte("copied"))
	s := seen(small, "\x1b[?1049h\x1b[?1002;1006;2004h\x1b]0;one; two\a\a\x1b]52;c;"+clip+
		"\a\x1b]777;notify;a;b\x1b\\\x1b]99;i=1;x\a\x1b[3;4H\x1b[?25l\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\")
	switch {
	case !s.Alt() || !s.Mouse() || !s.Modes[ansi.ModeMouseExtSgr] || !s.Modes[ansi.ModeBracketedPaste] ||
		s.Modes[ansi.ModeTextCursorEnable]:
		t.Errorf("modes %v", s.Modes)
	case s.Title != "one; two" || s.Clipboard != "copied":
		t.Errorf("title %q, clipboard %q", s.Title, s.Clipboard)
	case s.Cursor.X != 7 || s.Cursor.Y != 2 || s.Cursor.Visible:
		t.Errorf("cursor %+v", s.Cursor)
	case s.Cells[2][3].Link.URL != "https://example.org" || s.Cells[2][7].Link.URL != "":
		t.Errorf("links %+v", s.Cells[2][3:8])
	}
}

func TestLeftovers(t *testing.T) {
	for output, want := range map[string]string{
		"": "",
		"\x1b[?1049h\x1b[?25l\x1b[>1u\x1b=\x1b[?25h\x1b[<u\x1b>\x1b[?1049l\x1b[31m\x1b[m": "",
		"\x1b[?25l":                       "the cursor is hidden",
		"\x1b[?1049h\x1b[?25l\x1b[?1049l": "the cursor is hidden", // also when it was hidden on the other screen
		"\x1b[?7l":                        "lines do not wrap",
		"\x1b[?1049h":                     "mode 1049 is on",
		"\x1b[?1002;2004h":                "mode 1002 is on, mode 2004 is on",
		"\x1b[>1u\x1b[>1u\x1b[<u":         "the extended keyboard is on",
		"\x1b=":                           "the keypad is in application mode",
		"\x1b[1m":                         `text is styled by "\x1b[1m"`,
		"\x1b[5 q":                        "the cursor has shape 5",
	} {
		testkit.Same(t, fmt.Sprintf("%q leaves", output), want, strings.Join(seen(small, output).Leftovers(), ", "))
	}
}

// FuzzEmulator: for any input there is a screen of the right size, and its picture is valid.
func FuzzEmulator(f *testing.F) {
	f.Add([]byte("\x1b[31mtext\x1b[5;5H世\x1b[2J\x1b[?1049h"), uint8(10), uint8(3))
	f.Add([]byte("\x1b[10@\x1b[3P\x1b[2;3r\x1bM\x1b[5L\x1b[5M\x1b[4X\x1b[99999C"), uint8(1), uint8(1))
	f.Add([]byte("\x1b]0;t\x07\x1bP1$r\x1b\\\x1b[c\x1b[>c\x1b[5n\x1b[?6n\x1b(0qqq\x0e"), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, output []byte, columns, rows uint8) {
		size := Size{int(columns % 50), int(rows % 20)}
		e := newEmulator(size)
		go drain(e)
		defer e.close()
		_ = e.write(output) // an error is reported, and the screen still exists
		e.resize(Size{int(rows % 30), int(columns % 10)})
		_ = e.write(output)
		s := e.screen()
		testkit.Need(t, len(s.Cells) == max(int(columns%10), 1), "%d rows", len(s.Cells))
		for _, row := range s.Cells {
			testkit.Need(t, len(row) == max(int(rows%30), 1), "a row of %d", len(row))
			for x, c := range row {
				testkit.Need(t, (c.Width != 0 || x != 0 && c.Content == "") && (c.Width <= 0 || c.Content != ""),
					"cell %d is %+v", x, c)
			}
		}
		wellFormed(t, s.SVG(Picture{Window: true}))
	})
}

func FuzzSequences(f *testing.F) {
	f.Add([]byte("a\x1b[?25l\x1b]0;t\x07\x1b]8;;u\x1b\\\x1bPx\x1b\\\x1b(B\x1b7\xff\xc2\x9b\x1b["))
	f.Fuzz(func(t *testing.T, output []byte) {
		var again []byte
		for _, s := range Sequences(output) {
			testkit.Need(t, s.Bytes != "", "a sequence of nothing")
			again = append(again, s.Bytes...)
		}
		testkit.Check(t, bytes.Equal(again, output), "%q became %q", output, again)
		FullScreen.Check(output)
	})
}

func TestOutputRules(t *testing.T) {
	const well = "\x1b[?1049h\x1b[22;2t\x1b]2;title\x1b\\\x1b[1;38;2;1;2;3mtext " +
		"世\x1b[m\x1b[3;4H\r\n\x1b[?25l\x1b]52;c;YQ==\a\x1b]777;notify;a;b\a\x1b(B\x1b[2 q\x1b[?1049l"
	faults := FullScreen.Check([]byte(well))
	testkit.Check(t, faults == nil, "faults of the good: %q", faults)
	faults = Lines.Check([]byte("one\r\ntwo – three\r\n"))
	testkit.Check(t, faults == nil, "faults of lines: %q", faults)
	for bad, want := range map[string]string{
		"\x1b[?47h":           "mode 47",
		"\x1b[4h":             "not allowed",
		"\x1b[6n":             "not allowed",
		"\x1b[21t\x05":        "not allowed",
		"\x1b]4;1;?\a":        "not allowed",
		"\x1b]50;font\a":      "not allowed",
		"\x1b]2;a\xc2\x9bb\a": "a control character",
		"\x1b]2;a\xffb\a":     "bad UTF-8",
		"\x1b]2;a\x1b[2Jb\a":  "broken",
		"\x1bP+q544e\x1b\\":   "not allowed",
		"\x1b_G\x1b\\":        "not allowed",
		"\x1b#8":              "not allowed",
		"\x1bc":               "not allowed",
		"a\xc2\x9b31mb":       "broken",
		"a\xffb":              "broken",
		"\x0e":                "not allowed",
		"\x1b[12":             "broken",
		"\x1b":                "broken",
		"\x7f":                "not allowed",
	} {
		faults := FullScreen.Check([]byte("text" + bad))
		testkit.Check(t, len(faults) != 0 && strings.HasPrefix(faults[0], want),
			"%q passes with %q, want %q", bad, faults, want)
	}
	testkit.Check(t, Lines.Check([]byte("\x1b[31mred")) != nil, "colour passes for lines")
}

// TestTitlesBeyondASCII: a byte inside of a character does not end a string.
func TestTitlesBeyondASCII(t *testing.T) {
	s := seen(small,
		"\x1b]2;✓ 100% 日本 %41\x1b\\ok✓\x1b]8;;https://example.org/✓%20\x1b\\link\x1b]8;;\x1b\\\x1b]777;notify;✗;b\a")
	if s.Title != "✓ 100% 日本 %41" || s.Row(0) != "ok✓link" || s.Cells[0][3].Link.URL != "https://example.org/✓%20" {
		t.Errorf("title %q, row %q, link %q", s.Title, s.Row(0), s.Cells[0][3].Link.URL)
	}
}

var update = flag.Bool("update", false, "write golden files instead of comparing them")

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
}

func TestPicture(t *testing.T) {
	s := seen(Size{Columns: 24, Rows: 6}, "\x1b]2;a <title>\a╭─ \x1b[1;33mTitle\x1b[m ─╮\r\n│ \x1b[7m世界\x1b[m & <b>  "+
		"\x1b[2mdim\x1b[m\r\n╰──┼═\x1b[38;2;10;200;30m█▌░▄\x1b[m⠿\r\n\x1b[4;9munder\x1b[m \x1b[3;44mit al\x1b[m  "+
		"\x1b[8msecret\x1b[m\x1b[6;3H")
	got := s.SVG(Picture{Window: true, Label: "a test"})
	wellFormed(t, got)
	const file = "testdata/picture.svg"
	if *update {
		testkit.OK(t, os.MkdirAll("testdata", 0o755))
		testkit.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := testkit.Must(os.ReadFile(file))(t)
	testkit.Same(t, "the picture differs", strings.Split(string(want), "\n"), strings.Split(got, "\n"))
	testkit.Excludes(t, "concealed text is drawn", got, "secret")
}

// TestPlaces: a text is drawn where its cells are, whatever precedes it.
func TestPlaces(t *testing.T) {
	s := seen(Size{Columns: 40, Rows: 3}, "─────\r\n世e 👩\u200d👧 x  y\r\n⠁⠀⣀")
	got := s.SVG(Picture{})
	testkit.Includes(t, "the picture", got,
		`<rect x="0" y="9.3" width="45" height="1.4"`, // ─────
		`<text x="0" y="35" textLength="18"`,          // 世, two cells
		`<text x="18" y="35" textLength="9"`,          // e, without the blank after it
		`<text x="36" y="35" textLength="18"`,
		`<text x="63" y="35" textLength="36"`, // "x  y"
		`>x  y</text>`,
		`<path d="M2.25 42.5h0M20.25 57.5h0M24.75 57.5h0"`, // dots, and a cell without dots between them
	)
}

// TestShapesAreComplete: every character of the tables is drawn as a shape.
func TestShapesAreComplete(t *testing.T) {
	all := slices.Concat(slices.Collect(maps.Keys(arms)), slices.Collect(maps.Keys(round)),
		slices.Collect(maps.Keys(bars)))
	for _, text := range all {
		var d drawing
		testkit.Check(t, d.shape(0, 0, text, 1, `fill="#fff" fill-opacity="0.6"`) && d.Len() != 0,
			"%s is not drawn", text)
		wellFormed(t, "<svg>"+d.String()+"</svg>")
	}
	var d drawing
	testkit.Check(t, !d.shape(0, 0, "a", 1, "") && !d.shape(0, 0, "──", 1, ""), "a text is taken for a shape")
}
