package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// rig is an editor on a larger screen, with its reports.
type rig struct {
	t                     testing.TB
	screen                tcell.SimulationScreen
	c                     *Editor
	sent, notices, copied []string
	commands              []EditorCommand
	refuse                bool
	screenW, screenH      int
	x, y, width, height   int
	unconsumed            bool
}

func newRig(t testing.TB, width, height int) *rig {
	r := &rig{t: t, screen: screenOf(t, 1, 1), c: NewEditor(darkLook(t)), x: 2, y: 1, width: width,
		height: height}
	r.resize(width, height)
	r.c.Focus(nil)
	r.c.OnSend = func(s string) bool { r.sent = append(r.sent, s); return !r.refuse }
	r.c.OnCommand = func(cmd EditorCommand) bool { r.commands = append(r.commands, cmd); return !r.refuse }
	r.c.OnNotice = func(s string) { r.notices = append(r.notices, s) }
	r.c.OnCopy = func(s string) { r.copied = append(r.copied, s) }
	return r
}

func (r *rig) resize(width, height int) {
	r.width, r.height = width, height
	r.screenW, r.screenH = width+4, height+2
	r.screen.SetSize(r.screenW, r.screenH)
	r.c.SetRect(r.x, r.y, width, height)
}

// pressed are the keys of the random tests.
var pressed = slices.Concat(tuitest.Names, []string{"Shift+Enter", "Ctrl+Alt+M", "Shift+Left", "Shift+Right",
	"Shift+Down", "Ctrl+Left", "Ctrl+Home", "Ctrl+End", "Shift+Tab", "Ctrl+_", "Alt+Backspace", "Alt+_", "Alt+B",
	"Alt+F", "Alt+D", "Alt+W", "Alt+X", "Ctrl+A", "Ctrl+B", "Ctrl+C", "Ctrl+D", "Ctrl+E", "Ctrl+F", "Ctrl+G", "Ctrl+J",
	"Ctrl+K", "Ctrl+N", "Ctrl+P", "Ctrl+R", "Ctrl+U", "Ctrl+W", "Ctrl+Y"})

// press presses keys by name; it records whether the last one was used.
func (r *rig) press(names ...string) *rig {
	r.t.Helper()
	for _, n := range names {
		r.unconsumed = !r.c.Key(testkit.Must(tuitest.Key(n))(r.t))
	}
	return r
}

// write types a text letter by letter.
func (r *rig) write(s string) *rig {
	for _, c := range s {
		if c == '\n' {
			r.press("Ctrl+J")
			continue
		}
		r.c.Key(tcell.NewEventKey(tcell.KeyRune, c, tcell.ModNone))
	}
	return r
}

func (r *rig) text(want string) *rig {
	r.t.Helper()
	diff := cmp.Diff(want, r.c.Text())
	testkit.Need(r.t, diff == "", "text (-want +got):\n%s", diff)
	return r
}

// cursor compares the raw text, with a bar at the cursor.
func (r *rig) cursor(want string) *rig {
	r.t.Helper()
	ed := &r.c.ed
	diff := cmp.Diff(want, ed.text[:ed.at]+"|"+ed.text[ed.at:])
	testkit.Need(r.t, diff == "", "cursor (-want +got):\n%s", diff)
	return r
}

// draw draws, and checks that nothing outside of the rectangle was touched and that the cursor is inside.
func (r *rig) draw() {
	r.t.Helper()
	surrounded(r.t, r.screen, r.c)
	r.screen.Show()
	x, y, shown := r.screen.GetCursor()
	testkit.Need(r.t, !shown || x >= r.x && x < r.x+r.width && y >= r.y && y < r.y+r.height,
		"%dx%d: the cursor is outside, at %d,%d", r.width, r.height, x-r.x, y-r.y)
	testkit.Need(r.t, shown || !r.c.HasFocus() || r.width <= 0 || r.height <= 0,
		"%dx%d: there is no cursor; text %q at %d", r.width, r.height, r.c.ed.text, r.c.ed.at)
}

// rows returns the text in the rectangle; the cursor's cell is framed.
func rows(s tcell.SimulationScreen, x0, y0, w, h int) string {
	cx, cy, shown := s.GetCursor()
	var b strings.Builder
	for y := y0; y < y0+h; y++ {
		line := ""
		for x := x0; x < x0+w; {
			text, _, width := s.Get(x, y)
			if text == "" {
				text = " "
			}
			if shown && x == cx && y == cy {
				text = "⟦" + text + "⟧"
			}
			line += text
			x += max(width, 1)
		}
		b.WriteString("|" + line + "|\n")
	}
	return b.String()
}

// styles returns the same rectangle as the roles' colours, a letter for each style.
func styles(s tcell.SimulationScreen, x0, y0, w, h int) string {
	letters := map[tcell.Style]byte{}
	var b, legend strings.Builder
	for y := y0; y < y0+h; y++ {
		for x := x0; x < x0+w; x++ {
			_, style, _ := s.Get(x, y)
			l, ok := letters[style]
			if !ok {
				l = byte('a' + len(letters))
				letters[style] = l
				fg, bg, attr := style.Decompose()
				fmt.Fprintf(&legend, "%c: %v on %v, %d\n", l, fg, bg, attr)
			}
			b.WriteByte(l)
		}
		b.WriteByte('\n')
	}
	return b.String() + legend.String()
}

var _ tview.Primitive = (*Editor)(nil)

func TestComposerGolden(t *testing.T) {
	for _, size := range [][2]int{{78, 4}, {14, 6}} {
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
		tuitest.File(t, fmt.Sprintf("composer-%dx%d", size[0], size[1]), b.String())
	}
}

// material is what is typed and pasted: every kind of width, order and hostile input.
var material = []string{
	"a", "b ", "word", "\n", "\t", "  ", "-", "/", "/kill ", "@", "@src/ma", "//", "/etc/hosts", "\"",
	"漢字", "한국어", "ｆｕｌｌ", "é", "e\u0301\u0302\u0303\u0304\u0305", "\u0301", "שלום", "مرحبا", "हिन्दी", "🇩🇪", "🇩", "👍🏽",
	"👨‍👩‍👧‍👦", strings.Repeat("👩‍", 30) + "👩", "\u0600", "\u200d", "\u200b", "\ufdd0", "\ufdd01\ufdd1", "\ufe0f",
	"[red]text[-]", `["r"]x[""]`, "[:::https://x.test]y[:::-]", "\x1b[31mred", "\x1b]52;c;aGk=\a", "\x9b2J",
	"\x07\x08\x7f\x00", "a\r\nb\rc", "\u2028", "\u202eevil", "\xff\xfe", strings.Repeat("x", 1200),
	strings.Repeat("line\n", 12), strings.Repeat("漢", 1001), strings.Repeat("w ", 300),
}

// FuzzComposer: whatever is pressed, pasted and resized, nothing panics, nothing is drawn outside, the
// cursor is inside, and the state is consistent.
func FuzzComposer(f *testing.F) {
	for seed := range uint64(60) {
		d := rand.New(rand.NewPCG(seed, 7))
		program := make([]byte, 120)
		for i := range program {
			program[i] = byte(d.Uint32())
		}
		f.Add(program)
	}
	f.Add([]byte{0, 1, 2, 3, 200, 201, 202, 3, 3, 3, 17, 90, 91, 92, 93, 94})
	f.Fuzz(runProgram)
}

func runProgram(t *testing.T, program []byte) {
	program = program[:min(len(program), 300)]
	r := newRig(t, 20, 3)
	r.c.MaxBytes = 16 << 10 // each check lays out the whole text again
	r.c.SetPlaceholder("Speak, mortal.")
	r.c.Seed([]string{"first", "second\nof two lines", "/pause", "漢字 👨‍👩‍👧‍👦"})
	r.c.Completer = func(c EditorContext) []Candidate {
		return []Candidate{{Text: "orch-1", Note: "Orchestrator I"}, {Text: "src/main.go"},
			{Text: "a dir/", Open: true}, {Text: "bad\x1b"}}
	}
	for i := 0; i+1 < len(program); i += 2 {
		act, arg := program[i], program[i+1]
		some := material[int(arg)%len(material)]
		switch act % 8 {
		case 0, 1, 2:
			r.press(pressed[int(arg)%len(pressed)])
		case 3:
			for _, c := range some[:min(len(some), 200)] {
				r.c.Key(tcell.NewEventKey(tcell.KeyRune, c, tcell.ModNone))
			}
		case 4:
			r.c.Paste(some)
		case 5:
			r.resize(1+int(arg)%60, 1+int(arg/60)%10)
		case 6:
			r.c.SetTo([]string{"", "to Orchestrator II", "漢字漢字漢字"}[arg%3], []string{"", "steer"}[arg/3%2], 0)
		case 7:
			r.mouse(int(arg))
		}
		r.check()
	}
}

func (r *rig) mouse(arg int) {
	action := []tview.MouseAction{tview.MouseLeftDown, tview.MouseLeftUp, tview.MouseMove,
		tview.MouseLeftDoubleClick}[arg%4]
	e := tcell.NewEventMouse(arg%r.screenW, arg/3%r.screenH, tcell.Button1, 0)
	r.c.MouseHandler()(action, e, func(tview.Primitive) {})
}

// check checks the invariants.
func (r *rig) check() {
	r.t.Helper()
	ed := &r.c.ed
	if clean := sanitize.Text(strings.NewReplacer(chipOpen, "", chipClose,
		"").Replace(ed.text)); strings.ContainsFunc(clean,
		func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' }) {
		r.t.Fatalf("a control character in %q", ed.text)
	}
	testkit.Need(r.t, !strings.Contains(r.c.Text(), chipOpen), "a chip's mark in the text %q", r.c.Text())
	r.draw()
	want := (&buffer{columns: ed.columns, chipWidth: ed.chipWidth}).breaks(ed.text)
	testkit.Need(r.t, slices.Equal(want, ed.starts), "rows of %q are %v, laid out anew %v", ed.text, ed.starts, want)
	testkit.Need(r.t, ed.edge(ed.at) == ed.at, "the cursor is within a cluster: %d of %q", ed.at, ed.text)
	for row := range ed.starts {
		from, to, _ := ed.bounds(row)
		w, x := ed.walk(ed.text[from:to]), 0
		for w.rest != "" {
			p := w.next()
			if x += min(p.columns(x), ed.columns); x > ed.columns && p.text != " " && p.text != "\t" && p.width > 0 {
				r.t.Fatalf("row %d of %q is wider than %d", row, ed.text, ed.columns)
			}
		}
	}
	r.c.Popup(r.width, 8)
}
