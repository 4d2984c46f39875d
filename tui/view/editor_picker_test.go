package view

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

func documentsEditor() []EditorItem {
	var items []EditorItem
	for _, s := range []string{"README.md", "docs/requirements.md", "docs/design.md", "internal/parser/NOTES.md",
		"REQUIREMENTS.md", "src/漢字/要件.md"} {
		items = append(items, EditorItem{Text: s, Note: fmt.Sprint(len(s), " KB"), Value: s})
	}
	return items
}

func TestPicker(t *testing.T) {
	p := NewPicker(testLook(t))
	var chosen []string
	cancelled := 0
	p.OnChoose = func(i EditorItem) { chosen = append(chosen, i.Value.(string)) }
	p.OnCancel = func() { cancelled++ }
	p.SetItems(documentsEditor())
	press := func(keys string) {
		for _, r := range keys {
			p.Key(keyEditor(r))
		}
	}
	enter := func() { p.Key(keyNames["Enter"]) }
	press("jjk")
	enter()
	press("G")
	enter()
	press("g")
	enter()
	p.Key(keyNames["Down"])
	p.Key(keyNames["Up"])
	p.Key(keyNames["PgDn"])
	enter()
	press("/jg") // these are now letters
	if n, all := p.Len(); n != 0 || all != 6 {
		t.Errorf("%d of %d match", n, all)
	}
	enter() // there is nothing to choose
	p.Key(keyNames["Backspace"])
	p.Key(keyNames["Ctrl+U"])
	press("req")
	enter()
	p.Key(keyNames["Esc"])
	if f, typing := p.Filter(); f != "" || typing || cancelled != 0 {
		t.Errorf("Esc left %q, %v, cancelled %d", f, typing, cancelled)
	}
	press("rea") // a letter that is not a key begins the filter
	enter()
	p.Key(keyNames["Esc"])
	p.Key(keyNames["Esc"])
	want := []string{"docs/requirements.md", "src/漢字/要件.md", "README.md", "src/漢字/要件.md", "REQUIREMENTS.md",
		"README.md"}
	if diff := cmp.Diff(want, chosen); diff != "" || cancelled != 1 {
		t.Errorf("chosen (-want +got), cancelled %d:\n%s", cancelled, diff)
	}
}

func TestPickerKeepsItsPlace(t *testing.T) {
	p := NewPicker(testLook(t))
	p.SetItems(documentsEditor())
	p.Key(keyEditor('j'))
	p.SetItems(append([]EditorItem{{Text: "new.md"}}, documentsEditor()...))
	if i, ok := p.Current(); !ok || i.Text != "docs/requirements.md" {
		t.Errorf("the cursor is on %+v", i)
	}
	p.SetItems(nil)
	if _, ok := p.Current(); ok {
		t.Error("the cursor is on nothing")
	}
	p.Key(keyNames["Enter"])
	p.Key(keyEditor('G'))
	p.Key(keyEditor('j'))
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
		var got []string
		for _, i := range rankEditor(c.query, len(all), func(i int) string { return all[i] }) {
			got = append(got, all[i])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.query, diff)
		}
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
		if len(at) != len(q) {
			t.Fatalf("%d places for %d letters", len(at), len(q))
		}
		for i, k := range at {
			if foldEditor(q[i]) != foldEditor(s[k]) || i > 0 && at[i-1] >= k {
				t.Fatalf("%q in %q at %v", query, text, at)
			}
		}
	})
}

// FuzzPicker: whatever is pressed and shown, nothing panics and nothing is drawn
// outside.
func FuzzPicker(f *testing.F) {
	f.Add([]byte("jjkG/ab\x01\x02"))
	f.Fuzz(func(t *testing.T, program []byte) {
		r := newRig(t, 30, 5)
		p := NewPicker(r.c.look)
		p.Focus(nil)
		p.OnChoose, p.OnCancel = func(EditorItem) {}, func() {}
		var items []EditorItem
		for _, s := range material {
			items = append(items, EditorItem{Text: s, Note: s})
		}
		p.SetItems(items)
		special := []string{"Up", "Down", "PgUp", "PgDn", "Home", "End", "Enter", "Esc", "Backspace", "Ctrl+U"}
		for _, b := range program[:min(len(program), 100)] {
			switch {
			case b < 100:
				p.Key(keyNames[special[int(b)%len(special)]])
			case b < 128:
				p.Key(keyEditor(rune(b)))
			case b < 160:
				p.PasteHandler()(material[int(b)%len(material)], nil)
			case b < 170:
				p.SetItems(items[int(b)%len(items):])
			default:
				r.resize(1+int(b)%50, 1+int(b)%7)
			}
			r.drawOther(p)
		}
	})
}

// drawOther draws another primitive in the rectangle, with the same checks.
func (r *rig) drawOther(p *Picker) {
	r.t.Helper()
	for y := range r.screenH {
		for x := range r.screenW {
			r.screen.SetContent(x, y, '#', nil, tcell.StyleDefault)
		}
	}
	r.screen.HideCursor()
	p.SetRect(r.x, r.y, r.width, r.height)
	p.Draw(r.screen)
	for y := range r.screenH {
		for x := range r.screenW {
			inside := x >= r.x && x < r.x+r.width && y >= r.y && y < r.y+r.height
			if s, _, _ := r.screen.Get(x, y); !inside && s != "#" {
				r.t.Fatalf("%dx%d: %q was drawn outside, at %d,%d", r.width, r.height, s, x, y)
			}
		}
	}
	r.screen.Show()
	if x, y, shown := r.screen.GetCursor(); shown && (x < r.x || x >= r.x+r.width || y < r.y || y >= r.y+r.height) {
		r.t.Fatalf("the cursor is outside, at %d,%d", x, y)
	}
}

func TestPickerGolden(t *testing.T) {
	r := newRig(t, 60, 6)
	p := NewPicker(r.c.look)
	p.Focus(nil)
	p.SetEmpty("there are no documents here")
	var b strings.Builder
	show := func(name string) {
		r.drawOther(p)
		fmt.Fprintf(&b, "%s\n%s", name, rows(r.screen, r.x, r.y, r.width, r.height))
	}
	show("empty")
	p.SetItems(documentsEditor())
	show("list")
	p.Key(keyEditor('/'))
	for _, c := range "req" {
		p.Key(keyEditor(c))
	}
	show("filtered")
	b.WriteString(styles(r.screen, r.x, r.y, r.width, r.height))
	p.Key(keyEditor('!'))
	show("nothing")
	p.SetFilter("md")
	r.resize(18, 4)
	show("narrow")
	tuitest.File(t, "picker", b.String())
}

func TestComposerGolden(t *testing.T) {
	for _, size := range [][2]int{{78, 4}, {38, 4}, {38, 1}, {14, 6}} {
		r := newRig(t, size[0], size[1])
		var b strings.Builder
		show := func(name string) {
			r.draw()
			fmt.Fprintf(&b, "%s (%d rows)\n%s", name, r.c.Rows(r.width, 10),
				rows(r.screen, r.x, r.y, r.width, r.height))
		}
		r.c.SetPlaceholder("Speak, mortal.")
		show("empty")
		r.write("Build a parser for the language of the old ones, 漢字 and all, and prove that it is right.\nThen rest.")
		show("written")
		r.press("Up", "Home", "Shift+Right", "Shift+Right", "Shift+Right")
		show("selected")
		r.c.Clear()
		r.c.SetTo("to Orchestrator II", "steer", render.SpeakerOrch2)
		r.write("see ")
		r.c.Paste(strings.Repeat("a line of the log\n", 12345))
		r.c.Insert(" [red]for[-] what\twent wrong 👨‍👩‍👧‍👦")
		show("to somebody, with a paste")
		b.WriteString(styles(r.screen, r.x, r.y, r.width, r.height))
		r.c.Clear()
		r.write("/summon architect")
		show("a command")
		r.c.Seed([]string{"run the tests again", "build it"})
		r.press("Ctrl+R").write("tests")
		show("search")
		b.WriteString(styles(r.screen, r.x, r.y, r.width, r.height))
		r.write("x")
		show("search in vain")
		tuitest.File(t, fmt.Sprintf("composer-%dx%d", size[0], size[1]), b.String())
	}
}
