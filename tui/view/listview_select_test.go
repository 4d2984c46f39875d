package view

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// testMouse is a mouse on a stage: it records which presses the application receives.
type testMouse struct {
	st       *stage
	captured bool
	copied   []string
}

func newTestMouse(st *stage) *testMouse {
	h := &testMouse{st: st}
	st.view.OnCopy(func(text string) { h.copied = append(h.copied, text) })
	return h
}

// do makes the view handle an action at a cell of the window.
func (h *testMouse) do(action tview.MouseAction, x, y int) bool {
	event := tcell.NewEventMouse(h.st.x+x, h.st.y+y, tcell.ButtonPrimary, 0)
	consumed, capture := h.st.view.MouseHandler()(action, event, func(tview.Primitive) {})
	h.captured = capture != nil
	return consumed
}

func (h *testMouse) drag(path ...[2]int) {
	h.do(tview.MouseLeftDown, path[0][0], path[0][1])
	for _, at := range path[1:] {
		h.do(tview.MouseMove, at[0], at[1])
	}
	last := path[len(path)-1]
	h.do(tview.MouseLeftUp, last[0], last[1])
}

func (h *testMouse) click(action tview.MouseAction, x, y int) {
	h.do(tview.MouseLeftDown, x, y)
	h.do(tview.MouseLeftUp, x, y)
	h.do(action, x, y)
}

func (h *testMouse) last() string {
	if len(h.copied) == 0 {
		return ""
	}
	return h.copied[len(h.copied)-1]
}

func TestDragSelects(t *testing.T) {
	st := newStage(t, 35, 14, conversation())
	st.draw()
	h := newTestMouse(st)
	// From "me a parser" to "So it", over a head and a break.
	h.drag([2]int{8, 1}, [2]int{20, 2}, [2]int{6, 5})
	if want := "me a parser, and let it\nbe small.\n\nSo it"; h.last() != want {
		t.Errorf("copied %q, want %q", h.last(), want)
	}
	st.draw()
	st.role(8, 1, render.Selection)
	st.role(7, 1, render.Base)
	st.role(6, 5, render.Selection)
	st.role(7, 5, render.Base)
	// A head is not highlighted, because it is not copied, nor is the gutter.
	st.role(2, 4, render.SpeakerArbiter)
	st.role(0, 2, render.SpeakerHuman)

	// Backwards, and only a name.
	h.drag([2]int{4, 0}, [2]int{2, 0})
	if h.last() != "Hum" {
		t.Errorf("copied %q, want Hum", h.last())
	}
	// A click selects nothing and clears the selection.
	h.click(tview.MouseLeftClick, 5, 5)
	if st.view.Selecting() || len(h.copied) != 2 {
		t.Errorf("a click selected: %q", h.copied)
	}
	st.draw()
	st.role(3, 0, render.SpeakerArbiter)
	if h.captured {
		t.Error("the mouse is still captured")
	}
}

func TestClickFolds(t *testing.T) {
	l := many(4)
	l.blocks[1] = fakeBlock{text: "Bash\noutput", folded: "Bash"}
	st := newStage(t, 20, 6, l)
	st.draw()
	h := newTestMouse(st)
	h.click(tview.MouseLeftClick, 4, 1)
	want(t, st, "▌ line 0\n▾ Bash\n▌ output\n▌ line 2\n▌ line 3\n\n")
	h.click(tview.MouseLeftClick, 4, 2) // not its first row
	h.click(tview.MouseLeftClick, 0, 5) // below everything
	want(t, st, "▌ line 0\n▾ Bash\n▌ output\n▌ line 2\n▌ line 3\n\n")
	h.click(tview.MouseLeftClick, 0, 1)
	want(t, st, "\n▌ line 0\n▸ Bash\n▌ line 2\n▌ line 3\n\n\n")
	if !st.view.Following() {
		t.Error("the end is not followed any more, though all is in the window")
	}
}

// TestDragBeyondTheEdge: each motion outside scrolls, and the selection follows.
func TestDragBeyondTheEdge(t *testing.T) {
	l := many(100)
	st := newStage(t, 20, 5, l)
	st.view.SetBar(false)
	st.draw()
	h := newTestMouse(st)
	h.drag([2]int{4, 4}, [2]int{4, 2}, [2]int{4, -1}, [2]int{5, -1}, [2]int{4, -100}, [2]int{2, 0})
	if got := st.draw()[0]; !strings.Contains(got, "line 88") {
		t.Errorf("the top is %q, want line 88", got)
	}
	if got := strings.Split(h.last(), "\n"); len(got) != 12 || got[0] != "line 88" || got[11] != "lin" {
		t.Errorf("copied %q", got)
	}
	// While there is a selection nothing moves, even if blocks arrive.
	before := st.text()
	l.blocks = append(l.blocks, many(10).blocks...)
	want(t, st, before)
	// Down to the end again.
	path := [][2]int{{2, 0}}
	for i := range 40 {
		path = append(path, [2]int{3 + i%2, 7})
	}
	h.drag(path...)
	if !strings.HasSuffix(h.last(),
		"line 99\nline 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9") {
		t.Errorf("copied %q", h.last())
	}
}

// TestSelectionHoldsTheEnd: while the user selects at the end, the view does not move on; afterwards it
// follows the end again.
func TestSelectionHoldsTheEnd(t *testing.T) {
	l := many(20)
	st := newStage(t, 20, 5, l)
	st.view.SetBar(false)
	st.draw()
	h := newTestMouse(st)
	h.drag([2]int{2, 2}, [2]int{5, 3})
	before := st.text()
	l.blocks = append(l.blocks, many(3).blocks...)
	want(t, st, before)
	if st.view.Behind() != 3 {
		t.Errorf("%d behind, want 3", st.view.Behind())
	}
	st.view.SelectClear()
	if !st.view.Following() {
		t.Error("the end is not followed again")
	}
	// The user's own movement takes precedence.
	h.drag([2]int{2, 2}, [2]int{5, 3})
	st.view.Up(3)
	st.view.SelectClear()
	if st.view.Following() {
		t.Error("the reader was carried off to the end")
	}
}

func TestSelectByKeys(t *testing.T) {
	l := conversation()
	st := newStage(t, 35, 5, l)
	st.draw()
	v := st.view
	v.SelectStart()
	v.Extend(-2)
	if got := v.Copy(); got != "Bash go vet ./... and then\nmuch more of it than fits\ndone" {
		t.Errorf("copied %q", got)
	}
	v.Extend(-5)
	if got := st.draw()[0]; !strings.Contains(got, "So it shall be.") {
		t.Errorf("the window did not follow the selection: %q", got)
	}
	if got := v.Copy(); !strings.HasPrefix(got, "So it shall be.\n\nRead parser.go\n") {
		t.Errorf("copied %q", got)
	}
	v.Extend(1000)
	v.SelectClear()
	if v.Selecting() || v.Copy() != "" {
		t.Error("still selecting")
	}
	v.Mark(1)
	v.GoTo(0)
	v.SelectStart()
	if got := v.Copy(); got != "So it shall be." {
		t.Errorf("at the cursor: %q", got)
	}
	// A new width breaks rows elsewhere: the old selection is gone.
	st.resize(50, 5)
	st.draw()
	if v.Selecting() {
		t.Error("the selection outlived the rows it was made of")
	}
}

func TestCopyIsBounded(t *testing.T) {
	l := many(maxCopyRows + 10)
	st := newStage(t, 20, 5, l)
	st.view.SelectStart()
	st.view.Extend(-maxStep)
	text, whole := st.view.Selected()
	if whole || strings.Count(text, "\n") != maxCopyRows-1 {
		t.Errorf("%d lines, whole %v", strings.Count(text, "\n")+1, whole)
	}
}

func TestListMatch(t *testing.T) {
	l := many(50)
	l.blocks[20].text = "nothing\nThe Oracle and the ORACLE\nagain oracle"
	l.blocks[30] = fakeBlock{text: "Bash\n" + strings.Repeat("x\n", 20) + "漢oracle", folded: "Bash"}
	st := newStage(t, 40, 6, l)
	st.view.SetBar(false)
	v := st.view
	v.Match("oRaClE")
	v.GoTo(20)
	rows := st.draw()
	if !strings.Contains(rows[2], "The Oracle") {
		t.Fatalf("no context above the match: %q", rows)
	}
	st.role(6, 2, render.MatchAt)
	st.role(21, 2, render.Match)
	st.role(8, 3, render.Match)
	st.role(5, 2, render.Base)
	v.MatchNext(false)
	v.MatchNext(false)
	st.draw()
	st.role(6, 2, render.Match)
	st.role(8, 3, render.MatchAt)
	if v.MatchNext(false) {
		t.Error("there is a further match")
	}
	for range 2 {
		if !v.MatchNext(true) {
			t.Error("the way back is another")
		}
	}
	if v.MatchNext(true) {
		t.Error("the way back goes on")
	}
	// A match in a folded block unfolds it.
	v.GoTo(30)
	if rows := st.draw(); !strings.Contains(rows[2], "漢oracle") {
		t.Errorf("the folded match is not shown: %q", rows)
	}
	st.role(4, 2, render.MatchAt)
	st.role(2, 2, render.Base)
	v.Match("")
	st.draw()
	st.role(4, 2, render.Base)
}

func TestBar(t *testing.T) {
	st := newStage(t, 20, 10, many(1000))
	thumb := func() (from, to int) {
		from = -1
		for y, row := range st.draw() {
			if strings.HasSuffix(row, "│") {
				if from < 0 {
					from = y
				}
				to = y
			}
		}
		return from, to
	}
	for _, c := range []struct {
		at   int
		want int
	}{{0, 0}, {1, 1}, {500, 5}, {989, 8}, {990, 9}} {
		st.view.GoTo(c.at)
		if from, to := thumb(); from != c.want || to != c.want {
			t.Errorf("at %d the bar is at %d–%d, want %d", c.at, from, to, c.want)
		}
	}
	h := newTestMouse(st)
	h.drag([2]int{19, 9}, [2]int{19, 5}, [2]int{30, 5})
	if got := st.draw()[0]; !strings.Contains(got, "line 500") || st.view.Selecting() {
		t.Errorf("the bar pulled to its middle shows %q", got)
	}
	h.drag([2]int{19, 5}, [2]int{19, 50})
	if !st.view.Following() {
		t.Error("the bar pulled to the end does not follow it")
	}
	short := newStage(t, 20, 10, many(10))
	if strings.Contains(short.text(), "│") {
		t.Error("there is a bar, though all is in the window")
	}
}

// TestMouseOutside: the view ignores what happens elsewhere.
func TestMouseOutside(t *testing.T) {
	st := newStage(t, 20, 5, many(50))
	st.draw()
	h := newTestMouse(st)
	for _, action := range []tview.MouseAction{tview.MouseMove, tview.MouseLeftDown, tview.MouseLeftClick,
		tview.MouseScrollUp, tview.MouseRightDown} {
		if h.do(action, -1, 2) || h.do(action, 20, 2) || h.do(action, 3, 5) {
			t.Errorf("action %d outside was taken", action)
		}
	}
	if h.do(tview.MouseMove, 2, 2) || h.captured {
		t.Error("a motion without a button was taken")
	}
	h.do(tview.MouseScrollUp, 2, 2)
	if got := st.draw()[0]; !strings.Contains(got, "line 42") {
		t.Errorf("the wheel shows %q, want line 42", got)
	}
	h.do(tview.MouseScrollDown, 2, 2)
	if !st.view.Following() {
		t.Error("the wheel at the end does not follow it")
	}
}

// FuzzMouseActions performs random actions: nothing panics, nothing is drawn outside.
func FuzzMouseActions(f *testing.F) {
	f.Add(uint64(3), []byte("the quick brown fox jumps over the lazy dog, and then some more of it"))
	f.Add(uint64(4), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19"))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) { fiddle(t, seed, ops[:min(len(ops), 300)]) })
}

func TestMouseActions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for seed := range uint64(60) {
		ops := make([]byte, 150)
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		fiddle(t, seed, ops)
	}
}

func fiddle(t *testing.T, seed uint64, ops []byte) {
	r := rand.New(rand.NewPCG(seed, 9))
	l := random(r, r.IntN(40))
	st := newStage(t, r.IntN(50), r.IntN(20), l)
	v, h := st.view, newTestMouse(st)
	actions := []tview.MouseAction{tview.MouseLeftDown, tview.MouseMove, tview.MouseMove, tview.MouseLeftUp,
		tview.MouseLeftClick, tview.MouseLeftDoubleClick, tview.MouseScrollUp, tview.MouseScrollDown,
		tview.MouseRightDown}
	keys := []func(){v.PageUp, v.PageDown, v.HalfUp, v.HalfDown, v.Top, v.Bottom, v.NextBlock, v.PrevBlock, v.ToggleAll,
		v.SelectStart, v.SelectClear, v.Refresh, func() { v.Toggle() }, func() { v.Copy() }, func() { v.Behind() },
		func() { v.MatchNext(r.IntN(2) == 0) }, func() { v.Extend(r.IntN(40) - 20) },
		func() { v.Up(r.IntN(100000)) }, func() { v.Down(r.IntN(100000)) }, func() { v.GoTo(r.IntN(200) - 50) },
		func() { v.Mark(r.IntN(100) - 10) }, func() { v.Match(listWords[r.IntN(len(listWords))][:1]) }, func() {
			v.SetBar(r.IntN(2) == 0)
		}}
	for _, op := range ops {
		switch {
		case op < 90:
			h.do(actions[int(op)%len(actions)], r.IntN(60)-5, r.IntN(30)-5)
		case op < 190:
			keys[int(op)%len(keys)]()
		case op < 210:
			l.tail = nil
			for range r.IntN(4) {
				l.tail = append(l.tail, randomBlock(r, 0))
				l.tail[len(l.tail)-1].key = listWords[r.IntN(len(listWords))]
			}
		case op < 225:
			for range r.IntN(20) {
				l.blocks = append(l.blocks, randomBlock(r, len(l.blocks)))
			}
		case op < 235 && len(l.blocks) > 0:
			l.blocks[r.IntN(len(l.blocks))] = randomBlock(r, 1)
		case op < 245:
			st.resize(r.IntN(90)-2, r.IntN(40)-2)
		}
		if op%2 == 0 {
			st.draw()
		}
	}
	st.draw()
}
