package view

import (
	"maps"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// ListView is a window on a [BlockSource]. It handles no keys: the owner binds keys to its methods. It uses the Box
// only for the rectangle and the focus, and draws no border.
type ListView struct {
	*tview.Box
	listWindow
	onCopy func(string)
	cursor int // the block that is marked, or -1
	sel    selection
	search listSearch
	mouse  mouse
}

// NewListView returns a view that shows nothing before it has a source.
func NewListView(look *render.Look) *ListView {
	v := &ListView{Box: tview.NewBox()}
	v.look, v.bar = look, true
	return v
}

// SetSource shows another source, from its end.
func (v *ListView) SetSource(s BlockSource) {
	v.source, v.n, v.tail = s, 0, nil
	v.laid = map[int]*listLaid{}
	v.top, v.follow, v.home, v.seen = pos{}, true, nil, 0
	v.all, v.folds = false, map[int]bool{}
	v.cursor, v.sel, v.shown = -1, selection{}, nil
	v.search.at = none3
	v.mouse, v.resume = mouse{}, false
	v.width = 0
}

// OnCopy sets the function that gets the text selected with the mouse when the button is released.
func (v *ListView) OnCopy(f func(text string)) { v.onCopy = f }

// barWidth returns the width that stays free at the right edge, so that the text does not wrap again when
// the bar appears.
func (l *layout) barWidth(w int) int {
	switch {
	case !l.bar || w < 12:
		return 0
	case w < 24:
		return 1
	}
	return 2
}

// update queries the size of the source and of the window. The rest of the same call sees one consistent
// state.
func (v *ListView) update() {
	_, _, w, h := v.GetInnerRect()
	if w <= 0 || h <= 0 {
		// A window of size zero leaves everything unchanged.
		w, h = v.wide, v.high
		if w <= 0 || h <= 0 {
			w, h = 80, 24
		}
	}
	width := max(w-gutterWidth-v.barWidth(w), 1)
	first := v.width == 0
	resized := !first && (width != v.width || h != v.high)
	if resized && !v.follow {
		v.keep()
	}
	if width != v.width && !first {
		v.SelectClear()
		v.mouse.drag = false
	}
	if len(v.laid) > maxKept { // but the blocks in the window are used in each round
		maps.DeleteFunc(v.laid, func(_ int, l *listLaid) bool { return l.round+1 < v.round })
	}
	v.round++ // stamps are checked again
	n, tail := v.source.Len(), v.source.Tail(width)
	for i := range tail {
		tail[i].fill()
	}
	old, oldTail := v.n, v.tail
	v.n, v.tail, v.width, v.wide, v.high = n, tail, width, w, h
	if !first && len(oldTail) > 0 {
		v.remap(old, oldTail)
	}
	switch {
	case v.follow && (first || resized):
		v.top = v.end()
	case resized:
		if v.top = v.fit(v.top); v.home != nil {
			v.top = v.clamp(v.place(v.home))
			v.home.now = v.top
		}
	default:
		v.top = v.fit(v.top)
	}
}

// updateTop determines the top row to draw.
func (w *listWindow) updateTop() {
	if w.follow {
		w.top = w.end()
		return
	}
	w.top = w.clamp(w.top)
}

// Draw draws the window.
func (v *ListView) Draw(screen tcell.Screen) {
	x, y, w, h := v.GetInnerRect()
	if w <= 0 || h <= 0 {
		v.shown = v.shown[:0]
		return
	}
	v.update()
	v.updateTop()
	v.draw(render.On(screen, x, y, w, h, v.look))
}

// maxKept is how many laid out blocks are kept, besides those that the current call needs.
const maxKept = 256

// listLaid is a block that was laid out.
type listLaid struct {
	stamp uint64
	width int
	open  bool
	block Block
	round uint64 // when it was last used
}

// layout is the source, laid out for a width: blocks, their rows, and ways from one row to another. Its
// results are valid for the moment at which the view last queried the source.
type layout struct {
	look   *render.Look
	source BlockSource
	bar    bool              // a bar at the right edge shows the position
	laid   map[int]*listLaid // the blocks that were used last
	round  uint64            // incremented by each call that sees a new state of the source
	n      int               // blocks of the source
	tail   []Block           // live blocks
	width  int               // of a block
	high   int               // of the window

	all   bool         // all foldable blocks are open, except those in folds
	folds map[int]bool // blocks that were folded or unfolded individually
}

// total returns how many blocks there are, live ones included.
func (l *layout) total() int { return l.n + len(l.tail) }

// block returns a block for the current width. Those from n on are live.
func (l *layout) block(i int) *Block {
	if i >= l.n {
		return &l.tail[i-l.n]
	}
	b := l.laid[i]
	open := l.open(i)
	if b != nil && b.width == l.width && b.open == open {
		if b.round == l.round {
			return &b.block
		}
		if l.source.Stamp(i) == b.stamp {
			b.round = l.round
			return &b.block
		}
	}
	// Read the stamp first: a change in between is then noticed the next time.
	b = &listLaid{stamp: l.source.Stamp(i), width: l.width, open: open, round: l.round}
	b.block = l.source.Block(i, l.width, open)
	b.block.fill()
	l.laid[i] = b
	return &b.block
}

// open reports whether a block is unfolded.
func (l *layout) open(i int) bool {
	if open, ok := l.folds[i]; ok {
		return open
	}
	return l.all
}

func (l *layout) rows(i int) int { return l.block(i).rows() }

// gap returns how many blank rows are above a block.
func (l *layout) gap(i int) int {
	if i == 0 {
		return 0
	}
	return max(l.block(i-1).head(), l.block(i).head())
}

// pos is a row of a block. Row 0 is its first; the blank row above, if there is one, is row -1, so that the
// numbers of rows do not depend on it.
type pos struct{ block, row int }

func (p pos) before(q pos) bool {
	return p.block < q.block || p.block == q.block && p.row < q.row
}

// fit returns the existing row that is nearest to p.
func (l *layout) fit(p pos) pos {
	if l.total() == 0 || p.block < 0 {
		return pos{}
	}
	if p.block >= l.total() {
		return l.last()
	}
	return pos{p.block, max(min(p.row, l.rows(p.block)-1), -l.gap(p.block))}
}

func (l *layout) last() pos { return pos{l.total() - 1, l.rows(l.total()-1) - 1} }

// down returns the place n rows below p, or the last one, and how many rows were missing.
func (l *layout) down(p pos, n int) (pos, int) {
	if l.total() == 0 {
		return pos{}, n
	}
	for n > 0 {
		if step := min(n, l.rows(p.block)-1-p.row); step > 0 {
			p.row, n = p.row+step, n-step
			continue
		}
		if p.block+1 == l.total() {
			return p, n
		}
		p, n = pos{p.block + 1, -l.gap(p.block + 1)}, n-1
	}
	return p, 0
}

// up returns the place n rows above p, or the first one.
func (l *layout) up(p pos, n int) pos {
	if l.total() == 0 {
		return pos{}
	}
	for n > 0 {
		if step := min(n, p.row+l.gap(p.block)); step > 0 {
			p.row, n = p.row-step, n-step
			continue
		}
		if p.block == 0 {
			break
		}
		p, n = pos{p.block - 1, l.rows(p.block-1) - 1}, n-1
	}
	return p
}

// end returns the top of the window that shows the end.
func (l *layout) end() pos {
	if l.total() == 0 {
		return pos{}
	}
	return l.up(l.last(), l.high-1)
}

// ends reports whether the window from p on shows the last row.
func (l *layout) ends(p pos) bool {
	q, missing := l.down(p, l.high-1)
	return missing > 0 || l.isLast(q)
}

func (l *layout) isLast(p pos) bool {
	return l.total() == 0 || !p.before(l.last())
}

// clamp returns p, or a place above it from which the window is full.
func (l *layout) clamp(p pos) pos {
	p = l.fit(p)
	if _, missing := l.down(p, l.high-1); missing > 0 {
		return l.end()
	}
	return p
}

// Block is one statement or action, laid out for a width.
type Block struct {
	Gutter render.Role // the role of its speaker, or Alert where a human is needed
	// Head is a row of its own above the lines. If it has several spans, the last one is at the right edge
	// (a time). A blank row precedes blocks with a head; blocks without follow one another directly.
	Head  render.Line
	Lines []render.Line
	// Indent is the depth in a tree. Lines should not be wider than width less [Inset]; wider lines are
	// cut.
	Indent         int
	Foldable, Open bool
	// Key identifies a live block and the settled block that replaces it, so that the view stays with it
	// when it settles. Optional; a settled block needs one only if it was live.
	Key string
}

// BlockSource provides what is shown. Its blocks are numbered from 0. Blocks are only added at the end; a block
// may change, and then has another stamp.
type BlockSource interface {
	Len() int
	Stamp(i int) uint64
	// Block lays out one block. It is called again only for another width, folding or stamp, or if the
	// block was evicted in between.
	Block(i, width int, open bool) Block
	// Tail returns the blocks in progress after the last block; they may change all the time.
	Tail(width int) []Block
}

const (
	gutterWidth = 2 // the gutter and a blank
	insetWidth  = 2 // a level of the tree
)

// Inset returns how many of the given columns the marks of a tree take. Deep trees stop growing to the
// right before they leave no room for the text.
func Inset(width, indent int) int { return insetWidth * levels(width, indent) }

func levels(width, indent int) int { return max(min(indent, width/6), 0) }

// head returns how many rows of the block are its head.
func (b *Block) head() int {
	if len(b.Head) > 0 {
		return 1
	}
	return 0
}

// rows returns the block's height, without the blank row above.
func (b *Block) rows() int { return b.head() + len(b.Lines) }

// fill gives a block without rows one: so each block has a place.
func (b *Block) fill() {
	if b.rows() == 0 {
		b.Lines = []render.Line{nil}
	}
}

// line returns the text of a row below the head.
func (b *Block) line(row int) render.Line { return b.Lines[row-b.head()] }

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

// draw fills the canvas. Each cell is written once, except those that are highlighted.
func (v *ListView) draw(c render.Canvas) {
	v.shown = v.shown[:0]
	p, ok := v.top, v.total() > 0
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
		ok = missing == 0
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
		for range levels(v.width, min(v.block(p.block-1).Indent, b.Indent)) {
			x = c.Text(x, y, c.Look.Glyphs.Vertical+" ", render.Dim)
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
			// No block of the same level follows directly.
			last := p.block+1 == v.total() || v.block(p.block+1).Indent < b.Indent
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

// textWidth returns how many columns the text of a block has.
func (l *layout) textWidth(b *Block) int { return max(l.width-Inset(l.width, b.Indent), 1) }

// text returns the text of a row, as drawn.
func (l *layout) text(p pos) render.Line {
	b := l.block(p.block)
	switch {
	case p.row < 0 || p.row >= b.rows():
		return nil
	case p.row < b.head():
		return HeadLine(b.Head, l.textWidth(b), l.look.Glyphs.Ellipsis)
	}
	return b.line(p.row)
}

// HeadLine fits a head into so many columns, with its last span at the right edge. If both do not fit, the
// right one is omitted rather than half of the left one.
func HeadLine(head render.Line, columns int, ellipsis string) render.Line {
	if len(head) < 2 {
		return head.Shorten(columns, ellipsis)
	}
	left, right := head[:len(head)-1], head[len(head)-1]
	right.Text = strings.TrimSpace(right.Text)
	have, need := left.Width(), render.Width(right.Text)
	if free := columns - need - 1; need > 0 && free >= (have+1)/2 && free > 0 {
		return left.Shorten(free, ellipsis).Apart(render.Line{right}, columns)
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
	_, from, to = between(line, from, to)
	return from, to
}

// drawBar draws the position of the window in the whole, in blocks: the number of rows is unknown.
func (v *ListView) drawBar(c render.Canvas) {
	w, h := c.Size()
	if v.barWidth(w) == 0 || len(v.shown) == 0 {
		return
	}
	first, last := v.shown[0], v.shown[len(v.shown)-1]
	if v.up(first, 1) == first && v.isLast(last) {
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
	return float64(p.block) + float64(max(p.row, 0)+extra)/float64(l.rows(p.block))
}

// blank fills a row from a column on.
func blank(c render.Canvas, x, y int) {
	w, _ := c.Size()
	c.Text(x, y, spaces(w-x), render.Base)
}
