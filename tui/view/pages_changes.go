package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// PageChange is a file that the run has changed.
type PageChange struct {
	Path, Old      string // where it is, and where a renamed file was
	Status         string // added, modified, deleted, renamed, retyped
	Added, Deleted int    // lines
	Binary         bool
	Known          []string  // ids of the agents that changed it
	Maybe          []string  // of agents that may have changed it
	Overlap        bool      // several running agents changed it
	At             time.Time // when it changed last; zero: unknown
}

// PageChanges is the list of the files that a run has changed, each with its agents.
type PageChanges struct {
	page
	pageList
	files []PageChange
	note  string // replaces an empty list
	now   time.Time
	top   int // screen row of the first visible row
	lines int // screen rows of a file
}

// NewChanges is a list of no files.
func NewChanges(look *render.Look) *PageChanges { return &PageChanges{page: newPage(look)} }

// Set replaces the files, which are ordered by path. The selected file stays selected. The note is shown if
// there are none.
func (p *PageChanges) Set(files []PageChange, note string, now time.Time) {
	chosen, had := p.Chosen()
	p.files, p.note, p.now = files, note, now
	p.set(len(files))
	for i, f := range files {
		if had && f.Path == chosen.Path {
			p.at = i
		}
	}
}

// Chosen returns the current file.
func (p *PageChanges) Chosen() (PageChange, bool) {
	if p.at >= len(p.files) {
		return PageChange{}, false
	}
	return p.files[p.at], true
}

// Choose selects the file with a path, and reports whether it exists.
func (p *PageChanges) Choose(path string) bool {
	i := slices.IndexFunc(p.files, func(f PageChange) bool { return f.Path == path })
	if i >= 0 {
		p.at = i
	}
	return i >= 0
}

// Step selects the next file, or the previous one.
func (p *PageChanges) Step(by int) (PageChange, bool) {
	p.move(by)
	return p.Chosen()
}

// At returns the file drawn at a place of the screen and selects it.
func (p *PageChanges) At(x, y int) (PageChange, bool) {
	if !p.InRect(x, y) || !p.hit(y, p.top, p.lines) {
		return PageChange{}, false
	}
	return p.Chosen()
}

// Draw implements tview.Primitive.
func (p *PageChanges) Draw(screen tcell.Screen) {
	c := column(p.canvas(screen), 160)
	p.lines = 0
	body := header(c, "CHANGES", p.total())
	w, h := body.Size()
	if len(p.files) == 0 {
		for i, line := range render.WrapText(render.Dim, p.note, w) {
			body.Line(0, i, line)
		}
		return
	}
	p.lines = 1
	if w < 72 && h >= 8 {
		p.lines = 2
	}
	_, p.top = body.Origin()
	p.fit(h / p.lines)
	for i := range p.scroller.view {
		n := p.scroller.top + i
		if n >= len(p.files) {
			break
		}
		p.row(body.Sub(0, i*p.lines, w, p.lines), n)
	}
	p.scroller.marks(body)
}

// total counts files and lines.
func (p *PageChanges) total() render.Line {
	added, deleted := 0, 0
	for _, f := range p.files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	l := render.Of(render.Dim, words.Count(len(p.files), "file")+"  ")
	return l.Append(render.DiffAdd, fmt.Sprintf("+%d", added)).Append(render.Base, " ").
		Append(render.DiffRemove, fmt.Sprintf("-%d", deleted))
}

// statusMarks are the letters for the changes of a file.
var statusMarks = map[string]struct {
	letter string
	role   render.Role
}{
	"added": {"A", render.DiffAdd}, "modified": {"M", render.Base}, "deleted": {"D", render.DiffRemove},
	"renamed": {"R", render.Active}, "retyped": {"T", render.Warn},
}

// lineCounts are the columns that the counts of lines take.
const lineCounts = 14

// whenColumns are the columns that the time of a change takes.
const whenColumns = 16

// row draws a file in one row, or in two: then the second one names the agents.
func (p *PageChanges) row(c render.Canvas, n int) {
	f, g := p.files[n], p.look.Glyphs
	w, _ := c.Size()
	mark := render.Span{Text: "  ", Role: render.Base}
	if n == p.at {
		mark = render.Span{Text: g.Chosen + " ", Role: render.Active}
	}
	status := statusMarks[f.Status]
	path := f.Path
	if f.Old != "" {
		path = f.Old + " " + g.Arrow + " " + f.Path
	}
	agents := p.agents(f)
	head := render.Line{mark, {Text: status.letter + " ", Role: status.role}}
	if p.lines == 2 {
		c.Line(0, 0, append(head, render.Span{Text: shortenLeft(path, max(w-5, 1), g.Ellipsis), Role: render.Strong}))
		second := append(render.Of(render.Base, "    "), p.counts(f)...)
		second = append(append(second, agents...), render.Span{Text: " " + ago(f.At, p.now), Role: render.Dim})
		c.Line(0, 1, second.Shorten(w, g.Ellipsis))
	} else {
		who := min(max(w/3, 16), 40)
		if when := ago(f.At, p.now); when != "" && w >= 90 {
			agents = agents.Shorten(who, g.Ellipsis)
			who += whenColumns
			agents = agents.Append(render.Base, padPage("", who-whenColumns-agents.Width(), "")).
				Append(render.Dim, padLeft(when, whenColumns-1, g.Ellipsis))
		}
		space := max(w-4-who-lineCounts-1, 1)
		l := append(head, render.Span{Text: padPage(shortenLeft(path, space, g.Ellipsis), space, ""), Role: render.Strong})
		l = append(l, p.counts(f)...)
		c.Line(0, 0, append(l, agents.Shorten(who, g.Ellipsis)...))
	}
	if n == p.at {
		for y := range p.lines {
			c.Restyle(0, y, w-1, render.Selection)
		}
	}
}

// counts returns the numbers of added and deleted lines.
func (p *PageChanges) counts(f PageChange) render.Line {
	if f.Binary {
		return render.Of(render.Dim, padPage("binary", lineCounts, ""))
	}
	added, deleted := fmt.Sprintf("+%d", f.Added), fmt.Sprintf("-%d", f.Deleted)
	return render.Of(render.DiffAdd, padLeft(added, 6, "")).Append(render.Base, " ").
		Append(render.DiffRemove, padPage(deleted, lineCounts-7, ""))
}

// agents returns the agents that changed a file.
func (p *PageChanges) agents(f PageChange) render.Line {
	var l render.Line
	for _, id := range f.Known {
		l = l.Append(render.Speaker(id), id).Append(render.Base, " ")
	}
	for _, id := range f.Maybe {
		l = l.Append(render.Speaker(id), id+"?").Append(render.Base, " ")
	}
	if f.Overlap {
		l = l.Append(render.Warn, "overlap")
	}
	return l
}
