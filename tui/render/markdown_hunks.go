package render

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Hunk is a place where two texts differ, with some unchanged lines around it. Lines are counted from 0.
type Hunk struct {
	Before, BeforeLines int // of the old text
	After, AfterLines   int // of the new one
	// First is the first line of the new text that differs; if lines were only removed, the line after
	// them.
	First          int
	Added, Removed int // lines

	edits []edit
}

// String returns the hunk as in the head of a hunk of a unified diff: "-12,3 +12,5".
func (h Hunk) String() string {
	side := func(sign string, from, n int) string {
		if n > 0 {
			from++
		}
		return fmt.Sprintf("%s%d,%d", sign, from, n)
	}
	return side("-", h.Before, h.BeforeLines) + " " + side("+", h.After, h.AfterLines)
}

// Comparison lists the differences between two texts.
type Comparison struct {
	Hunks         []Hunk // in order; none: the texts are equal
	a, b          []string
	before, after []Line // with the roles of their language, if it is known
}

// Compare compares two texts line by line. Each hunk has context unchanged lines around its changes.
func Compare(old, new, lang string, context int) *Comparison {
	c := &Comparison{a: sourceLines(old), b: sourceLines(new)}
	c.before, c.after = hunkRoles(lang, old, len(c.a)), hunkRoles(lang, new, len(c.b))
	edits := compare(c.a, c.b)
	var h []edit
	for i, e := range edits {
		if e.op != same {
			h = append(h, e)
			continue
		}
		first, last := i == 0, i == len(edits)-1
		if !first && !last && e.n <= 2*context {
			h = append(h, e) // the changes around it form one place
			continue
		}
		around := min(context, e.n)
		if !first {
			if around > 0 {
				h = append(h, e.part(0, around))
			}
			c.Hunks = append(c.Hunks, newHunk(h))
			h = nil
		}
		if !last && around > 0 {
			h = append(h, e.part(e.n-around, around))
		}
	}
	if len(h) > 0 {
		c.Hunks = append(c.Hunks, newHunk(h))
	}
	return c
}

// part returns some of the lines of an unchanged edit.
func (e edit) part(from, n int) edit {
	return edit{op: same, a: e.a + from, b: e.b + from, n: n}
}

func newHunk(edits []edit) Hunk {
	h := Hunk{Before: edits[0].a, After: edits[0].b, First: -1, edits: edits}
	for _, e := range edits {
		if e.op != added {
			h.BeforeLines += e.n
		}
		if e.op != removed {
			h.AfterLines += e.n
		}
		switch e.op {
		case added:
			h.Added += e.n
		case removed:
			h.Removed += e.n
		case same:
			continue
		}
		if h.First < 0 {
			h.First = e.b
		}
	}
	return h
}

// Unified shows a hunk with the removed lines above the added ones. A long hunk is cut, and the rest is
// counted.
func (c *Comparison) Unified(h Hunk, o MarkdownOptions) []Line {
	d := differ{Comparison: c, lay: o.layout(nil)}
	d.hunk(h)
	return d.end()
}

// hunk adds the lines of a hunk.
func (d *differ) hunk(h Hunk) {
	for _, e := range h.edits {
		for i := range e.n {
			switch e.op {
			case removed:
				d.row(DiffRemove, "- ", changedLine(d.a, d.before, e.a+i, DiffRemove))
			case added:
				d.row(DiffAdd, "+ ", changedLine(d.b, d.after, e.b+i, DiffAdd))
			case same:
				d.context(e.b + i)
			}
		}
	}
}

// end adds the count of the omitted lines.
func (d *differ) end() []Line {
	d.note(d.left, "more")
	return d.out
}

// CleanLines calls clean for each line of a text. Each line stays one line, so that lines keep their
// numbers.
func CleanLines(text string, clean func(string) string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		body = strings.TrimRight(clean(strings.TrimRight(body, "\r")), "\n")
		b.WriteString(strings.ReplaceAll(body, "\n", " "))
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// operation is the kind of an edit.
type operation uint8

const (
	same operation = iota
	removed
	added
)

// edit is a run of n lines with the same operation, beginning at a in the old text or at b in the new one.
type edit struct {
	op      operation
	a, b, n int
}

// maxPairs is how many pairs of lines between two fixed ones are compared, to find the fewest edits.
const maxPairs = 1 << 20

// compare finds the edits that turn a into b. Lines that occur once in both texts, in the same order, are
// fixed points; between them it searches the fewest edits, unless that takes long.
func compare(a, b []string) []edit {
	c := comparer{a: a, b: b}
	i, j := 0, 0
	for _, p := range fixedPoints(a, b) {
		c.stretch(i, p[0], j, p[1])
		c.add(same, p[0], p[1], 1)
		i, j = p[0]+1, p[1]+1
	}
	c.stretch(i, len(a), j, len(b))
	return c.edits
}

// fixedPoints returns pairs of equal lines, ascending in both texts.
func fixedPoints(a, b []string) [][2]int {
	type place struct{ a, b, inA, inB int }
	places := make(map[string]*place, len(a))
	for i, s := range a {
		p := places[s]
		if p == nil {
			p = &place{}
			places[s] = p
		}
		p.a, p.inA = i, p.inA+1
	}
	for i, s := range b {
		if p := places[s]; p != nil {
			p.b, p.inB = i, p.inB+1
		}
	}
	var pairs [][2]int
	for i, s := range a {
		if p := places[s]; p.inA == 1 && p.inB == 1 {
			pairs = append(pairs, [2]int{i, p.b})
		}
	}
	return ascending(pairs)
}

// ascending returns the longest subsequence of pairs whose second numbers ascend.
func ascending(pairs [][2]int) [][2]int {
	if len(pairs) == 0 {
		return nil
	}
	var ends []int // ends[k]: the pair that ends the best run of length k+1
	before := make([]int, len(pairs))
	for i, p := range pairs {
		k := sort.Search(len(ends), func(k int) bool { return pairs[ends[k]][1] >= p[1] })
		before[i] = -1
		if k > 0 {
			before[i] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, i)
		} else {
			ends[k] = i
		}
	}
	out := make([][2]int, 0, len(ends))
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		out = append(out, pairs[i])
	}
	slices.Reverse(out)
	return out
}

// comparer collects edits.
type comparer struct {
	a, b  []string
	edits []edit
}

// add appends lines, to the previous edit if that has the same kind.
func (c *comparer) add(op operation, a, b, n int) {
	if n == 0 {
		return
	}
	if k := len(c.edits) - 1; k >= 0 && c.edits[k].op == op {
		c.edits[k].n += n
		return
	}
	c.edits = append(c.edits, edit{op, a, b, n})
}

// stretch compares the lines between two fixed points.
func (c *comparer) stretch(i, iEnd, j, jEnd int) {
	head := 0
	for i+head < iEnd && j+head < jEnd && c.a[i+head] == c.b[j+head] {
		head++
	}
	c.add(same, i, j, head)
	i, j = i+head, j+head
	tail := 0
	for iEnd-tail > i && jEnd-tail > j && c.a[iEnd-tail-1] == c.b[jEnd-tail-1] {
		tail++
	}
	iEnd, jEnd = iEnd-tail, jEnd-tail
	if !c.fewest(i, iEnd, j, jEnd) {
		c.add(removed, i, j, iEnd-i)
		c.add(added, iEnd, j, jEnd-j)
	}
	c.add(same, iEnd, jEnd, tail)
}

// fewest adds the fewest edits, if there are not too many lines to compare.
func (c *comparer) fewest(i, iEnd, j, jEnd int) bool {
	n, m := iEnd-i, jEnd-j
	if n == 0 || m == 0 || n*m > maxPairs {
		return false
	}
	common := make([]int32, (n+1)*(m+1)) // how many lines the texts from there on have in common
	at := func(x, y int) *int32 { return &common[x*(m+1)+y] }
	for x := n - 1; x >= 0; x-- {
		for y := m - 1; y >= 0; y-- {
			if c.a[i+x] == c.b[j+y] {
				*at(x, y) = *at(x+1, y+1) + 1
			} else {
				*at(x, y) = max(*at(x+1, y), *at(x, y+1))
			}
		}
	}
	x, y, fromX, fromY := 0, 0, 0, 0
	for x < n || y < m {
		switch {
		case x < n && y < m && c.a[i+x] == c.b[j+y]:
			c.add(removed, i+fromX, j+fromY, x-fromX)
			c.add(added, i+x, j+fromY, y-fromY)
			c.add(same, i+x, j+y, 1)
			x, y = x+1, y+1
			fromX, fromY = x, y
		case y == m || x < n && *at(x+1, y) >= *at(x, y+1):
			x++
		default:
			y++
		}
	}
	c.add(removed, i+fromX, j+fromY, n-fromX)
	c.add(added, i+n, j+fromY, m-fromY)
	return true
}

// maxDiffRows is how many lines of source a difference shows.
const maxDiffRows = 2000

// Diff shows what an edit removes and adds, with context unchanged lines around each change. It counts the
// lines that are not shown.
func Diff(old, new, lang string, o MarkdownOptions, context int) []Line {
	c := Compare(old, new, lang, max(context, 0))
	d := differ{Comparison: c, lay: o.layout(nil)}
	at := 0
	skip := func(to int) {
		if to == at+1 {
			d.context(at) // its count would take as much room
			return
		}
		d.note(to-at, "")
	}
	for _, h := range c.Hunks {
		skip(h.After)
		d.hunk(h)
		at = h.After + h.AfterLines
	}
	if len(c.Hunks) == 0 {
		return d.lay.fit(Wrap(Of(Dim, "(no line differs)"), d.lay.width))
	}
	if d.left == 0 {
		skip(len(c.b))
	}
	return d.end()
}

// sourceLines splits a text. A newline at its end does not begin another line.
func sourceLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// hunkRoles returns the text with the roles of its language.
func hunkRoles(lang, src string, n int) []Line {
	if n == 0 || find(lang) == nil {
		return nil
	}
	return Highlight(lang, src)[:n]
}

// differ lays out edits.
type differ struct {
	*Comparison
	lay         blockLayout
	out         []Line
	shown, left int // lines
}

// changedLine returns a line that is only in one of the texts. Its tokens keep the roles of their language;
// text without one gets the role of the change.
func changedLine(text []string, styled []Line, n int, role Role) Line {
	if n >= len(styled) {
		return Of(role, strings.TrimSuffix(text[n], "\r"))
	}
	line := slices.Clone(styled[n])
	for i := range line {
		if line[i].Role == Code {
			line[i].Role = role
		}
	}
	return line
}

// context shows an unchanged line, by its number in the new text.
func (d *differ) context(n int) {
	line := Of(Code, d.b[n])
	if n < len(d.after) {
		line = d.after[n]
	}
	d.row(Dim, "  ", line)
}

// row shows one line behind its sign.
func (d *differ) row(role Role, sign string, line Line) {
	if d.shown++; d.shown > maxDiffRows {
		d.left++
		return
	}
	l := d.lay
	if l.width < roomy {
		sign = sign[:1]
	}
	if l.width < 3 {
		sign = ""
	}
	l.width -= len(sign)
	rest := strings.Repeat(" ", max(len(sign)-1, 0)) + l.glyphs.Ellipsis
	if sign == "" {
		rest = ""
	}
	rows := prefixed(l.fit(Cut(line, l.width)), Of(role, sign), Of(Dim, rest))
	d.out = append(d.out, rows...)
}

// note reports how many lines are not shown, if there are any.
func (d *differ) note(n int, more string) {
	g := d.lay.glyphs
	if n <= 0 {
		return
	}
	text := fmt.Sprintf("%s %d lines", g.Ellipsis, n)
	if n == 1 {
		text = g.Ellipsis + " 1 line"
	}
	text = Shorten(strings.TrimSpace(text+" "+more), d.lay.width, g.Ellipsis)
	d.out = append(d.out, Of(DiffHunk, text))
}

// MinSideBySide is the minimum width for two texts beside each other.
const MinSideBySide = 100

// SideBySide shows a hunk with line numbers, the old text on the left and the new one on the right. A long hunk is cut,
// and the rest is counted.
func (c *Comparison) SideBySide(h Hunk, o MarkdownOptions) []Line {
	d := differ{Comparison: c, lay: o.layout(nil)}
	s := sides{differ: &d, digits: len(strconv.Itoa(max(len(c.a), len(c.b), 1)))}
	edits := h.edits
	for i := 0; i < len(edits); i++ {
		e := edits[i]
		if e.op == same {
			for n := range e.n {
				s.row(e.a+n, e.b+n, false)
			}
			continue
		}
		var deleted, inserted edit
		for ; i < len(edits) && edits[i].op != same; i++ { // removed and added lines at one place
			if edits[i].op == removed {
				deleted = edits[i]
			} else {
				inserted = edits[i]
			}
		}
		i--
		for n := range max(deleted.n, inserted.n) {
			s.row(pick(deleted, deleted.a, n), pick(inserted, inserted.b, n), true)
		}
	}
	return d.end()
}

// pick returns the number of a line of an edit, from 0; -1 if it does not exist.
func pick(e edit, first, n int) int {
	if n >= e.n {
		return -1
	}
	return first + n
}

// sides lays out two texts beside each other.
type sides struct {
	*differ
	digits int // of a line number
}

// row shows a line of each text; -1 stands for no line.
func (s *sides) row(a, b int, changed bool) {
	if s.shown++; s.shown > maxDiffRows {
		s.left++
		return
	}
	half := (s.lay.width - 1) / 2
	removed, added := Of(DiffRemove, "-"), Of(DiffAdd, "+")
	if !changed {
		removed, added = Of(Dim, " "), Of(Dim, " ")
	}
	left := s.half(s.a, s.before, a, half, removed)
	right := s.half(s.b, s.after, b, s.lay.width-1-half, added)
	if gap := half - left.Width(); gap > 0 {
		left = left.Append(Base, strings.Repeat(" ", gap))
	}
	line := append(left.Append(Frame, s.lay.glyphs.Vertical), right...)
	s.out = append(s.out, line)
}

// half lays out a line behind its number and its sign, in so many columns.
func (s *sides) half(text []string, styled []Line, n, columns int, sign Line) Line {
	if n < 0 {
		return nil
	}
	number := strconv.Itoa(n + 1)
	head := append(Of(Dim, strings.Repeat(" ", s.digits-len(number))+number), sign...)
	role := sign[0].Role
	if role == Dim {
		role = Code
	}
	line := changedLine(text, styled, n, role)
	free := max(columns-s.digits-1, 1)
	rows := Cut(line, free)
	switch {
	case len(rows) == 0:
		return head
	case len(rows) > 1:
		rows[0] = Cut(line, max(free-1, 1))[0].Append(Dim, s.lay.glyphs.Ellipsis)
	}
	return append(head, rows[0]...)
}
