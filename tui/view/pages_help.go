package view

import (
	"strings"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// helpWide is the minimum width of a column of help if there is more than one.
const helpWide = 44

// Help describes the keys and commands of the current screen.
type Help struct {
	page
	scroller
	title  string
	groups []HelpGroup
}

// NewHelp returns an empty help.
func NewHelp(look *render.Look) *Help { return &Help{page: newPage(look)} }

// Set replaces the help, and goes to its top.
func (p *Help) Set(title string, groups []HelpGroup) {
	p.title, p.groups = title, groups
	p.Top()
}

// Draw implements tview.Primitive.
func (p *Help) Draw(screen tcell.Screen) {
	c := column(p.canvas(screen), 4*helpWide)
	title := "HELP"
	if p.title != "" {
		title += " " + p.look.Glyphs.Separator + " " + p.title
	}
	body := header(c, title, render.Line{{Text: "Esc", Role: render.Key}, {Text: " back", Role: render.Dim}})
	w, h := body.Size()
	n := max(min((w+2)/(helpWide+2), 3, len(p.groups)), 1)
	wide := (w - 1 - 2*(n-1)) / n
	columns := p.deal(n, wide)
	rows := 0
	for _, lines := range columns {
		rows = max(rows, len(lines))
	}
	p.fit(rows, h)
	for i, lines := range columns {
		part := body.Sub(i*(wide+2), 0, wide, h)
		top := min(p.top, len(lines))
		part.Lines(0, lines[top:min(top+p.view, len(lines))])
	}
	p.marks(body)
}

// deal lays out the groups in columns of about the same height, in their order.
func (p *Help) deal(n, wide int) [][]render.Line {
	var blocks [][]render.Line
	total := 0
	for _, g := range p.groups {
		b := p.group(g, wide)
		blocks = append(blocks, b)
		total += len(b)
	}
	// The lowest height at which all groups fit into n columns.
	for height := (total + n - 1) / n; ; height++ {
		columns, at := make([][]render.Line, n), 0
		for _, b := range blocks {
			if len(columns[at]) > 0 && len(columns[at])+len(b)-1 > height {
				at++
			}
			if at == n {
				break
			}
			columns[at] = append(columns[at], b...)
		}
		if at < n {
			return columns
		}
	}
}

// group returns a group as lines, with a blank one at the end.
func (p *Help) group(g HelpGroup, wide int) []render.Line {
	keys := 0
	for _, r := range g.Rows {
		keys = max(keys, render.Width(r.Keys))
	}
	keys = max(min(keys, wide*2/5), 1)
	lines := []render.Line{render.Of(render.Heading, g.Title)}
	for _, r := range g.Rows {
		text := render.WrapText(render.Base, r.Text, max(wide-keys-2, 1))
		// Keys that do not fit are above their description.
		if render.Width(r.Keys) > keys {
			lines = append(lines, render.Of(render.Key, r.Keys).Shorten(wide, p.look.Glyphs.Ellipsis))
		} else {
			text[0] = append(render.Of(render.Key, padPage(r.Keys, keys, "")+"  "), text[0]...)
		}
		for i, l := range text {
			if i > 0 || render.Width(r.Keys) > keys {
				l = append(render.Of(render.Base, strings.Repeat(" ", keys+2)), l...)
			}
			lines = append(lines, l)
		}
	}
	return append(lines, nil)
}
