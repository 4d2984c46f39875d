package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

func want(t *testing.T, st *stage, text string) {
	t.Helper()
	// One line break on each side belongs to the test.
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	if diff := cmp.Diff(text, st.text()); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
}

func conversation() *fakeSource {
	return &fakeSource{blocks: []fakeBlock{
		{gutter: render.SpeakerHuman, head: speaker("Human", "12:01"), text: "Weave me a parser, and let it be small."},
		{gutter: render.SpeakerArbiter, head: speaker("Arbiter", "12:02"), text: "So it shall be."},
		{gutter: render.SpeakerOrch1, text: "Read parser.go", folded: "Read parser.go"},
		{gutter: render.SpeakerOrch1, text: "Agent: verify", mark: "◆"},
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
◆ Agent: verify
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
◆ Agent: verify
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
◆ Agent: verify`)
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
		if got := headLine(head, columns, "…").Text(); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
}

// TestTinyWindows draws windows with room for nothing, or almost nothing.
func TestTinyWindows(t *testing.T) {
	for _, w := range []int{-1, 0, 1, 2, 3, 5, 12} {
		for _, h := range []int{-1, 0, 1, 2} {
			st := newStage(t, w, h, conversation())
			v := st.view
			for _, op := range []func(){func() {}, func() { v.Up(1) }, v.PageUp, v.Top, v.PrevBlock, v.NextBlock,
				v.PageDown, v.SelectStart, func() { v.Extend(3) }, v.Bottom} {
				op()
				st.draw()
			}
			if !v.Following() {
				t.Errorf("%dx%d: the end is not followed", w, h)
			}
		}
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
			Head: render.Line{{Text: hostile}, {Text: hostile}}, Gutter: render.SpeakerHuman, Mark: hostile},
			{Lines: []render.Line{render.Of(render.Bad, hostile)}, Gutter: render.SpeakerHuman}}
		for _, w := range []int{1, 2, 3, 10, 41} {
			st := newStage(t, w, 5, raw)
			st.view.Match("e")
			st.view.SelectStart()
			st.view.Extend(-4)
			rows := st.draw()
			if !strings.HasPrefix(rows[3], "▌") && w > 1 {
				t.Errorf("%q, %d wide: the gutter is %q", hostile, w, rows[3])
			}
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
	st.view.SetBar(false)
	want(t, st, "▌ line 17\n▌ line 18\n▌ line 19")
	l.blocks = append(l.blocks, many(2).blocks...)
	want(t, st, "▌ line 19\n▌ line 0\n▌ line 1")

	st.view.Up(2)
	reading := "▌ line 17\n▌ line 18\n▌ line 19"
	want(t, st, reading)
	if st.view.Following() || st.view.Behind() != 0 {
		t.Fatalf("following %v, %d behind", st.view.Following(), st.view.Behind())
	}
	// New blocks appear below.
	l.blocks = append(l.blocks, many(4000).blocks...)
	if got := st.view.Behind(); got != 4000 {
		t.Errorf("%d behind, want 4000", got)
	}
	l.tail = []fakeBlock{{text: "live"}}
	for i := range 5 {
		l.tail[0].text += fmt.Sprint("\nmore ", i)
		want(t, st, reading)
	}
	// Blocks that were visible on the way down are not new.
	st.view.Down(4)
	st.draw()
	if got := st.view.Behind(); got != 3998 {
		t.Errorf("%d behind, want 3998", got)
	}
	st.view.Bottom()
	if !st.view.Following() || st.view.Behind() != 0 {
		t.Errorf("following %v, %d behind", st.view.Following(), st.view.Behind())
	}
	if got := st.text(); !strings.Contains(got, "more 4") {
		t.Errorf("the end of what is live is not in\n%s", got)
	}
}

func TestDownToTheEndFollows(t *testing.T) {
	l := many(20)
	st := newStage(t, 20, 5, l)
	st.draw()
	st.view.Up(3)
	st.view.Down(2)
	if st.view.Following() {
		t.Error("following a row before the end")
	}
	st.view.Down(1)
	if !st.view.Following() {
		t.Error("not following at the end")
	}
	// If everything is in the window, there is nowhere to go.
	short := newStage(t, 20, 5, many(3))
	short.draw()
	short.view.Up(1)
	if !short.view.Following() {
		t.Error("the end was left, though all is in the window")
	}
}

// TestKeyRefersToShownFrame: a key refers to what is on the screen, not to what arrived since.
func TestKeyRefersToShownFrame(t *testing.T) {
	l := many(100)
	st := newStage(t, 20, 4, l)
	st.draw()
	l.blocks = append(l.blocks, many(1000).blocks...)
	st.view.Up(1)
	if got := st.draw()[0]; !strings.Contains(got, "line 95") {
		t.Errorf("top is %q, want line 95", got)
	}
	if got := st.view.Behind(); got != 1000 {
		t.Errorf("%d behind, want 1000", got)
	}
}

func TestOutcomeAbove(t *testing.T) {
	l := many(100)
	st := newStage(t, 30, 5, l)
	st.view.SetBar(false)
	st.draw()
	st.view.GoTo(50)
	before := st.text()
	// Blocks above and below grow; the block at the top gets an outcome below the row that is read.
	for _, i := range []int{49, 10, 99} {
		l.blocks[i].text += strings.Repeat("\noutcome", 7)
		l.blocks[i].stamp++
		if got := st.text(); got != before {
			t.Fatalf("block %d: moved from\n%s\nto\n%s", i, before, got)
		}
	}
	l.blocks[50].text += "\noutcome"
	l.blocks[50].stamp++
	want(t, st, "▌ line 50\n▌ outcome\n▌ line 51\n▌ line 52\n▌ line 53")
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
		if got := st.draw()[0]; !strings.Contains(got, "HERE") {
			t.Fatalf("%s: the top is %q", when, got)
		}
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

func TestTailGrowsWhileFollowing(t *testing.T) {
	l := many(5)
	l.tail = []fakeBlock{{}}
	st := newStage(t, 20, 6, l)
	for i := range 50 {
		if i > 0 {
			l.tail[0].text += "\n"
		}
		l.tail[0].text += fmt.Sprint("row ", i)
		rows := st.draw()
		last := min(5+i, 5)
		if want := fmt.Sprint("▌ row ", i); !strings.HasPrefix(rows[last], want) {
			t.Fatalf("the last row is %q, want %q", rows[last], want)
		}
	}
}

func TestFolding(t *testing.T) {
	l := many(30)
	long := strings.TrimSpace(strings.Repeat("detail\n", 12))
	l.blocks[29] = fakeBlock{text: "Bash\n" + long, folded: "Bash"}
	l.blocks[10] = fakeBlock{text: "Read\n" + long, folded: "Read"}
	st := newStage(t, 20, 5, l)
	st.draw()
	// Without a cursor the last block in the window; it is shown from its beginning.
	if !st.view.Toggle() {
		t.Fatal("nothing folds")
	}
	if rows := st.draw(); !strings.HasPrefix(rows[4], "▾ Bash") || st.view.Following() {
		t.Errorf("after unfolding: %q, following %v", rows[4], st.view.Following())
	}
	st.view.Toggle()
	if rows := st.draw(); !strings.HasPrefix(rows[4], "▸ Bash") {
		t.Errorf("after folding: %q", rows[4])
	}
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
	if rows := st.draw(); !strings.Contains(rows[1], "detail") {
		t.Errorf("with all unfolded: %q", rows)
	}
	st.view.Mark(11)
	st.view.GoTo(11)
	if st.view.Toggle() {
		t.Error("a block that does not fold was folded")
	}
}

func TestListCursor(t *testing.T) {
	l := conversation()
	l.blocks = append(l.blocks, fakeBlock{}, fakeBlock{text: "after nothing", gutter: render.SpeakerOrch2})
	st := newStage(t, 34, 4, l)
	st.draw()
	if st.view.Marked() != -1 {
		t.Error("there is a cursor at first")
	}
	var marked []int
	for range 8 {
		st.view.PrevBlock()
		marked = append(marked, st.view.Marked())
		rows := st.draw()
		if !strings.Contains(strings.Join(rows, ""), "█") {
			// A mark keeps its shape, and is drawn as selected.
			if m := l.blocks[st.view.Marked()]; m.folded == "" && m.mark == "" {
				t.Errorf("block %d is not marked in %q", st.view.Marked(), rows)
			}
		}
	}
	if diff := cmp.Diff([]int{8, 6, 5, 4, 3, 2, 1, 0}, marked); diff != "" {
		t.Errorf("going up (-want +got):\n%s", diff)
	}
	for range 9 {
		st.view.NextBlock()
		st.draw()
	}
	if st.view.Marked() != 8 || !st.view.Following() {
		t.Errorf("at the end: block %d, following %v", st.view.Marked(), st.view.Following())
	}
	st.role(0, 3, render.SpeakerOrch2)
}

// TestLastBlockIsRemoved: a live block that is the only block ends without becoming an entry, while it is read,
// selected and marked; later blocks are followed or not as before.
func TestLastBlockIsRemoved(t *testing.T) {
	ops := map[string]func(h *testMouse){
		"resize": func(h *testMouse) { h.st.resize(30, 7) },
		"copy":   func(h *testMouse) { h.st.view.Copy() },
		"extend": func(h *testMouse) { h.st.view.Extend(-2) },
		"match":  func(h *testMouse) { h.st.view.MatchNext(false) },
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
			if got := strings.TrimSpace(st.text()); got != "" {
				t.Errorf("%s: %q is drawn of nothing", name, got)
			}
			if !reading && !st.view.Following() {
				t.Errorf("%s: the end of nothing is not followed", name)
			}
			l.blocks = many(30).blocks
			st.draw()
		}
	}
}
