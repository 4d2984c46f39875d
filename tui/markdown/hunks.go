package markdown

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
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
	before, after []render.Line // with the roles of their language, if it is known
}

// Compare compares two texts line by line. Each hunk has context unchanged lines around its changes.
func Compare(old, new, lang string, context int) *Comparison {
	c := &Comparison{a: sourceLines(old), b: sourceLines(new)}
	c.before, c.after = roles(lang, old, len(c.a)), roles(lang, new, len(c.b))
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
	return edit{op: same, a: e.a + from, b: e.b + from, n: n, text: e.text[from : from+n]}
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
func (c *Comparison) Unified(h Hunk, o Options) []render.Line {
	d := c.differ(o)
	d.hunk(c, h)
	return d.end()
}

func (c *Comparison) differ(o Options) differ {
	return differ{lay: o.layout(nil), before: c.before, after: c.after}
}

// hunk adds the lines of a hunk.
func (d *differ) hunk(c *Comparison, h Hunk) {
	for _, e := range h.edits {
		switch e.op {
		case removed:
			d.rows(render.DiffRemove, "- ", c.a, d.before, e.a, e.n)
		case added:
			d.rows(render.DiffAdd, "+ ", c.b, d.after, e.b, e.n)
		case same:
			for i := range e.n {
				d.context(e, i)
			}
		}
	}
}

// end adds the count of the omitted lines.
func (d *differ) end() []render.Line {
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
