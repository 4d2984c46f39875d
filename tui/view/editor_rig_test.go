package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/tui/render"
)

func testLook(t testing.TB) *render.Look {
	t.Helper()
	theme, err := render.NewTheme("dark", render.TrueColor)
	if err != nil {
		t.Fatal(err)
	}
	return &render.Look{Theme: theme, Glyphs: render.Unicode}
}

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
	r := &rig{t: t, screen: tcell.NewSimulationScreen("UTF-8"), c: NewEditor(testLook(t)), x: 2, y: 1, width: width,
		height: height}
	if err := r.screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.screen.Fini)
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

var keyNames = map[string]*tcell.EventKey{
	"Enter": ev(tcell.KeyEnter, 0), "Shift+Enter": ev(tcell.KeyEnter, tcell.ModShift),
	// the form in which the terminal's ESC CR arrives
	"Ctrl+J":    ev(tcell.KeyCtrlJ, tcell.ModCtrl),
	"Alt+Enter": tcell.NewEventKey(tcell.KeyRune, 'm', tcell.ModAlt|tcell.ModCtrl),
	"Up":        ev(tcell.KeyUp, 0), "Down": ev(tcell.KeyDown, 0), "Left": ev(tcell.KeyLeft, 0),
	"Right": ev(tcell.KeyRight, 0), "Shift+Left": ev(tcell.KeyLeft, tcell.ModShift),
	"Shift+Right": ev(tcell.KeyRight, tcell.ModShift), "Shift+Down": ev(tcell.KeyDown, tcell.ModShift),
	"Ctrl+Left": ev(tcell.KeyLeft, tcell.ModCtrl), "Ctrl+Home": ev(tcell.KeyHome, tcell.ModCtrl),
	"Ctrl+End": ev(tcell.KeyEnd, tcell.ModCtrl), "Home": ev(tcell.KeyHome, 0), "End": ev(tcell.KeyEnd, 0),
	"Backspace": ev(tcell.KeyBackspace2, 0), "Delete": ev(tcell.KeyDelete, 0),
	"Tab": ev(tcell.KeyTab, 0), "Shift+Tab": ev(tcell.KeyBacktab, 0), "Esc": ev(tcell.KeyEscape, 0),
	"PgUp": ev(tcell.KeyPgUp, 0), "PgDn": ev(tcell.KeyPgDn, 0), "Ctrl+_": ev(tcell.KeyCtrlUnderscore, tcell.ModCtrl),
	"Alt+Backspace": ev(tcell.KeyBackspace2, tcell.ModAlt),
	"Alt+_":         tcell.NewEventKey(tcell.KeyRune, '_', tcell.ModAlt),
	"Alt+B":         tcell.NewEventKey(tcell.KeyRune, 'b', tcell.ModAlt),
	"Alt+F":         tcell.NewEventKey(tcell.KeyRune, 'f', tcell.ModAlt),
	"Alt+D":         tcell.NewEventKey(tcell.KeyRune, 'd', tcell.ModAlt),
	"Alt+W":         tcell.NewEventKey(tcell.KeyRune, 'w', tcell.ModAlt),
	"Alt+X":         tcell.NewEventKey(tcell.KeyRune, 'x', tcell.ModAlt),
}

func init() {
	for k := tcell.KeyCtrlA; k <= tcell.KeyCtrlZ; k++ {
		name := "Ctrl+" + string(rune('A'+k-tcell.KeyCtrlA))
		if keyNames[name] == nil {
			keyNames[name] = ev(k, tcell.ModCtrl)
		}
	}
}

func ev(k tcell.Key, mod tcell.ModMask) *tcell.EventKey { return tcell.NewEventKey(k, 0, mod) }

// press presses keys by name; it records whether the last one was used.
func (r *rig) press(names ...string) *rig {
	r.t.Helper()
	for _, n := range names {
		e := keyNames[n]
		if e == nil {
			r.t.Fatalf("no key %q", n)
		}
		r.unconsumed = !r.c.Key(e)
	}
	return r
}

// write types a text letter by letter.
func (r *rig) write(s string) *rig {
	for _, c := range s {
		if c == '\n' {
			r.c.Key(keyNames["Ctrl+J"])
			continue
		}
		r.c.Key(tcell.NewEventKey(tcell.KeyRune, c, tcell.ModNone))
	}
	return r
}

func (r *rig) text(want string) *rig {
	r.t.Helper()
	if diff := cmp.Diff(want, r.c.Text()); diff != "" {
		r.t.Fatalf("text (-want +got):\n%s", diff)
	}
	return r
}

// cursor compares the raw text, with a bar at the cursor.
func (r *rig) cursor(want string) *rig {
	r.t.Helper()
	ed := &r.c.ed
	if diff := cmp.Diff(want, ed.text[:ed.at]+"|"+ed.text[ed.at:]); diff != "" {
		r.t.Fatalf("cursor (-want +got):\n%s", diff)
	}
	return r
}

// draw draws, and checks that nothing outside of the rectangle was touched and that the cursor is inside.
func (r *rig) draw() {
	r.t.Helper()
	outside := tcell.StyleDefault.Foreground(tcell.ColorRed)
	for y := range r.screenH {
		for x := range r.screenW {
			if x < r.x || x >= r.x+r.width || y < r.y || y >= r.y+r.height {
				r.screen.SetContent(x, y, '#', nil, outside)
			}
		}
	}
	r.screen.HideCursor()
	r.c.Draw(r.screen)
	for y := range r.screenH {
		for x := range r.screenW {
			if x >= r.x && x < r.x+r.width && y >= r.y && y < r.y+r.height {
				continue
			}
			if s, _, _ := r.screen.Get(x, y); s != "#" {
				r.t.Fatalf("%dx%d: %q was drawn outside, at %d,%d", r.width, r.height, s, x, y)
			}
		}
	}
	r.screen.Show()
	x, y, shown := r.screen.GetCursor()
	if shown && (x < r.x || x >= r.x+r.width || y < r.y || y >= r.y+r.height) {
		r.t.Fatalf("%dx%d: the cursor is outside, at %d,%d", r.width, r.height, x-r.x, y-r.y)
	}
	if !shown && r.c.HasFocus() && r.width > 0 && r.height > 0 {
		r.t.Fatalf("%dx%d: there is no cursor; text %q at %d", r.width, r.height, r.c.ed.text, r.c.ed.at)
	}
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
