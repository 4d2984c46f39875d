package view

import (
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/tui/render"
)

// BenchmarkKey is the time of a key press and its drawing.
func BenchmarkKey(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"empty", ""},
		{"100KB of lines", strings.Repeat("a line of plain words that is as long as lines are\n", 2000)},
		{"100KB in one line", strings.Repeat("plain words ", 8500)},
		{"100KB of CJK in one line", strings.Repeat("漢字かな", 8500)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, 100, 6)
			r.c.SetText(c.text)
			r.c.Draw(r.screen)
			x, back := tcell.NewEventKey(tcell.KeyRune, 'x', 0), keyNames["Backspace"]
			b.ReportAllocs()
			for b.Loop() {
				r.c.Key(x)
				r.c.Draw(r.screen)
				r.c.Key(back)
				r.c.Draw(r.screen)
			}
		})
	}
}

func BenchmarkPaste10MB(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"clean", strings.Repeat("a line of plain words that is as long as lines are\n", 200_000)},
		{"hostile", strings.Repeat("a \x1b[31mline\x1b[0m of \u202e words \x00 and 漢字\n", 200_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, 100, 6)
			for b.Loop() {
				r.c.Paste(c.text)
				r.c.Draw(r.screen)
				r.c.ed.reset("")
				r.c.prune()
			}
		})
	}
}

func BenchmarkListFilter(b *testing.B) {
	p := NewList(testLook(b))
	p.Columns = []ListColumn{{Wide: true}}
	var rows []ListRow
	for i := range 5000 {
		rows = append(rows, ListRow{Cells: []render.Line{render.Of(render.Base,
			"some/directory/of/documents/"+strings.Repeat("x", i%20)+"requirements.md")}})
	}
	p.Set(rows)
	for b.Loop() {
		p.SetFilter("docreq")
	}
}
