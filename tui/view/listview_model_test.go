package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/tui/render"
)

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
		if len(b.Head)+len(b.Lines) == 0 {
			continue
		}
		last := true
		for _, next := range blocks[i+1:] {
			if len(next.Head)+len(next.Lines) > 0 {
				last = next.Indent < b.Indent
				break
			}
		}
		deep := min(b.Indent, width/6)
		if above >= 0 && len(b.Head)+len(blocks[above].Head) > 0 {
			rows = append(rows,
				modelRow{pos{i, -1}, "  " + strings.Repeat("│ ", min(deep, blocks[above].Indent, width/6))})
		}
		above = i
		lines := b.Lines
		if len(b.Head) > 0 {
			lines = append([]render.Line{headLine(b.Head, max(width-2*deep, 1), "…")}, lines...)
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
	v.SetBar(false)
	var did []string
	log := func(format string, args ...any) { did = append(did, fmt.Sprintf(format, args...)) }
	check := func() {
		t.Helper()
		got, want := st.draw(), m.draw()
		for i := range want {
			// Canvas and model cut at the same column; a character that is cut in two becomes a blank.
			want[i] = fitted(want[i], m.w)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%dx%d after %v\n-model +view:\n%s", m.w, m.h, did, diff)
		}
		if v.Following() != m.follow {
			t.Fatalf("after %v: following %v, want %v", did, v.Following(), m.follow)
		}
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

// fitted returns a text as a canvas of so many columns shows it.
func fitted(text string, w int) string {
	head, n := render.Clip(text, w)
	return head + strings.Repeat(" ", w-n)
}

func TestAgainstModel(t *testing.T) {
	for seed := range uint64(100) {
		play(t, rand.New(rand.NewPCG(seed, 1)), 60)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzAgainstModel(f *testing.F) {
	f.Add(uint64(1), uint8(50))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint8) { play(t, rand.New(rand.NewPCG(seed, 2)), int(steps)) })
}
