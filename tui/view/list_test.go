package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// someList lists the steps of a plan, with a preview.
func someList(l *render.Look) *List {
	p := NewList(l)
	p.Title, p.Empty = "LIST", "There is nothing."
	p.Columns = []ListColumn{{Head: "NO", Right: true, Falls: true}, {Head: "TEXT", Wide: true}, {Head: "STATE"}}
	p.Preview = func(row ListRow, width int) []render.Line {
		return render.WrapText(render.Base, "about "+row.Key+" "+row.Cells[1].Text(), width)
	}
	p.Set(listRows(steps))
	return p
}

func listRows(steps []PageStep) []ListRow {
	var rows []ListRow
	for i, s := range steps {
		rows = append(rows, ListRow{Key: fmt.Sprint(i), Group: s.Agent, Find: s.Text + " " + s.Status, Cells: []render.Line{
			render.Of(render.Dim, fmt.Sprint(i)), render.Of(render.Base, s.Text), render.Of(render.Dim, s.Status)},
			Sort: []string{fmt.Sprintf("%03d", i)}})
	}
	return rows
}

// TestListChooses: the choice follows its row, stops at the ends, and is nothing where nothing is.
func TestListChooses(t *testing.T) {
	p := someList(darkLook(t))
	drawAt(t, p, 60, 20)
	key := func() string { r, _ := p.Chosen(); return r.Key }
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"two down", func() { p.Down(2) }, "2"}, {"without the first", func() { p.Set(listRows(steps)[1:]) }, "2"},
		{"the end", func() { p.Bottom(); p.Down(9) }, "8"}, {"the top", func() { p.PageUp(); p.Top(); p.Up(3) }, "1"},
		{"by its key", func() { p.Choose("5") }, "5"}, {"no such key", func() { p.Choose("x") }, "5"},
		{"the end again", func() { p.Bottom() }, "8"},
		{"without the last", func() { p.Set(listRows(steps)[1:8]) }, "7"},
		{"with it", func() { p.Set(listRows(steps)[1:]) }, "7"},
		{"words in any order", func() { p.SetFilter("DONE read") }, ""},
		{"found", func() { p.SetFilter("currency done") }, "1"},
		{"all again", func() { p.SetFilter("") }, "1"},
		{"sorted by number, the greatest first", func() { p.Sort(); p.Top() }, "8"},
		{"sorted by text", func() { p.Sort(); p.Top() }, "4"},
		{"as given", func() { p.Sort(); p.Sort(); p.Top() }, "1"},
		{"gone", func() { p.Set(nil) }, ""},
	} {
		step.do()
		testkit.Check(t, key() == step.want, "%s: %q is chosen, not %q", step.what, key(), step.want)
	}
	got, _ := drawAt(t, p, 60, 10)
	testkit.Check(t, strings.Contains(got, "There is nothing."), "without rows:\n%s", got)
}

// TestListHidesEmptyColumns: a column in which no row has anything leaves its room to the others.
func TestListHidesEmptyColumns(t *testing.T) {
	l := NewList(darkLook(t))
	l.Title, l.Columns = "STEPS", []ListColumn{{Head: "STEP", Wide: true}, {Head: "MODE"}, {Head: "AGENT"}}
	l.Set([]ListRow{{Key: "1", Find: "x", Cells: []render.Line{render.Of(render.Base, "Read it"), nil,
		render.Of(render.Dim, "orch-1")}}})
	got, _ := drawAt(t, l, 60, 10)
	testkit.Includes(t, "the list", got, "STEP", "AGENT", "orch-1")
	testkit.Excludes(t, "the list", got, "MODE")
}

// TestListPreviews: the preview is beside the list, or below it, and the least important columns are dropped first. A
// click chooses what is drawn there.
func TestListPreviews(t *testing.T) {
	for _, size := range [][2]int{{160, 20}, {100, 20}, {80, 24}, {50, 20}, {40, 12}, {30, 6}} {
		p := someList(darkLook(t))
		p.Choose("5")
		got, _ := drawAt(t, p, size[0], size[1])
		beside := false
		for y, row := range strings.Split(got, "\n") {
			testkit.Check(t, strings.Contains(row, "▸") == strings.Contains(row, "▸  5"),
				"%v: another row is chosen:\n%s", size, got)
			list, preview, ok := strings.Cut(row, "│")
			beside = beside || ok && strings.Contains(preview, "about 5")
			testkit.Check(t, !strings.Contains(list, "監査") || strings.Contains(list, "about") || p.At(8, y),
				"%v: a click on %q is nothing", size, row)
		}
		testkit.Check(t, beside == (size[0] >= 100) && size[1] >= 20 == strings.Contains(got, "about 5") &&
			strings.Contains(got, "STATE") == (size[0] >= 40), "%v:\n%s", size, got)
		testkit.Check(t, !p.At(0, 1), "%v: a click outside is something", size)
	}
}

// TestEditorMatch: the letters of the query match in order, and better matches come first.
func TestEditorMatch(t *testing.T) {
	for _, c := range []struct {
		query string
		texts []string // best first; those after "" do not match
	}{
		{"", []string{"b", "a"}},
		{"main", []string{"main.go", "src/main.go", "src/domain.go", "m_a_i_n_", "my-animation", "", "man"}},
		{"req", []string{"requirements.md", "docs/requirements.md", "src/areq.md", "r/e/xq", "", "qer"}},
		{"fb", []string{"foo_bar", "fooBar", "xfoobar"}},
		{"OR2", []string{"orch-2", "orch-12", "", "orch-1"}},
		{"字件", []string{"字件", "漢字/要件", "", "件字"}},
	} {
		var want, all []string
		matches := true
		for _, s := range c.texts {
			if s == "" {
				matches = false
				continue
			}
			all = append(all, s)
			if matches {
				want = append(want, s)
			}
		}
		if c.query == "" {
			want = all
		} else {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		got := testkit.Each(rankEditor(c.query, len(all),
			func(i int) string { return all[i] }), func(i int) string { return all[i] })
		testkit.Same(t, c.query, want, got)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("mn", "main.go")
	f.Add("ſ", "Sſ")
	f.Fuzz(func(t *testing.T, query, text string) {
		_, at, ok := match(query, text)
		if !ok {
			return
		}
		q, s := []rune(query), []rune(text)
		q = q[:min(len(q), queryRunes)]
		testkit.Need(t, len(at) == len(q), "%d places for %d letters", len(at), len(q))
		for i, k := range at {
			testkit.Need(t, unicode.ToLower(q[i]) == unicode.ToLower(s[k]) && (i <= 0 || at[i-1] < k), "%q in %q at %v",
				query, text, at)
		}
	})
}
