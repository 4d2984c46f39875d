package rich

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/cell"
)

// short names the roles a text can have, for the dumps of the tests.
var short = map[cell.Role]string{
	cell.Dim: "dim", cell.Strong: "b", cell.Emphasis: "i", cell.StrongEmphasis: "bi", cell.Strike: "s",
	cell.Heading: "h", cell.Title: "h1", cell.Quote: "q", cell.Link: "a", cell.Code: "code",
	cell.CodeKeyword: "kw", cell.CodeString: "str", cell.CodeComment: "com", cell.CodeNumber: "num", cell.CodeName: "name",
	cell.DiffAdd: "add", cell.DiffRemove: "del", cell.DiffHunk: "hunk", cell.Frame: "frame",
	cell.Good: "good", cell.Pending: "todo",
}

// dump is the text of lines with their roles: «role|text», plain where it is Base.
func dump(lines []cell.Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			if s.Role == cell.Base {
				b.WriteString(s.Text)
				continue
			}
			b.WriteString("«" + short[s.Role] + "|" + s.Text + "»")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// plainText is lines without their roles.
func plainText(lines []cell.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(l.Text(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
