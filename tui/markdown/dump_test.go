package markdown

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// short names the roles a text can have, for the dumps of the tests.
var short = map[render.Role]string{
	render.Dim: "dim", render.Strong: "b", render.Emphasis: "i", render.StrongEmphasis: "bi", render.Strike: "s",
	render.Heading: "h", render.Title: "h1", render.Quote: "q", render.Link: "a", render.Code: "code",
	render.CodeKeyword: "kw", render.CodeString: "str", render.CodeComment: "com", render.CodeNumber: "num",
	render.CodeName: "name", render.DiffAdd: "add", render.DiffRemove: "del", render.DiffHunk: "hunk",
	render.Frame: "frame", render.Good: "good", render.Pending: "todo",
}

// dump returns the text of lines with their roles: «role|text», plain where it is Base.
func dump(lines []render.Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			if s.Role == render.Base {
				b.WriteString(s.Text)
				continue
			}
			b.WriteString("«" + short[s.Role] + "|" + s.Text + "»")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainText returns lines without their roles.
func plainText(lines []render.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.Text(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
