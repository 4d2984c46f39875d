package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// fakeBlock is a block of a list as a test describes it.
type fakeBlock struct {
	text   string // its lines, before they are wrapped; "" is none
	folded string // what is shown if it is folded; "" does not fold
	head   render.Line
	indent int
	gutter render.Role
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
	return testkit.Each(l.tail, func(s fakeBlock) Block { return s.block(width, false) })
}

func (s fakeBlock) block(width int, open bool) Block {
	b := Block{Gutter: s.gutter, Head: s.head, Indent: s.indent, Key: s.key, Foldable: s.folded != ""}
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
	} else if len(b.Head) == 0 {
		b.Lines = []render.Line{nil} // as the view shows it
	}
	return b
}

func speaker(name, time string) render.Line {
	return render.Line{{Text: name, Role: render.SpeakerArbiter}, {Text: time, Role: render.Dim}}
}

// stage is a view in the middle of a screen, with cells around it that it must not touch.
type stage struct {
	t          testing.TB
	screen     tcell.SimulationScreen
	view       *ListView
	x, y, w, h int
}

func newStage(t testing.TB, w, h int, s BlockSource) *stage {
	t.Helper()
	st := &stage{t: t, screen: screenOf(t, 1, 1), view: NewListView(darkLook(t)), x: 3, y: 2}
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
	rows := surrounded(st.t, st.screen, st.view)
	y := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, around) })
	testkit.Need(st.t, y < 0, "row %d of a window of %dx%d: %q", y, st.w, st.h, rows)
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
	testkit.Check(st.t, style == st.view.look.Theme.Style(want), "cell %d,%d %q has style %v, want that of role %d", x,
		y, text, style, want)
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

func want(t *testing.T, st *stage, text string) {
	t.Helper()
	// One line break on each side belongs to the test.
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	diff := cmp.Diff(text, st.text())
	testkit.Need(t, diff == "", "-want +got:\n%s", diff)
}

func conversation() *fakeSource {
	return &fakeSource{blocks: []fakeBlock{
		{gutter: render.SpeakerHuman, head: speaker("Human", "12:01"), text: "Weave me a parser, and let it be small."},
		{gutter: render.SpeakerArbiter, head: speaker("Arbiter", "12:02"), text: "So it shall be."},
		{gutter: render.SpeakerOrch1, text: "Read parser.go", folded: "Read parser.go"},
		{gutter: render.SpeakerOrch1, text: "Agent: verify"},
		{gutter: render.SpeakerOrch1, text: "Bash go test", indent: 1},
		{gutter: render.SpeakerOrch1, text: "Bash go vet ./... and then much more of it than fits", indent: 1},
		{gutter: render.SpeakerOrch1, text: "done"},
	}}
}

func TestGolden(t *testing.T) {
	st := newStage(t, 35, 14, conversation())
	want(t, st, `
▌ Human                     12:01
▌ Weave me a parser, and let it
▌ be small.

▌ Arbiter                   12:02
▌ So it shall be.

▸ Read parser.go
▌ Agent: verify
▌ ├ Bash go test
▌ └ Bash go vet ./... and then
▌   much more of it than fits
▌ done

`)
	st.role(0, 0, render.SpeakerHuman)
	st.role(0, 4, render.SpeakerArbiter)
	st.role(2, 4, render.SpeakerArbiter)
	st.role(28, 4, render.Dim)

	st.resize(35, 6)
	want(t, st, `
▸ Read parser.go
▌ Agent: verify
▌ ├ Bash go test                  │
▌ └ Bash go vet ./... and then    │
▌   much more of it than fits     │
▌ done                            │`)
	st.view.Up(4)
	want(t, st, `

▌ Arbiter                   12:02 │
▌ So it shall be.                 │
                                  │
▸ Read parser.go
▌ Agent: verify`)
}

func TestHeadIsShortenedFairly(t *testing.T) {
	head := speaker("Orchestrator IV", " 12:04")
	for columns, want := range map[int]string{
		30: "Orchestrator IV          12:04",
		21: "Orchestrator IV 12:04",
		20: "Orchestrator … 12:04",
		14: "Orchest… 12:04",
		13: "Orchestrator…",
		5:  "Orch…",
		1:  "…",
	} {
		testkit.Same(t, fmt.Sprintf("%d columns", columns), want, HeadLine(head, columns, "…").Text())
	}
}

// TestNothingOutside: no text of an agent reaches the gutter or goes beyond the
// edge.
func TestNothingOutside(t *testing.T) {
	for _, hostile := range []string{
		"\r\x1b[31mred\x1b]0;title\x07", "[red]no tag[-] [\"r\"]x[\"\"] [[", "\b\b\b\b\b▌ Human",
		strings.Repeat("e\u0301\u0302\u0303", 300), "\u202eevil\u202c", "\u200b\u200d\ufeff", strings.Repeat("漢", 100),
		strings.Repeat("👩‍👩‍👧", 50), strings.Repeat("x", 100_000), "a\tb\tc\td\te\tf",
		"\u0085\u009b31m", "\x00\x01\x7f", "🇩🇪🇩", "ﷺ﷽",
	} {
		// Lines arrive unwrapped: a source may be wrong about widths.
		raw := raws{{Lines: []render.Line{render.Of(render.Bad, hostile)},
			Head: render.Line{{Text: hostile}, {Text: hostile}}, Gutter: render.SpeakerHuman},
			{Lines: []render.Line{render.Of(render.Bad, hostile)}, Gutter: render.SpeakerHuman}}
		for _, w := range []int{1, 2, 3, 10, 41} {
			st := newStage(t, w, 5, raw)
			st.view.Match("e")
			st.view.SelectStart()
			st.view.Extend(-4)
			rows := st.draw()
			testkit.Check(t, strings.HasPrefix(rows[3], "▌") || w <= 1, "%q, %d wide: the gutter is %q", hostile, w,
				rows[3])
			st.role(0, 3, render.SpeakerHuman)
			st.view.Copy()
		}
	}
}

// raws are blocks as they are.
type raws []Block

func (r raws) Len() int                     { return len(r) }
func (r raws) Stamp(int) uint64             { return 0 }
func (r raws) Block(i, _ int, _ bool) Block { return r[i] }
func (r raws) Tail(int) []Block             { return nil }

func TestFollowing(t *testing.T) {
	l := many(20)
	st := newStage(t, 20, 3, l)
	st.view.bar = false
	want(t, st, "▌ line 17\n▌ line 18\n▌ line 19")
	l.blocks = append(l.blocks, many(2).blocks...)
	want(t, st, "▌ line 19\n▌ line 0\n▌ line 1")

	st.view.Up(2)
	reading := "▌ line 17\n▌ line 18\n▌ line 19"
	want(t, st, reading)
	testkit.Need(t, !st.view.Following() && st.view.Behind() == 0, "following %v, %d behind", st.view.Following(),
		st.view.Behind())
	// New blocks appear below.
	l.blocks = append(l.blocks, many(4000).blocks...)
	testkit.Same(t, "behind", 4000, st.view.Behind())
	l.tail = []fakeBlock{{text: "live"}}
	for i := range 5 {
		l.tail[0].text += fmt.Sprint("\nmore ", i)
		want(t, st, reading)
	}
	// Blocks that were visible on the way down are not new.
	st.view.Down(4)
	st.draw()
	testkit.Same(t, "behind", 3998, st.view.Behind())
	st.view.Bottom()
	testkit.Check(t, st.view.Following() && st.view.Behind() == 0, "following %v, %d behind", st.view.Following(),
		st.view.Behind())
	testkit.Includes(t, "the end of what is live is not in", st.text(), "more 4")
}

// TestResizeKeepsThePlace: at another width the text at the top stays, and back at the old width the exact
// row.
func TestResizeKeepsThePlace(t *testing.T) {
	l := &fakeSource{}
	for i := range 40 {
		var text strings.Builder
		for k := range 200 {
			fmt.Fprintf(&text, "w%d-%d ", i, k)
		}
		l.blocks = append(l.blocks, fakeBlock{head: speaker("Arbiter", "12:00"), text: text.String()})
	}
	st := newStage(t, 60, 10, l)
	st.view.GoTo(20)
	st.view.Down(7)
	before := st.text()
	top, _, _ := strings.Cut(strings.TrimPrefix(before, "▌ "), " ")
	for _, size := range [][2]int{{30, 10}, {100, 40}, {7, 3}, {0, 0}, {59, 1}, {400, 400}, {3, 100}, {61, 9}} {
		st.resize(size[0], size[1])
		rows := st.draw()
		if size[0] >= 30 && size[1] < 100 && !strings.Contains(rows[0], top) {
			t.Errorf("%v: %q is not in the top row %q", size, top, rows[0])
		}
	}
	st.resize(60, 10)
	want(t, st, before)
}

// TestLiveBlockIsFollowed: a reader of an arriving block stays with it when other blocks come before it,
// and when it is complete.
func TestLiveBlockIsFollowed(t *testing.T) {
	l := many(30)
	text := strings.TrimSpace(strings.Repeat("live\n", 9)) + "\nHERE\nlive\nlive\nlive"
	l.tail = []fakeBlock{{text: "another", key: "b"}, {text: text, key: "a"}}
	st := newStage(t, 20, 3, l)
	st.draw()
	st.view.Up(1)
	for !strings.Contains(st.draw()[0], "HERE") {
		st.view.Up(1)
	}
	check := func(when string) {
		t.Helper()
		got := st.draw()[0]
		testkit.Need(t, strings.Contains(got, "HERE"), "%s: the top is %q", when, got)
	}
	l.blocks = append(l.blocks, many(3).blocks...)
	check("others came")
	l.tail = l.tail[1:]
	check("the one before is over")
	l.tail[0].text += "\nand\nmore"
	check("it grows")
	l.blocks = append(l.blocks, fakeBlock{text: "x"}, fakeBlock{text: l.tail[0].text, key: "a"}, fakeBlock{text: "y"})
	l.tail = nil
	check("it is done")
	l.blocks = append(l.blocks, many(3).blocks...)
	check("others came after")
}

func TestFolding(t *testing.T) {
	l := many(30)
	long := strings.TrimSpace(strings.Repeat("detail\n", 12))
	l.blocks[29] = fakeBlock{text: "Bash\n" + long, folded: "Bash"}
	l.blocks[10] = fakeBlock{text: "Read\n" + long, folded: "Read"}
	st := newStage(t, 20, 5, l)
	st.draw()
	// Without a cursor the last block in the window; it is shown from its beginning.
	testkit.Need(t, st.view.Toggle(), "nothing folds")
	if rows := st.draw(); !strings.HasPrefix(rows[4], "▾ Bash") || st.view.Following() {
		t.Errorf("after unfolding: %q, following %v", rows[4], st.view.Following())
	}
	st.view.Toggle()
	rows := st.draw()
	testkit.Check(t, strings.HasPrefix(rows[4], "▸ Bash"), "after folding: %q", rows[4])
	// When it is folded from within, its beginning is shown.
	st.view.Mark(10)
	st.view.GoTo(10)
	st.view.Toggle()
	st.view.Down(6)
	st.view.Toggle()
	if rows := st.draw(); !strings.Contains(rows[0], "Read") || !strings.Contains(rows[1], "line 11") {
		t.Errorf("after folding from within: %q", rows)
	}
	st.view.ToggleAll()
	rows = st.draw()
	testkit.Check(t, strings.Contains(rows[1], "detail"), "with all unfolded: %q", rows)
	st.view.Mark(11)
	st.view.GoTo(11)
	testkit.Same(t, "a block that does not fold was folded", false, st.view.Toggle())
}

func TestListCursor(t *testing.T) {
	l := conversation()
	l.blocks = append(l.blocks, fakeBlock{}, fakeBlock{text: "after nothing", gutter: render.SpeakerOrch2})
	st := newStage(t, 34, 4, l)
	st.draw()
	testkit.Same(t, "there is a cursor at first", false, st.view.Marked() != -1)
	var marked []int
	for range 8 {
		st.view.PrevBlock()
		marked = append(marked, st.view.Marked())
		rows := st.draw()
		if !strings.Contains(strings.Join(rows, ""), "█") {
			// A mark keeps its shape, and is drawn as selected.
			m := l.blocks[st.view.Marked()]
			testkit.Check(t, m.folded != "", "block %d is not marked in %q", st.view.Marked(), rows)
		}
	}
	testkit.Same(t, "going up", []int{8, 7, 6, 5, 4, 3, 2, 1}, marked)
	for range 9 {
		st.view.NextBlock()
		st.draw()
	}
	testkit.Check(t, st.view.Marked() == 8 && st.view.Following(), "at the end: block %d, following %v",
		st.view.Marked(), st.view.Following())
	st.role(0, 3, render.SpeakerOrch2)
}

// TestLastBlockIsRemoved: a live block that is the only block ends without becoming an entry, while it is read,
// selected and marked; later blocks are followed or not as before.
func TestLastBlockIsRemoved(t *testing.T) {
	ops := map[string]func(h *testMouse){
		"resize": func(h *testMouse) { h.st.resize(30, 7) },
		"copy":   func(h *testMouse) { h.st.view.Copy() },
		"extend": func(h *testMouse) { h.st.view.Extend(-2) },
		"match":  func(h *testMouse) { h.st.view.MatchNext(false, false) },
		"cursor": func(h *testMouse) { h.st.view.PrevBlock(); h.st.view.NextBlock(); h.st.view.PrevBlock() },
		"toggle": func(h *testMouse) { h.st.view.Toggle(); h.st.view.ToggleAll() },
		"drag":   func(h *testMouse) { h.drag([2]int{4, 1}, [2]int{6, 2}, [2]int{6, -3}) },
		"click":  func(h *testMouse) { h.click(tview.MouseLeftClick, 4, 1) },
		"go to":  func(h *testMouse) { h.st.view.GoTo(3); h.st.view.Top(); h.st.view.Up(1); h.st.view.Down(1) },
	}
	for name, op := range ops {
		for _, reading := range []bool{false, true} {
			l := &fakeSource{tail: []fakeBlock{{text: strings.Repeat("live\n", 20) + "end"}}}
			st := newStage(t, 20, 4, l)
			h := newTestMouse(st)
			st.view.Match("live")
			st.draw()
			if reading {
				st.view.GoTo(0)
				st.view.Down(5)
				st.draw()
				h.click(tview.MouseLeftDoubleClick, 4, 1)
				st.view.SelectStart()
			}
			l.tail = nil
			op(h)
			testkit.Same(t, fmt.Sprintf("%s, drawn of nothing", name), "", strings.TrimSpace(st.text()))
			testkit.Check(t, reading || st.view.Following(), "%s: the end of nothing is not followed", name)
			l.blocks = many(30).blocks
			st.draw()
		}
	}
}

// endless is a source of any length that makes its blocks on request.
type endless struct {
	n    int
	laid int
	rows int // of a block
	head bool
}

func (e *endless) Len() int         { return e.n }
func (e *endless) Stamp(int) uint64 { return 0 }
func (e *endless) Tail(int) []Block { return nil }
func (e *endless) Block(i, width int, _ bool) Block {
	e.laid++
	b := Block{Gutter: render.SpeakerOrch1}
	if e.head {
		b.Head = speaker("Orchestrator I", "12:00")
	}
	for row := range e.rows {
		b.Lines = append(b.Lines,
			render.Of(render.Base, fmt.Sprintf("block %d, row %d, and some text that fills the row", i, row)))
	}
	return b
}

// TestMillion: the cost of a movement depends on the window, not on the length.
func TestMillion(t *testing.T) {
	const n = 1_000_000
	src := &endless{n: n, rows: 1}
	st := newStage(t, 60, 20, src)
	st.draw()
	v := st.view
	for _, c := range []struct {
		name string
		do   func()
		top  string
	}{
		{"page up", v.PageUp, fmt.Sprintf("block %d,", n-20-19)},
		{"go to the middle", func() { v.GoTo(500_000) }, "block 500000,"},
		{"page up there", v.PageUp, "block 499981,"},
		{"half down", v.HalfDown, "block 499991,"},
		{"top", v.Top, "block 0,"},
		{"page down", v.PageDown, "block 19,"},
		{"bottom", v.Bottom, fmt.Sprintf("block %d,", n-20)},
		{"add thousands", func() { src.n += 5000 }, fmt.Sprintf("block %d,", n-20+5000)},
	} {
		src.laid = 0
		c.do()
		testkit.Includes(t, fmt.Sprintf("%s: the top", c.name), st.draw()[0], c.top)
		testkit.Check(t, src.laid <= 4*20+10, "%s: %d blocks were laid out for 20 rows", c.name, src.laid)
	}
	src.laid = 0
	st.draw()
	testkit.Same(t, "blocks were laid out again without a reason", 0, src.laid)
}

// TestMemoryIsFlat: passed blocks are forgotten.
func TestMemoryIsFlat(t *testing.T) {
	src := &endless{n: 200_000, rows: 20}
	st := newStage(t, 80, 40, src)
	v := st.view
	v.Top()
	for range 600 {
		v.Down(1000)
		v.draw(render.On(st.screen, 3, 2, 80, 40, v.look))
	}
	v.update()
	kept := len(v.laid)
	testkit.Check(t, kept <= maxKept, "%d blocks kept", kept)
}

// TestHugeBlock: a very large block is laid out once while it is in the window.
func TestHugeBlock(t *testing.T) {
	src := &endless{n: 5, rows: 100_000}
	st := newStage(t, 80, 40, src)
	st.draw()
	st.view.GoTo(2)
	st.view.Down(50_000)
	st.draw()
	src.laid = 0
	for range 50 {
		st.view.Up(10)
		st.draw()
	}
	testkit.Same(t, "how often it was laid out more", 0, src.laid)
	testkit.Includes(t, "the top", st.draw()[0], "block 2, row 49500")
}

// TestHugeBlockBesideNews: it is not laid out again if the block above it in the window changes with each
// frame.
func TestHugeBlockBesideNews(t *testing.T) {
	l := &fakeSource{blocks: []fakeBlock{{text: "news"},
		{text: "its beginning" + strings.Repeat("\n"+strings.Repeat("x", 60), 100_000)}}}
	st := newStage(t, 80, 10, l)
	st.view.Top()
	st.draw()
	l.laid = 0
	const frames = 10
	for range frames {
		l.blocks[0].stamp++
		rows := st.draw()
		testkit.Need(t, strings.Contains(rows[1], "its beginning"), "below the news is %q", rows[1])
	}
	testkit.Same(t, "blocks that were laid out", frames, l.laid)
}
