package render

import (
	"fmt"
	"slices"
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

// unchanged is how many unchanged lines a hunk has around its changes.
const unchanged = 3

// Compare compares two texts line by line.
func Compare(old, new, lang string) *Comparison {
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
		if !first && !last && e.n <= 2*unchanged {
			h = append(h, e) // the changes around it form one place
			continue
		}
		around := min(unchanged, e.n)
		if !first {
			c.Hunks = append(c.Hunks, newHunk(append(h, e.part(0, around))))
			h = nil
		}
		if !last {
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

// maxEdits is how many edits are searched for, at most: the time and the room for that grow with their square.
const maxEdits = 4000

// compare finds the fewest edits that turn a into b. If there are too many, all between the equal lines at both ends is
// removed, and added.
func compare(a, b []string) (edits []edit) {
	add := func(op operation, a, b, n int) {
		if k := len(edits) - 1; k >= 0 && edits[k].op == op {
			edits[k].n += n
		} else if n > 0 {
			edits = append(edits, edit{op, a, b, n})
		}
	}
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-tail-1] == b[len(b)-tail-1] {
		tail++
	}
	add(same, 0, 0, head)
	i, j, aEnd, bEnd := head, head, len(a)-tail, len(b)-tail
	for _, p := range append(common(a[i:aEnd], b[j:bEnd]), [2]int{aEnd - head, bEnd - head}) {
		x, y := head+p[0], head+p[1]
		add(removed, i, j, x-i)
		add(added, x, j, y-j)
		if x < aEnd {
			add(same, x, y, 1)
		}
		i, j = x+1, y+1
	}
	add(same, aEnd, bEnd, tail)
	return edits
}

// common returns pairs of equal lines, ascending in both texts, as many as possible; none if there are too many others
// (Myers: An O(ND) difference algorithm, 1986).
func common(a, b []string) (pairs [][2]int) {
	most := min(len(a)+len(b), maxEdits)
	reach := make([]int32, 2*most+3) // on each diagonal, how many lines of a are reached with so many edits
	var before [][]int32             // the same with fewer edits
	for edits := range most + 1 {
		before = append(before, slices.Clone(reach[most+1-edits:most+2+edits]))
		for k := -edits; k <= edits; k += 2 {
			from := diagonal(before[edits], k, edits)
			i := reach[most+1+from] + int32(max(k-from, 0))
			for int(i) < len(a) && int(i)-k < len(b) && a[i] == b[int(i)-k] {
				i++
			}
			if reach[most+1+k] = i; int(i) == len(a) && int(i)-k == len(b) {
				return paired(before, len(a), len(b))
			}
		}
	}
	return nil
}

// diagonal returns the one from which the last of so many edits leads to diagonal k: that which is further.
func diagonal(reach []int32, k, edits int) int {
	if k == -edits || k < edits && reach[edits+k-1] < reach[edits+k+1] {
		return k + 1
	}
	return k - 1
}

// paired goes the way back.
func paired(before [][]int32, i, j int) (pairs [][2]int) {
	for edits := len(before) - 1; edits >= 0; edits-- {
		k, x, from := i-j, 0, 0
		if edits > 0 {
			from = diagonal(before[edits], k, edits)
			x = int(before[edits][edits+from])
		}
		for i > x+max(k-from, 0) {
			i, j = i-1, j-1
			pairs = append(pairs, [2]int{i, j})
		}
		i, j = x, x-from
	}
	slices.Reverse(pairs)
	return pairs
}

// maxDiffRows is how many lines of source a difference shows.
const maxDiffRows = 2000

// Diff shows what an edit removes and adds, with some unchanged lines around each change. It counts the lines that are
// not shown.
func Diff(old, new, lang string, o MarkdownOptions) []Line {
	c := Compare(old, new, lang)
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
