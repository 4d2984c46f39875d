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
	testkit.Same(t, "copied", "me a parser, and let it\nbe small.\n\nSo it", h.last())
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
	testkit.Same(t, "copied", "Hum", h.last())
	// A click selects nothing and clears the selection.
	h.click(tview.MouseLeftClick, 5, 5)
	testkit.Check(t, !st.view.Selecting() && len(h.copied) == 2, "a click selected: %q", h.copied)
	st.draw()
	st.role(3, 0, render.SpeakerArbiter)
	testkit.Same(t, "the mouse is still captured", false, h.captured)
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
	testkit.Same(t, "the end is not followed any more, though all is in the window", true, st.view.Following())
}

// TestDragBeyondTheEdge: each motion outside scrolls, and the selection follows.
func TestDragBeyondTheEdge(t *testing.T) {
	l := many(100)
	st := newStage(t, 20, 5, l)
	st.view.bar = false
	st.draw()
	h := newTestMouse(st)
	h.drag([2]int{4, 4}, [2]int{4, 2}, [2]int{4, -1}, [2]int{5, -1}, [2]int{4, -100}, [2]int{2, 0})
	testkit.Includes(t, "the top", st.draw()[0], "line 88")
	got := strings.Split(h.last(), "\n")
	testkit.Check(t, len(got) == 12 && got[0] == "line 88" && got[11] == "lin", "copied %q", got)
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
	st.view.bar = false
	st.draw()
	h := newTestMouse(st)
	h.drag([2]int{2, 2}, [2]int{5, 3})
	before := st.text()
	l.blocks = append(l.blocks, many(3).blocks...)
	want(t, st, before)
	testkit.Same(t, "behind", 3, st.view.Behind())
	st.view.SelectClear()
	testkit.Same(t, "the end is not followed again", true, st.view.Following())
	// The user's own movement takes precedence.
	h.drag([2]int{2, 2}, [2]int{5, 3})
	st.view.Up(3)
	st.view.SelectClear()
	testkit.Same(t, "the reader was carried off to the end", false, st.view.Following())
}

func TestSelectByKeys(t *testing.T) {
	l := conversation()
	st := newStage(t, 35, 5, l)
	st.draw()
	v := st.view
	v.SelectStart()
	v.Extend(-2)
	testkit.Same(t, "copied", "Bash go vet ./... and then\nmuch more of it than fits\ndone", v.Copy())
	v.Extend(-5)
	testkit.Includes(t, "the window did not follow the selection", st.draw()[0], "So it shall be.")
	got := v.Copy()
	testkit.Check(t, strings.HasPrefix(got, "So it shall be.\n\nRead parser.go\n"), "copied %q", got)
	v.Extend(1000)
	v.SelectClear()
	testkit.Same(t, "still selecting", false, v.Selecting() || v.Copy() != "")
	v.Mark(1)
	v.GoTo(0)
	v.SelectStart()
	testkit.Same(t, "at the cursor", "So it shall be.", v.Copy())
	// A new width breaks rows elsewhere: the old selection is gone.
	st.resize(50, 5)
	st.draw()
	testkit.Same(t, "the selection outlived the rows it was made of", false, v.Selecting())
}

func TestCopyIsBounded(t *testing.T) {
	l := many(maxCopyRows + 10)
	st := newStage(t, 20, 5, l)
	st.view.SelectStart()
	st.view.Extend(-2 * maxCopyRows)
	testkit.Same(t, "lines", maxCopyRows, strings.Count(st.view.Copy(), "\n")+1)
}

func TestListMatch(t *testing.T) {
	l := many(50)
	l.blocks[20].text = "nothing\nThe Oracle and the ORACLE\nagain oracle"
	l.blocks[30] = fakeBlock{text: "Bash\n" + strings.Repeat("x\n", 20) + "漢oracle", folded: "Bash"}
	st := newStage(t, 40, 6, l)
	st.view.bar = false
	v := st.view
	v.Match("oRaClE")
	v.GoTo(20)
	rows := st.draw()
	testkit.Need(t, strings.Contains(rows[2], "The Oracle"), "no context above the match: %q", rows)
	st.role(6, 2, render.MatchAt)
	st.role(21, 2, render.Match)
	st.role(8, 3, render.Match)
	st.role(5, 2, render.Base)
	v.MatchNext(false, false)
	v.MatchNext(false, false)
	st.draw()
	st.role(6, 2, render.Match)
	st.role(8, 3, render.MatchAt)
	testkit.Same(t, "there is a further match", false, v.MatchNext(false, false))
	for range 2 {
		testkit.Same(t, "the way back is another", true, v.MatchNext(true, false))
	}
	testkit.Same(t, "the way back goes on", false, v.MatchNext(true, false))
	// A match in a folded block unfolds it.
	v.GoTo(30)
	rows = st.draw()
	testkit.Check(t, strings.Contains(rows[2], "漢oracle"), "the folded match is not shown: %q", rows)
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
		from, to := thumb()
		testkit.Check(t, from == c.want && to == c.want, "at %d the bar is at %d–%d, want %d", c.at, from, to, c.want)
	}
	h := newTestMouse(st)
	h.drag([2]int{19, 9}, [2]int{19, 5}, [2]int{30, 5})
	if got := st.draw()[0]; !strings.Contains(got, "line 500") || st.view.Selecting() {
		t.Errorf("the bar pulled to its middle shows %q", got)
	}
	h.drag([2]int{19, 5}, [2]int{19, 50})
	testkit.Same(t, "the bar pulled to the end does not follow it", true, st.view.Following())
	short := newStage(t, 20, 10, many(10))
	testkit.Excludes(t, "there is a bar, though all is in the window", short.text(), "│")
}

// TestMouseOutside: the view ignores what happens elsewhere.
func TestMouseOutside(t *testing.T) {
	st := newStage(t, 20, 5, many(50))
	st.draw()
	h := newTestMouse(st)
	for _, action := range []tview.MouseAction{tview.MouseMove, tview.MouseLeftDown, tview.MouseLeftClick,
		tview.MouseScrollUp, tview.MouseRightDown} {
		testkit.Check(t, !h.do(action, -1, 2) && !h.do(action, 20, 2) && !h.do(action, 3, 5),
			"action %d outside was taken", action)
	}
	testkit.Same(t, "a motion without a button was taken", false, h.do(tview.MouseMove, 2, 2) || h.captured)
	h.do(tview.MouseScrollUp, 2, 2)
	testkit.Includes(t, "the wheel", st.draw()[0], "line 42")
	h.do(tview.MouseScrollDown, 2, 2)
	testkit.Same(t, "the wheel at the end does not follow it", true, st.view.Following())
}

// FuzzMouseActions performs random actions: nothing panics, nothing is drawn outside.
func FuzzMouseActions(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 7))
	for seed := range uint64(25) {
		ops := make([]byte, 150)
		for i := range ops {
			ops[i] = byte(r.Uint32())
		}
		f.Add(seed, ops)
	}
	f.Add(uint64(3), []byte("the quick brown fox jumps over the lazy dog, and then some more of it"))
	f.Add(uint64(4), []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19"))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) { fiddle(t, seed, ops[:min(len(ops), 300)]) })
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
		v.SelectStart, v.SelectClear, func() { v.Toggle() }, func() { v.Copy() }, func() { v.Behind() },
		func() { v.MatchNext(r.IntN(2) == 0, r.IntN(2) == 0) }, func() { v.Extend(r.IntN(40) - 20) },
		func() { v.Up(r.IntN(100000)) }, func() { v.Down(r.IntN(100000)) }, func() { v.GoTo(r.IntN(200) - 50) },
		func() { v.Mark(r.IntN(100) - 10) }, func() { v.Match(listWords[r.IntN(len(listWords))][:1]) }, func() {
			v.bar = r.IntN(2) == 0
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

// model is a second implementation of a view, which lays out everything every time.
type model struct {
	src    *fakeSource
	w, h   int
	top    pos
	follow bool
	all    bool
	folds  map[int]bool
	laid   map[laidOut]Block
}

// laidOut identifies a block as it was laid out once: the same identity means the same block.
type laidOut struct {
	i, width int
	open     bool
	stamp    uint64
}

type modelRow struct {
	pos
	text string
}

func (m *model) blocks() []Block {
	width := max(m.w-2, 1)
	var blocks []Block
	for i := range m.src.blocks {
		open, ok := m.folds[i]
		key := laidOut{i, width, ok && open || !ok && m.all, m.src.blocks[i].stamp}
		if _, ok := m.laid[key]; !ok {
			m.laid[key] = m.src.blocks[i].block(width, key.open)
		}
		blocks = append(blocks, m.laid[key])
	}
	return append(blocks, m.src.Tail(width)...)
}

// rows returns all rows, one text each.
func (m *model) rows() (rows []modelRow) {
	blocks := m.blocks()
	width := max(m.w-2, 1)
	above := -1
	for i, b := range blocks {
		last := i+1 == len(blocks) || blocks[i+1].Indent < b.Indent
		deep := min(b.Indent, width/6)
		if above >= 0 && len(b.Head)+len(blocks[above].Head) > 0 {
			rows = append(rows,
				modelRow{pos{i, -1}, "  " + strings.Repeat("│ ", min(deep, blocks[above].Indent, width/6))})
		}
		above = i
		lines := b.Lines
		if len(b.Head) > 0 {
			lines = append([]render.Line{HeadLine(b.Head, max(width-2*deep, 1), "…")}, lines...)
		}
		for row, line := range lines {
			text := "▌ "
			if row == 0 && b.Foldable {
				text = map[bool]string{true: "▾ ", false: "▸ "}[b.Open]
			}
			if deep > 0 {
				mark := map[bool]string{true: "├ ", false: "│ "}[row == 0]
				if last {
					mark = map[bool]string{true: "└ ", false: "  "}[row == 0]
				}
				text += strings.Repeat("│ ", deep-1) + mark
			}
			rows = append(rows, modelRow{pos{i, row}, text + line.Text()})
		}
	}
	return rows
}

// at returns the index of the window's first row.
func (m *model) at(rows []modelRow) int {
	if i := slices.IndexFunc(rows, func(r modelRow) bool { return r.pos == m.top }); i >= 0 {
		return i
	}
	// The last row of the block at the top, or the first of the next.
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].block == m.top.block {
			if m.top.row < rows[i].row {
				continue
			}
			return i
		}
	}
	for i, r := range rows {
		if r.block >= m.top.block {
			for rows[i].row < 0 {
				i++
			}
			return i
		}
	}
	return max(len(rows)-1, 0)
}

func (m *model) set(rows []modelRow, i int) {
	m.top = pos{}
	if len(rows) > 0 {
		m.top = rows[i].pos
	}
}

// sync makes the window begin at an existing row.
func (m *model) sync() {
	rows := m.rows()
	m.set(rows, m.at(rows))
}

func (m *model) up(n int) {
	rows := m.rows()
	if i := m.at(rows); i > 0 && n > 0 {
		m.follow = false
		m.set(rows, max(i-n, 0))
	}
}

func (m *model) down(n int) {
	if m.follow || n <= 0 {
		return
	}
	rows := m.rows()
	i := m.at(rows) + n
	if i+m.h >= len(rows) {
		m.bottom()
		return
	}
	m.set(rows, i)
}

func (m *model) bottom() {
	rows := m.rows()
	m.follow = true
	m.set(rows, max(len(rows)-m.h, 0))
}

func (m *model) goTo(i int) {
	m.follow = false
	rows := m.rows()
	m.top = pos{i, 0}
	m.set(rows, m.at(rows))
}

func (m *model) toggle(i int) {
	blocks := m.blocks()
	if !blocks[i].Foldable {
		return
	}
	followed := m.follow
	m.follow = false
	m.folds[i] = !blocks[i].Open
	if blocks[i].Open && m.top.block == i {
		m.top.row = min(m.top.row, 0)
	}
	m.refold(followed)
}

func (m *model) refold(followed bool) {
	rows := m.rows()
	at := m.at(rows)
	m.follow = followed && at+m.h >= len(rows)
	m.set(rows, max(min(at, len(rows)-m.h), 0))
}

// draw returns the lines in the window.
func (m *model) draw() []string {
	rows := m.rows()
	at := m.at(rows)
	if m.follow {
		at = len(rows)
	}
	at = max(min(at, len(rows)-m.h), 0)
	m.set(rows, at)
	var shown []string
	for y := range m.h {
		text := ""
		if at+y < len(rows) {
			text = rows[at+y].text
		}
		shown = append(shown, text)
	}
	return shown
}

// play performs the same random steps on the view and on the model.
func play(t *testing.T, r *rand.Rand, steps int) {
	src := random(r, r.IntN(60))
	m := &model{src: src, w: 2 + r.IntN(70), h: 1 + r.IntN(30), follow: true, folds: map[int]bool{},
		laid: map[laidOut]Block{}}
	st := newStage(t, m.w, m.h, src)
	v := st.view
	v.bar = false
	var did []string
	log := func(format string, args ...any) { did = append(did, fmt.Sprintf(format, args...)) }
	check := func() {
		t.Helper()
		got, want := st.draw(), m.draw()
		for i := range want {
			// Canvas and model cut at the same column; a character that is cut in two becomes a blank.
			head, n := render.Clip(want[i], m.w)
			want[i] = head + strings.Repeat(" ", m.w-n)
		}
		diff := cmp.Diff(want, got)
		testkit.Need(t, diff == "", "%dx%d after %v\n-model +view:\n%s", m.w, m.h, did, diff)
		testkit.Need(t, v.Following() == m.follow, "after %v: following %v, want %v", did, v.Following(), m.follow)
	}
	check()
	for range steps {
		n := r.IntN(12)
		switch op := r.IntN(17); op {
		case 0:
			log("up %d", n)
			v.Up(n)
			m.up(n)
		case 1:
			log("down %d", n)
			v.Down(n)
			m.down(n)
		case 2:
			log("page up")
			v.PageUp()
			m.up(max(m.h-1, 1))
		case 3:
			log("page down")
			v.PageDown()
			m.down(max(m.h-1, 1))
		case 4:
			log("half up, half down")
			v.HalfUp()
			m.up(max(m.h/2, 1))
			v.HalfDown()
			m.down(max(m.h/2, 1))
		case 5:
			log("top")
			v.Top()
			if len(src.blocks)+len(src.tail) > 0 {
				m.goTo(0)
			}
		case 6:
			log("bottom")
			v.Bottom()
			m.bottom()
		case 7:
			if total := len(src.blocks) + len(src.tail); total > 0 {
				n = r.IntN(total)
				log("go to %d", n)
				v.GoTo(n)
				m.goTo(n)
			}
		case 8, 9:
			log("add %d", n)
			for range n {
				src.blocks = append(src.blocks, randomBlock(r, len(src.blocks)))
			}
		case 10:
			if len(src.blocks) > 0 {
				n = r.IntN(len(src.blocks))
				log("change %d", n)
				src.blocks[n] = randomBlock(r, n)
			}
		case 11:
			if len(src.blocks) > 0 {
				n = r.IntN(len(src.blocks))
				log("toggle %d", n)
				m.sync()
				v.update()
				v.toggle(n)
				m.toggle(n)
			}
		case 12:
			log("toggle all")
			v.ToggleAll()
			m.sync()
			m.all = !m.all
			clear(m.folds)
			followed := m.follow
			m.follow = false
			m.refold(followed)
		case 13:
			log("tail of %d", n%4)
			src.tail = nil
			for range n % 4 {
				src.tail = append(src.tail, randomBlock(r, len(src.blocks)))
			}
		case 14:
			// The view alone decides the place at a new size (see TestResizeKeepsThePlace); afterwards the
			// model continues from there.
			log("resize")
			m.w, m.h = 2+r.IntN(70), 1+r.IntN(30)
			st.resize(m.w, m.h)
			st.draw()
			m.top = v.top
		default:
			check()
		}
	}
	check()
}

func FuzzAgainstModel(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint8(60))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) { play(t, rand.New(rand.NewPCG(seed, 2)), int(steps)) })
}
