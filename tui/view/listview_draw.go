package view

// This part of the package shows a long list of blocks in a window: a conversation, what an agent does, the
// logbook. The blocks come from a [BlockSource] and are laid out only when they come near the window, so that
// a million of them cost as much as a screenful.
//
// A place is a block and a row of it, never a row of the whole: the height of the whole is unknown and not
// needed. The [ListView] follows the end until the reader moves elsewhere. From then on nothing that is added,
// and no change of height, moves the row at the top; after a change of width the view shows the text that
// was there, and after a change back the very same row.
//
// Columns from the left: the gutter, in the speaker's role; a blank; tree marks, two columns a level; the
// text; at the right edge the bar. The text is drawn on a canvas of its own, so that none of it reaches the
// gutter.
//
// Everything belongs to the goroutine that draws. Nothing here blocks, waits or starts a goroutine; the
// methods of a Source are called only on that goroutine.

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// draw fills the canvas. Each cell is written once, except those that are highlighted.
func (v *ListView) draw(c render.Canvas) {
	v.shown = v.shown[:0]
	p, ok := v.top, v.total() > 0 && v.rows(v.top.block) > 0
	if !ok && v.total() > 0 {
		// The top is in a run of blocks without rows.
		if i, found := v.below(p.block); found {
			p, ok = pos{i, 0}, true
		}
	}
	_, h := c.Size()
	for y := range min(v.high, h) {
		if !ok {
			blank(c, 0, y)
			continue
		}
		v.shown = append(v.shown, p)
		v.drawRow(c, y, p)
		var missing int
		p, missing = v.down(p, 1)
		ok = missing == 0 && v.rows(p.block) > 0
	}
	v.note()
	v.drawBar(c)
}

// note records which blocks the reader has seen.
func (w *listWindow) note() {
	if w.follow {
		w.seen = w.n
		return
	}
	if len(w.shown) == 0 {
		return
	}
	last := w.shown[len(w.shown)-1]
	if last.row == w.rows(last.block)-1 {
		last.block++
	}
	w.seen = max(w.seen, min(last.block, w.n))
}

func (v *ListView) drawRow(c render.Canvas, y int, p pos) {
	b := v.block(p.block)
	if p.row < 0 {
		x := c.Text(0, y, strings.Repeat(" ", gutterWidth), render.Base)
		if i, ok := v.above(p.block); ok {
			deep := min(levels(v.width, v.block(i).Indent), levels(v.width, b.Indent))
			for range deep {
				x = c.Text(x, y, c.Look.Glyphs.Vertical+" ", render.Dim)
			}
		}
		blank(c, x, y)
		return
	}
	v.drawGutter(c.Sub(0, y, 1, 1), p, b)
	c.Text(1, y, " ", render.Base)
	x := v.drawTree(c, gutterWidth, y, p, b)
	textWidth := v.textWidth(b)
	line := v.text(p)
	text := c.Sub(x, y, textWidth, 1)
	end := text.Line(0, 0, line)
	w, _ := text.Size()
	blank(c, x+min(end, w), y)
	v.highlight(text, p, line)
}

// drawGutter draws the mark at the left: the role of the block, its folding, and the cursor.
func (v *ListView) drawGutter(c render.Canvas, p pos, b *Block) {
	g, role := c.Look.Glyphs, b.Gutter
	glyph := g.Gutter
	if p.block == v.Marked() {
		glyph = g.GutterMarked
	}
	if p.row == 0 && b.Foldable {
		if glyph = g.Folded; b.Open {
			glyph = g.Unfolded
		}
		if p.block == v.Marked() {
			role = render.Selection
		}
	}
	c.Text(0, 0, " ", render.Base)
	c.Text(0, 0, glyph, role)
}

// drawTree draws the marks of the levels above a block, and returns the column where its text begins.
func (v *ListView) drawTree(c render.Canvas, x, y int, p pos, b *Block) int {
	g := c.Look.Glyphs
	deep := levels(v.width, b.Indent)
	for level := 1; level <= deep; level++ {
		mark := g.Vertical
		if level == deep {
			last := v.lastLeaf(p.block, b.Indent)
			switch {
			case p.row == 0 && last:
				mark = g.LastLeaf
			case p.row == 0:
				mark = g.Branch
			case last:
				mark = " "
			}
		}
		x = c.Text(x, y, mark+" ", render.Dim)
	}
	return x
}

// lastLeaf reports whether no block of the same level follows directly.
func (l *layout) lastLeaf(i, indent int) bool {
	for j := i + 1; j < min(l.total(), i+neighbours); j++ {
		if b := l.block(j); b.rows() > 0 {
			return b.Indent < indent
		}
	}
	return true
}

// textWidth returns how many columns the text of a block has.
func (l *layout) textWidth(b *Block) int { return max(l.width-Inset(l.width, b.Indent), 1) }

// text returns the text of a row, as drawn.
func (l *layout) text(p pos) render.Line {
	b := l.block(p.block)
	switch {
	case p.row < 0 || p.row >= b.rows():
		return nil
	case p.row < b.head():
		return headLine(b.Head, l.textWidth(b), l.look.Glyphs.Ellipsis)
	}
	return b.line(p.row)
}

// headLine fits a head into so many columns, with its last span at the right edge. If both do not fit, the
// right one is omitted rather than half of the left one.
func headLine(head render.Line, columns int, ellipsis string) render.Line {
	if len(head) < 2 {
		return head.Shorten(columns, ellipsis)
	}
	left, right := head[:len(head)-1], head[len(head)-1]
	right.Text = strings.TrimSpace(right.Text)
	have, need := left.Width(), render.Width(right.Text)
	if free := columns - need - 1; need > 0 && free >= (have+1)/2 && free > 0 {
		line := append(render.Line(nil), left.Shorten(free, ellipsis)...)
		gap := max(columns-need-line.Width(), 1)
		return append(line, render.Span{Text: strings.Repeat(" ", gap), Role: render.Base}, right)
	}
	return left.Shorten(columns, ellipsis)
}

// highlight gives matches and the selection their roles.
func (v *ListView) highlight(text render.Canvas, p pos, line render.Line) {
	for _, m := range v.search.matches(line) {
		role := render.Match
		if v.search.at == (listSpot{p, m.from}) {
			role = render.MatchAt
		}
		text.Restyle(m.from, 0, m.to-m.from, role)
	}
	if from, to := v.selected(p, line); from < to {
		text.Restyle(from, 0, to-from, render.Selection)
	}
}

// selected returns the highlighted part of a row: the part that Copy returns.
func (v *ListView) selected(p pos, line render.Line) (from, to int) {
	from, to = v.sel.columns(p)
	if from >= to || p.row < v.block(p.block).head() && v.sel.from.pos != v.sel.to.pos {
		return 0, 0
	}
	return snap(line, from, to)
}

// drawBar draws the position of the window in the whole, in blocks: the number of rows is unknown.
func (v *ListView) drawBar(c render.Canvas) {
	w, h := c.Size()
	if v.barWidth(w) == 0 || len(v.shown) == 0 {
		return
	}
	first, last := v.shown[0], v.shown[len(v.shown)-1]
	if at, _ := v.up(first, 1); at == first && v.isLast(last) {
		return
	}
	total := float64(v.total())
	from, to := v.share(first, 0)/total, v.share(last, 1)/total
	size := max(min(int(float64(h)*(to-from)+0.5), h-1), 1)
	y := 0
	switch {
	case v.isLast(last):
		y = h - size
	case from > 0:
		y = min(max(int(float64(h-size)*from/max(1-(to-from), 1e-9)+0.5), min(1, h-size-1)), h-size-1)
	}
	for i := range size {
		c.Text(w-1, max(y, 0)+i, c.Look.Glyphs.Vertical, render.Frame)
	}
}

// share returns a place as a position in the whole, in blocks.
func (l *layout) share(p pos, extra int) float64 {
	return float64(p.block) + float64(max(p.row, 0)+extra)/float64(max(l.rows(p.block), 1))
}

// blank fills a row from a column on.
func blank(c render.Canvas, x, y int) {
	w, _ := c.Size()
	c.Text(x, y, spaces(w-x), render.Base)
}
