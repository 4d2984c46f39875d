package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// maxInput is the divisor that gives the largest share of the window for the input.
const maxInput = 3 // one row of so many

// roomy is the height from which on a blank row separates the input from what is above it.
const roomy = 30

// Draw implements tview.Primitive.
func (d *app) Draw(s tcell.Screen) {
	x, y, w, h := d.GetRect()
	s.HideCursor()
	if w <= 0 || h <= 0 {
		return
	}
	bottom := h - 1 // the status line
	rows := 0
	if d.screen().writes() && bottom > 0 {
		rows = min(d.prompt.input.Rows(w, max(h/maxInput, 1)), bottom)
		d.prompt.input.SetRect(x, y+bottom-rows, w, rows)
	}
	d.top = y + bottom - rows
	body := bottom - rows
	d.way = -1
	if hint := d.recovery.wayHint(); hint != "" && rows > 0 && body > 5 {
		body--
		d.way = y + body
		d.recovery.drawWays(render.On(s, x, d.way, w, 1, d.look), hint)
	}
	if rows > 0 && h >= roomy {
		body--
		render.On(s, x, y+body, w, 1, d.look).Clear(render.Base)
	}
	if !d.screen().writes() && !d.writesStep() && h >= footerHeight {
		body--
		c := render.On(s, x, y+body, w, 1, d.look)
		c.Clear(render.Base)
		c.Line(0, 0, footer(d.screen().context(), d.look, w))
	}
	status := d.statusData()
	d.line.Set(status)
	paint(d.line, s, x, y+max(bottom, 0), w, 1)
	answer := d.answerLines(w, body)
	if d.screen().writes() {
		body -= len(answer)
	}
	if body > 0 {
		d.screen().draw(s, x, y, w, body)
	}
	if rows > 0 {
		d.prompt.input.Draw(s)
		d.drawPopup(s, x, y, w, bottom-rows)
	}
	if len(status.Warnings) > 0 && bottom > 3 {
		h = bottom // important notices are neither covered nor dimmed
	}
	if len(answer) > 0 {
		h = bottom - len(answer)
	}
	d.picker.draw(d, s, x, y, w, h)
	if g := d.dialogs.asking(); g != nil {
		s.HideCursor()
		if d.screen() == screen(d.runScreen) && d.runScreen.tiled {
			w, h = d.runScreen.left(w), min(h, bottom) // the agents stay visible, and the status line below them
		}
		paint(g.ask, s, x, y, w, h)
	}
	switch {
	case d.dialogs.asking() != nil || d.picker.open():
		body = bottom - len(answer)
	case d.writesStep():
		_, top, _, _ := d.screen().(*planScreen).line.GetRect()
		body = top - y - len(answer)
	case !d.screen().writes():
		body -= len(answer)
	}
	c := render.On(s, x, y+body, w, len(answer), d.look)
	c.Clear(render.StatusBar)
	c.Sub(2, 0, w-3, len(answer)).Lines(0, answer) // aligned with the text above
}

// answerLines lays out an answer for which the status line has too little room.
func (d *app) answerLines(w, body int) []render.Line {
	if d.word.text == "" || !d.line.Cut() {
		return nil
	}
	lines := render.WrapText(render.StatusBarStrong, d.word.text, max(w-3, 1))
	return lines[:min(len(lines), max(body/3, 0))]
}

func (d *app) drawPopup(s tcell.Screen, x, y, w, bottom int) {
	lines, at := d.prompt.input.Popup(w, min(bottom, 8))
	if len(lines) == 0 {
		return
	}
	c := render.On(s, x, y+bottom-len(lines), w, len(lines), d.look)
	c.Clear(render.StatusBar)
	for i, l := range lines {
		c.Line(0, i, l)
		if i == at {
			c.Restyle(0, i, w, render.Selection)
		}
	}
}

// key receives every key press. Pastes come separately.
func (d *app) key(e *tcell.EventKey) {
	key := keys.Name(e)
	// Check this first: no text field or dialog may receive the key.
	if a, _ := keys.Look(keys.Everywhere, key); a == keys.Halt {
		d.session.halt()
		return
	}
	if t := d.title(); t != nil && d.dialogs.asking() == nil && t.key(e) {
		return
	}
	switch {
	case d.picker.open():
		d.picker.key(e, key)
		return
	case d.dialogs.asking() != nil:
		g := d.dialogs.asking()
		if g.key(e, key) {
			return
		}
		if d.dialogs.open != g && !d.prompt.input.Empty() {
			return // Ctrl+C has closed it, and leaves what is written
		}
		if d.dialogs.open != g || !g.own {
			break
		}
		// A dialog that was opened by an event closes when a person begins to write: the next letters are
		// not answers. It opens again when the input is empty.
		if e.Key() == tcell.KeyRune && e.Modifiers()&(tcell.ModAlt|tcell.ModCtrl|tcell.ModMeta) == 0 &&
			d.screen().writes() {
			d.dialogs.open = nil
			d.prompt.write()
			if g.typed != 0 {
				d.prompt.input.Insert(string(g.typed))
			}
			d.prompt.input.Key(e)
			return
		}
	case d.prompt.writing():
		a, _ := keys.Look(keys.Insert, key)
		leaves := a == keys.Detach && d.prompt.input.Empty() // otherwise it deletes a character
		if a, _ := keys.Look(keys.Everywhere, key); a == keys.OpenPalette && !d.prompt.input.PopupOpen() {
			leaves = true // otherwise it moves in the list of completions
		}
		if d.queuedEdits.key(key) || !leaves && d.prompt.input.Key(e) {
			d.prompt.relabel() // the text may be a command now
			return
		}
	case d.search.key(d, e, key):
		return
	}
	context := d.context()
	if id, ok := agentKey(context, key); ok {
		d.focusOn(id)
		return
	}
	if a, ok := keys.Look(context, key); ok {
		if d.dialogs.asking() == nil && d.screen().act(a) || d.act(a) {
			return
		}
	}
}

// writesStep reports whether the text of a step of the plan is being written.
func (d *app) writesStep() bool {
	p, ok := d.screen().(*planScreen)
	return ok && p.line != nil
}

func agentKey(c keys.Context, key string) (string, bool) {
	digits := strings.TrimPrefix(key, "Alt+")
	if len(digits) != 1 || digits[0] < '0' || digits[0] > '9' {
		return "", false
	}
	if alt := digits != key; !alt && c != keys.Normal && c != keys.Focus {
		return "", false
	}
	if digits == "0" {
		return "arbiter", true
	}
	return "orch-" + digits, true
}

func (d *app) PasteHandler() func(string, func(tview.Primitive)) {
	return func(text string, _ func(tview.Primitive)) {
		if d.f.screen.KeepsPastes() {
			p, ok := d.f.screen.Paste()
			text = p.Text
			if ok && text == "" && p.Size > 0 {
				d.flash("That text is too large (" + words.Bytes(p.Size) +
					"): save it to a file and name the file with @.")
			}
		}
		d.leaveTitle()
		switch {
		case text == "":
		case d.picker.open():
			d.picker.list.SetFilter(d.picker.list.Filter() + text)
		case d.dialogs.asking() == nil && d.search.typing:
			d.search.text = sanitize.Line(d.search.text+text, 200)
		case d.screen().writes():
			d.prompt.write()
			d.prompt.input.Paste(text)
		default:
			if w, ok := d.screen().(writer); ok && d.dialogs.asking() == nil {
				w.paste(text)
			}
		}
	}
}

// MouseHandler implements tview.Primitive.
func (d *app) MouseHandler() mouseHandler {
	return func(a tview.MouseAction, e *tcell.EventMouse, focus func(tview.Primitive)) (bool, tview.Primitive) {
		if a == tview.MouseLeftDoubleClick { // the second of two quick clicks
			a = tview.MouseLeftClick
		}
		x, y := e.Position()
		click := a == tview.MouseLeftClick
		switch {
		case d.picker.open():
			return clicks(d.picker.list, d.picker.take)(a, e, nil)
		case d.dialogs.asking() != nil:
			return d.dialogs.asking().mouse()(a, e, nil)
		case d.line.InRect(x, y) && d.controlled(a):
			return true, nil
		case click && d.line.OnGrants(x, y):
			d.permissions.nextMode()
			return true, nil
		case click && d.line.OnHuman(x, y):
			d.inbox.open()
			return true, nil
		case click && y == d.way:
			d.recovery.askWay()
			return true, nil
		case y >= d.top && d.screen().writes():
			if a == tview.MouseLeftDown {
				d.prompt.write()
			}
			return d.prompt.input.MouseHandler()(a, e, focus)
		}
		return d.screen().mouse()(a, e, focus)
	}
}

// commandOf are the slash commands that keys run, too.
var commandOf = map[keys.Action]string{keys.OpenHelp: "help", keys.OpenLogbook: "logbook", keys.OpenPlan: "plan",
	keys.OpenChanges: "changes", keys.OpenTimes: "timeline", keys.OpenConfig: "settings", keys.OpenRuns: "runs",
	keys.Documents: "file", keys.Modes: "agents", keys.SkipStep: "skip", keys.Retry: "retry", keys.Reset: "reset",
	keys.CancelRun: "cancel", keys.Halt: "halt"}

func (d *app) act(a keys.Action) bool {
	if (a == keys.Write || a == keys.WriteSlash) && d.session.replayed() {
		return true
	}
	if name := commandOf[a]; name != "" {
		d.slash(view.EditorCommand{Name: name})
		return true
	}
	switch a {
	case keys.Leave:
		if d.prompt.writing() && !d.prompt.input.Empty() {
			d.prompt.input.Clear()
			return true
		}
		d.dialogs.askLeave()
	case keys.Detach:
		d.session.detach()
	case keys.Suspend:
		d.outside(func(h Host) error { return h.Suspend() })
	case keys.Redraw:
		d.f.screen.Sync()
	case keys.OpenFocus:
		d.focusOn(d.session.liveliest())
	case keys.Back:
		d.back()
	case keys.Write:
		d.prompt.to = ""
		d.prompt.write()
	case keys.WriteSlash:
		d.toInput()
		d.prompt.write()
		if d.prompt.input.Empty() {
			d.prompt.input.Insert("/")
		}
	case keys.Read:
		d.prompt.read()
	case keys.Editor:
		d.prompt.edit()
	case keys.Withdraw:
		d.queuedEdits.withdraw()
	case keys.Judge:
		d.permissions.judgeNext()
	case keys.OpenPalette:
		d.choose("What shall be done?", "", d.paletteItems(), func(v any) { v.(func())() })
	case keys.OpenInbox:
		d.inbox.open()
	case keys.Stop:
		d.session.interrupt("")
	case keys.PauseRun:
		if d.session.state != nil && d.session.state.Paused {
			d.session.send(contract.Continue{})
		} else {
			d.session.send(contract.Pause{})
		}
	case keys.CycleGrants:
		d.permissions.nextMode()
	case keys.Strength:
		d.prompt.force = map[string]string{"": contract.Steer, contract.Steer: contract.Stop}[d.prompt.force]
		d.prompt.relabel()
	case keys.WayOut:
		if d.session.interrupted() {
			d.dialogs.askResume()
		} else {
			d.recovery.askWay()
		}
	case keys.Summon:
		d.chooseSummon()
	case keys.PageUp, keys.PageDown, keys.Up, keys.Down: // while the person writes
		return d.screen().act(a)
	default:
		return false
	}
	return true
}

func (d *app) statusData() view.StatusData {
	data := view.StatusData{Word: "The oracle", Tone: render.StatusBarStrong, Warnings: d.session.dangers()}
	if d.session.state != nil {
		data = view.SnapshotStatus(d.session.state, d.session.waits, d.now())
	}
	switch since := d.session.silent(); {
	case !since.IsZero():
		data.Word, data.Tone = "Does not answer, "+eventtext.Span(now().Sub(since).Truncate(time.Second)), render.Bad
		data.Awaited, data.Words = "", 0
	case d.session.begun.starting:
		data.Word, data.Awaited = "Beginning", "the threads"
	case d.session.leaving:
		data.Word = "Ending"
	}
	if p := d.playback(); p != nil {
		data.Warnings = append([]string{playbackWord(p.Status(), d.look)}, data.Warnings...)
		data.Awaited = ""
	} else if mode := d.permissions.mode(); mode != runconfig.ModeAllowAll { // allow-all is shown as a warning
		data.Grants = string(mode)
	}
	if d.screen().writes() && d.prompt.reading {
		data.Mode = "NORMAL"
	}
	if l, ok := d.screen().(*logbook); ok && l.typing {
		data.Mode = "FILTER"
	}
	data.Flash = d.word.text
	if s, ok := d.screen().(interface{ filter() *view.List }); ok {
		l := s.filter()
		if l.Typing {
			data.Mode = "FILTER"
		}
		if l.Typing || l.Filter() != "" && data.Flash == "" {
			data.Flash = "/" + l.Filter()
		}
	}
	if d.search.typing {
		data.Flash = "/" + d.search.text
	}
	if text := d.f.unsent(); text != "" {
		data.Flash = "Not taken yet: " + sanitize.Line(text, 200)
	}
	if n := len(d.permissions.requests()); n > 0 && d.dialogs.asking() == nil && data.Flash == "" {
		data.Flash = fmt.Sprintf("Alt+p: %d permission requests wait", n)
		if n == 1 {
			data.Flash = "Alt+p: a permission request waits"
		}
	}
	return data
}
