package terminal

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
		if !d.shape(0, 0, text, 1, `fill="#fff" fill-opacity="0.6"`) || d.Len() == 0 {
			t.Errorf("%s is not drawn", text)
		}
		wellFormed(t, "<svg>"+d.String()+"</svg>")
	}
	var d drawing
	if d.shape(0, 0, "a", 1, "") || d.shape(0, 0, "──", 1, "") {
		t.Error("a text is taken for a shape")
	}
}
