package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// fakeBlock is a block of a list as a test describes it.
type fakeBlock struct {
	text   string // its lines, before they are wrapped; "" is none
	folded string // what is shown if it is folded; "" does not fold
	head   render.Line
	indent int
	gutter render.Role
	mark   string
	key    string
	stamp  uint64
}

// fakeSource is a source in memory that counts its calls.
type fakeSource struct {
	blocks []fakeBlock
	tail   []fakeBlock
	laid   int
}

func (l *fakeSource) Len() int           { return len(l.blocks) }
func (l *fakeSource) Stamp(i int) uint64 { return l.blocks[i].stamp }

func (l *fakeSource) Block(i, width int, open bool) Block {
	l.laid++
	return l.blocks[i].block(width, open)
}

func (l *fakeSource) Tail(width int) []Block {
	var blocks []Block
	for _, s := range l.tail {
		blocks = append(blocks, s.block(width, false))
	}
	return blocks
}

func (s fakeBlock) block(width int, open bool) Block {
	b := Block{Gutter: s.gutter, Mark: s.mark, Head: s.head, Indent: s.indent, Key: s.key, Foldable: s.folded != ""}
	text := s.text
	if b.Foldable {
		if b.Open = open; !open {
			text = s.folded
		}
	}
	if text != "" {
		var lines []render.Line
		for line := range strings.SplitSeq(text, "\n") {
			lines = append(lines, render.Of(render.Base, line))
		}
		for _, l := range lines {
			b.Lines = append(b.Lines, render.Wrap(l, max(width-Inset(width, s.indent), 1))...)
		}
	}
	return b
}

func speaker(name, time string) render.Line {
	return render.Line{{Text: name, Role: render.SpeakerArbiter}, {Text: time, Role: render.Dim}}
}

func lookList(t testing.TB) *render.Look {
	t.Helper()
	theme, err := render.NewTheme("dark", render.TrueColor)
	if err != nil {
		t.Fatal(err)
	}
	return &render.Look{Theme: theme, Glyphs: render.Unicode}
}

// stage is a view in the middle of a screen, with cells around it that it must not touch.
type stage struct {
	t          testing.TB
	screen     tcell.SimulationScreen
	view       *ListView
	x, y, w, h int
}

const around = "▒"

func newStage(t testing.TB, w, h int, s BlockSource) *stage {
	t.Helper()
	st := &stage{t: t, screen: tcell.NewSimulationScreen("UTF-8"), view: NewListView(lookList(t)), x: 3, y: 2}
	if err := st.screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.screen.Fini)
	st.view.SetSource(s)
	st.resize(w, h)
	return st
}

func (st *stage) resize(w, h int) {
	st.w, st.h = w, h
	st.screen.SetSize(max(w, 0)+2*st.x, max(h, 0)+2*st.y)
	st.view.SetRect(st.x, st.y, w, h)
}

// draw draws, and fails if a cell outside was touched or a cell inside was not.
func (st *stage) draw() []string {
	st.t.Helper()
	sw, sh := st.screen.Size()
	for y := range sh {
		for x := range sw {
			st.screen.Put(x, y, around, tcell.StyleDefault)
		}
	}
	st.view.Draw(st.screen)
	var rows []string
	for y := range sh {
		var row strings.Builder
		for x := 0; x < sw; {
			text, _, width := st.screen.Get(x, y)
			inside := x >= st.x && x < st.x+st.w && y >= st.y && y < st.y+st.h
			if inside == (text == around) {
				st.t.Fatalf("cell %d,%d is %q, window %dx%d at %d,%d", x, y, text, st.w, st.h, st.x, st.y)
			}
			if inside {
				row.WriteString(text)
				if x+width > st.x+st.w {
					st.t.Fatalf("row %d is too wide: %q reaches beyond column %d", y, text, st.x+st.w)
				}
			}
			x += max(width, 1)
		}
		if y >= st.y && y < st.y+st.h {
			rows = append(rows, row.String())
		}
	}
	return rows
}

// text returns the window without blanks at the ends of rows.
func (st *stage) text() string {
	st.t.Helper()
	rows := st.draw()
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n")
}

// role fails unless a cell of the window is drawn in a role.
func (st *stage) role(x, y int, want render.Role) {
	st.t.Helper()
	text, style, _ := st.screen.Get(st.x+x, st.y+y)
	if style != st.view.look.Theme.Style(want) {
		st.t.Errorf("cell %d,%d %q has style %v, want that of role %d", x, y, text, style, want)
	}
}

// many returns n blocks of one line without heads.
func many(n int) *fakeSource {
	l := &fakeSource{}
	for i := range n {
		l.blocks = append(l.blocks, fakeBlock{text: fmt.Sprintf("line %d", i)})
	}
	return l
}

var listWords = strings.Fields(
	"thread weave oracle 漢字 かな 👩‍👩‍👧 🇩🇪 é́ naïve superlongwordthatdoesnotfitintoanything x ab " +
		"שלום mid-way a/b/c 全角文字 [red] plan",
)

// random is a source of blocks of every kind.
func random(r *rand.Rand, n int) *fakeSource {
	l := &fakeSource{}
	for range n {
		l.blocks = append(l.blocks, randomBlock(r, len(l.blocks)))
	}
	return l
}

func randomBlock(r *rand.Rand, i int) fakeBlock {
	s := fakeBlock{stamp: r.Uint64(), gutter: render.SpeakerOrch1}
	if r.IntN(3) == 0 {
		s.head = speaker(fmt.Sprint("Orchestrator ", i), "12:04")
	}
	if r.IntN(6) == 0 {
		s.indent = r.IntN(5)
	}
	if r.IntN(8) != 0 {
		s.text = fmt.Sprintf("#%d", i)
		for range r.IntN(40) {
			s.text += []string{" ", " ", " ", "\n"}[r.IntN(4)] + listWords[r.IntN(len(listWords))]
		}
	}
	if r.IntN(5) == 0 {
		s.folded = fmt.Sprintf("#%d folded", i)
	}
	return s
}
