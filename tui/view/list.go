// Package view has what the screens of package tui are made of: the rows and lines into which events, states,
// files and time are projected, the primitives that draw them, slash commands, and the playback of a stored
// run.
package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// List is the common kind of all lists: columns with heads, rows that the person sorts and filters, and a preview
// of the current row: beside the list if there is room, otherwise below it.
type List struct {
	page
	Title   string // empty: the list is in the frame of another one, and shows its filter itself
	Note    render.Line
	Empty   string // replaces an empty list
	Warning string // above the rows
	Columns []ListColumn
	// Preview lays the current row out for a width; nil: there is no preview.
	Preview func(row ListRow, width int) []render.Line
	Below   int  // how many rows a preview takes, always below the list; 0: beside it, or half of them
	Typing  bool // letters go to the filter

	rows    []ListRow
	order   []int // indices of the rows that the filter finds, as they are sorted
	lines   []int // for each line an index into order; -1-i: the head of the group of the row i of order
	widths  []int // natural ones
	filter  string
	sorted  int // the number of the column by which the rows are sorted, from 1; 0: as they were given
	at      int // index into order
	view    scroller
	preview scroller
	top     int // screen row of the first visible line
}

// ListColumn is a column. If there is too little room, columns are dropped from the last one on, but not the first
// one, and not the wide one, which takes the room that is left.
type ListColumn struct {
	Head  string
	Wide  bool
	Right bool // its cells are at the right edge
	Tail  bool // the end of a cell matters, as of a path
	Most  int  // columns of the screen; 0: no limit
	Falls bool // sorted by this column, the greatest is first
}

// ListRow is a row. The first cell of a list in a frame shows where the filter's letters are.
type ListRow struct {
	Key   string // identifies it
	Group string // a head above it, unless the rows are sorted
	Cells []render.Line
	Sort  []string // by which it is sorted in each column; missing: the text of the cell
	Find  string   // text that the filter searches; empty: the first cell, by its letters
	Value any      // for the owner
}

// bounds of a filter, and of what is compared with it, in runes.
const (
	queryRunes = 64
	rowRunes   = 512
)

// NewList returns an empty list.
func NewList(look *render.Look) *List { return &List{page: newPage(look)} }

// Set replaces the rows. The current row stays current, unless it is gone.
func (l *List) Set(rows []ListRow) {
	key := ""
	if r, ok := l.Chosen(); ok {
		key = r.Key
	}
	l.rows = rows
	l.arrange(key)
}

// Len returns how many rows the filter finds, and how many there are.
func (l *List) Len() (found, all int) { return len(l.order), len(l.rows) }

// Filter returns the filter.
func (l *List) Filter() string { return l.filter }

// SetFilter shows the rows that match.
func (l *List) SetFilter(filter string) {
	l.filter = sanitize.Line(filter, queryRunes)
	l.arrange("")
	l.view.Top()
}

// Sort sorts by the next column, and after the last one shows the rows as they were given.
func (l *List) Sort() string {
	r, _ := l.Chosen()
	l.sorted = (l.sorted + 1) % (len(l.Columns) + 1)
	l.arrange(r.Key)
	if l.sorted == 0 {
		return "In their own order."
	}
	return "Sorted by " + strings.ToLower(cmp.Or(l.Columns[l.sorted-1].Head, "mark")) + "."
}

// Chosen returns the current row.
func (l *List) Chosen() (ListRow, bool) {
	if l.at >= len(l.order) {
		return ListRow{}, false
	}
	return l.rows[l.order[l.at]], true
}

// Choose makes the row with a key the current one, and reports whether it exists.
func (l *List) Choose(key string) bool {
	i := slices.IndexFunc(l.order, func(i int) bool { return l.rows[i].Key == key })
	if i >= 0 {
		l.move(i - l.at)
	}
	return i >= 0
}

func (l *List) move(by int) {
	if to := max(min(l.at+by, len(l.order)-1), 0); to != l.at {
		l.at = to
		l.preview.Top()
	}
}

// Up and Down move the choice, as do the others.
func (l *List) Up(n int)   { l.move(-n) }
func (l *List) Down(n int) { l.move(n) }
func (l *List) PageUp()    { l.move(-max(l.view.view-1, 1)) }
func (l *List) PageDown()  { l.move(max(l.view.view-1, 1)) }
func (l *List) Top()       { l.move(-len(l.order)); l.view.Top() }
func (l *List) Bottom()    { l.move(len(l.order)) }

// ReadOn scrolls the preview, and at its end begins it again.
func (l *List) ReadOn() {
	if l.preview.below() == 0 {
		l.preview.Top()
		return
	}
	l.preview.PageDown()
}

// At chooses the row that is drawn at a place of the screen, and reports whether there is one.
func (l *List) At(x, y int) bool {
	i := l.view.top + y - l.top
	if !l.InRect(x, y) || y < l.top || i >= min(l.view.top+l.view.view, len(l.lines)) || l.lines[i] < 0 {
		return false
	}
	l.move(l.lines[i] - l.at)
	return true
}

// Type handles a key while the filter is being written.
func (l *List) Type(e *tcell.EventKey) {
	switch keys.Name(e) {
	case "Up", "Ctrl+P", "Shift+Tab":
		l.Up(1)
	case "Down", "Ctrl+N", "Tab", "Ctrl+J":
		l.Down(1)
	case "PgUp", "Ctrl+B":
		l.PageUp()
	case "PgDn", "Ctrl+F":
		l.PageDown()
	case "Home":
		l.Top()
	case "End":
		l.Bottom()
	default:
		if filter := LineAfter(l.filter, e); filter != l.filter {
			l.SetFilter(filter)
		}
	}
}

// LineAfter returns a line of a search after a key was pressed while it is written.
func LineAfter(line string, e *tcell.EventKey) string {
	switch keys.Name(e) {
	case "Backspace", "Alt+Backspace":
		g, end := uniseg.NewGraphemes(line), 0
		for g.Next() {
			end, _ = g.Positions()
		}
		return line[:end]
	case "Ctrl+U":
		return ""
	}
	if e.Key() == tcell.KeyRune && e.Modifiers()&^tcell.ModShift == 0 {
		return sanitize.Line(line+string(e.Rune()), 200)
	}
	return line
}

// arrange filters and sorts the rows, and makes the row with a key the current one.
func (l *List) arrange(key string) {
	l.order, l.lines = l.order[:0], l.lines[:0]
	words := strings.Fields(strings.ToLower(l.filter))
	letters := len(l.rows) > 0 && l.rows[0].Find == ""
	if letters {
		l.order = rankEditor(l.filter, len(l.rows), func(i int) string { return l.rows[i].Cells[0].Text() })
	}
	for i := range l.rows {
		missing := func(word string) bool { return !strings.Contains(strings.ToLower(l.rows[i].Find), word) }
		if !letters && !slices.ContainsFunc(words, missing) {
			l.order = append(l.order, i)
		}
	}
	if n := l.sorted - 1; n >= 0 {
		slices.SortStableFunc(l.order, func(a, b int) int {
			if l.Columns[n].Falls {
				a, b = b, a
			}
			return strings.Compare(l.rows[a].sortsBy(n), l.rows[b].sortsBy(n))
		})
	}
	group := ""
	for i, k := range l.order {
		if g := l.rows[k].Group; l.sorted == 0 && g != group {
			group = g
			l.lines = append(l.lines, -1-i)
		}
		l.lines = append(l.lines, i)
	}
	l.widths = make([]int, len(l.Columns))
	for n, c := range l.Columns {
		for _, r := range l.rows {
			l.widths[n] = max(l.widths[n], r.Cells[n].Width())
		}
		if l.widths[n] > 0 { // otherwise there is nothing to show
			l.widths[n] = min(max(l.widths[n], render.Width(c.Head)), cmp.Or(c.Most, math.MaxInt))
		}
	}
	at := slices.IndexFunc(l.order, func(i int) bool { return l.rows[i].Key == key })
	if at < 0 {
		l.preview.Top()
		if key != "" { // it is gone: the next one is at its place
			at = min(l.at, len(l.order)-1)
		}
	}
	l.at = max(at, 0)
}

func (r ListRow) sortsBy(n int) string {
	if n < len(r.Sort) {
		return r.Sort[n]
	}
	return r.Cells[n].Text()
}

// Draw implements tview.Primitive.
func (l *List) Draw(screen tcell.Screen) {
	c := l.canvas(screen)
	body := c
	if l.Title != "" {
		body = header(column(c, 220), l.Title, l.Note)
	} else if w, h := c.Size(); h > 1 {
		l.drawFilter(c.Sub(0, 0, w, 1))
		body = c.Sub(0, 1, w, h-1)
	}
	w, h := body.Size()
	if w == 0 || h == 0 {
		return
	}
	if warning := strings.TrimSpace(l.Warning); warning != "" {
		y := body.Lines(0, render.WrapText(render.Warn, warning, w)) + 1
		body = body.Sub(0, y, w, max(h-y, 0))
		w, h = body.Size()
	}
	if len(l.order) == 0 {
		text := l.Empty
		if len(l.rows) > 0 {
			text = "Nothing matches."
		}
		body.Lines(0, render.WrapText(render.Dim, text, w))
		l.view.fit(0, 0)
		return
	}
	const beside = 90 // columns
	switch row, _ := l.Chosen(); {
	case l.Preview == nil || h < 12 && w < beside:
	case w >= beside && l.Below == 0:
		left := max(w*11/20, w-render.Prose)
		for y := range h {
			body.Text(left, y, l.look.Glyphs.Vertical, render.Frame)
		}
		l.drawPreview(body.Sub(left+2, 0, w-left-2, h), row)
		body = body.Sub(0, 0, left-1, h)
	default:
		above := max(h/2, 4)
		if l.Below > 0 {
			above = max(above, h-1-l.Below)
		}
		above = min(len(l.lines)+1, above)
		body.Rule(above, render.Frame)
		l.drawPreview(body.Sub(0, above+1, w, h-above-1), row)
		body = body.Sub(0, 0, w, above)
	}
	l.drawRows(body)
}

func (l *List) drawPreview(c render.Canvas, row ListRow) {
	w, h := c.Size()
	lines := l.Preview(row, max(w-1, 1))
	l.preview.fit(len(lines), h)
	c.Lines(0, lines[l.preview.top:min(l.preview.top+h, len(lines))])
	l.preview.marks(c)
}

// drawRows draws the heads of the columns, and the rows around the current one.
func (l *List) drawRows(c render.Canvas) {
	w, h := c.Size()
	widths := l.fit(w - 3)
	if h >= 4 && l.Title != "" {
		var head render.Line
		for n, column := range l.Columns {
			text := column.Head
			if n == l.sorted-1 {
				text = l.look.Glyphs.More + text
			}
			head = l.cell(head, n, widths[n], render.Of(render.Dim, text))
		}
		c.Line(2, 0, head)
		c = c.Sub(0, 1, w, h-1)
		h--
	}
	_, l.top = c.Origin()
	at := slices.Index(l.lines, l.at)
	l.view.fit(len(l.lines), h)
	l.view.top = max(min(l.view.top, at), at-h+1, 0)
	if at > 0 && l.view.top == at && l.lines[at-1] < 0 { // the head of its group, too
		l.view.top--
	}
	for y := range min(h, len(l.lines)-l.view.top) {
		i := l.lines[l.view.top+y]
		if i < 0 {
			c.Text(0, y, l.rows[l.order[-1-i]].Group, render.Heading)
			continue
		}
		row := l.rows[l.order[i]]
		var line render.Line
		for n := range l.Columns {
			cell := row.Cells[n]
			if n == 0 && row.Find == "" {
				_, places, _ := match(l.filter, cell.Text())
				cell = marked(cell.Text(), places, cell[0].Role)
			}
			line = l.cell(line, n, widths[n], cell)
		}
		c.Line(2, y, line)
		if i == l.at {
			c.Text(0, y, l.look.Glyphs.Chosen, render.Active)
			c.Restyle(0, y, w-1, render.Selection)
		}
	}
	l.view.marks(c)
}

// fit returns the widths of the columns for a width, 0 for those for which there is no room.
func (l *List) fit(w int) []int {
	widths := slices.Clone(l.widths)
	wide := max(slices.IndexFunc(l.Columns, func(c ListColumn) bool { return c.Wide }), 0)
	left := func() int {
		n := w
		for i, width := range widths {
			if i != wide && width > 0 {
				n -= width + 2
			}
		}
		return n
	}
	for n := len(widths) - 1; n > 0; n-- {
		lacks := min(l.widths[wide], 24) - left()
		switch {
		case n == wide || lacks <= 0:
		case widths[n]-lacks >= 12:
			widths[n] -= lacks
		default:
			widths[n] = 0
		}
	}
	if wide > 0 {
		widths[0] = min(widths[0], w/2)
	}
	widths[wide] = max(left(), 0)
	return widths
}

// cell appends a cell to a line, in exactly so many columns.
func (l *List) cell(line render.Line, n, width int, cell render.Line) render.Line {
	if width == 0 {
		return line
	}
	e := l.look.Glyphs.Ellipsis
	if text := cell.Text(); l.Columns[n].Tail && render.Width(text) > width {
		cell = render.Of(cell[0].Role, shortenLeft(text, width, e))
	}
	cell = cell.Shorten(width, e)
	gap := render.Span{Text: spaces(width - cell.Width()), Role: render.Base}
	if l.Columns[n].Right {
		line = append(append(line, gap), cell...)
	} else {
		line = append(append(line, cell...), gap)
	}
	return append(line, render.Span{Text: "  ", Role: render.Base})
}

func (l *List) drawFilter(c render.Canvas) {
	w, _ := c.Size()
	count := fmt.Sprintf("%d of %d", len(l.order), len(l.rows))
	if w > 30 {
		c.Right(0, render.Of(render.Dim, count))
		w -= len(count) + 1
		c = c.Sub(0, 0, w, 1)
	}
	x := c.Text(0, 0, "/ ", render.Key)
	x = c.Text(x, 0, shortenLeft(l.filter, max(w-x-1, 0), l.look.Glyphs.Ellipsis), render.Input)
	c.Cursor(min(x, w-1), 0)
}

// Plain returns a text of any origin as a cell of a list shows it.
func Plain(text string) string { return sanitize.Line(text, rowRunes) }
