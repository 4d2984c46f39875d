package tui

import (
	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// homeScreen is the screen before a run begins. It calls no model and starts no process
// before the user enters a task.
type homeScreen struct {
	d    *app
	page *view.PageHome
}

func newHomeScreen(d *app) *homeScreen { return &homeScreen{d, view.NewHome(d.look)} }

func (o *homeScreen) context() keys.Context               { return keys.Normal }
func (o *homeScreen) writes() bool                        { return true }
func (o *homeScreen) act(keys.Action, string) bool        { return false }
func (o *homeScreen) draw(s tcell.Screen, x, y, w, h int) { paint(o.page, s, x, y, w, h) }

func (o *homeScreen) mouse() mouseHandler {
	return wheel(still{}, func(x, y int) {
		if o.page.ThreadsAt(x, y) {
			o.d.open(newSessionsScreen(o.d))
		}
	})
}

// still is a page that does not scroll.
type still struct{}

func (still) Up(int)    {}
func (still) Down(int)  {}
func (still) PageUp()   {}
func (still) PageDown() {}
func (still) Top()      {}
func (still) Bottom()   {}

func (o *homeScreen) renew() {
	o.page.SetLook(o.d.look)
	f := o.d.session.found
	data := view.HomeData{Words: []string{"Speak, mortal."}, Now: now(), Threads: len(f.Runs), Hint: "F4",
		Warnings: o.d.session.dangers()}
	if rows := runRows(f.Runs); len(rows) > 0 {
		data.Newest = rows[0]
	}
	if o.d.session.known {
		data.Findings = findings(f)
		if o.d.session.newcomer && len(f.Runs) == 0 {
			data.Findings = append(data.Findings,
				view.PageFinding{Label: "new here?", Text: "/tour shows the screen in a minute", Tone: render.Strong})
		}
	}
	o.page.Set(data)
}

// findings are the facts that a user should know before a run begins.
func findings(f Findings) []view.PageFinding {
	var list []view.PageFinding
	add := func(label, text string, tone render.Role) {
		list = append(list, view.PageFinding{Label: label, Text: sanitize.Line(text, 200), Tone: tone})
	}
	switch {
	case f.Rehearsal && f.Claude == "":
		add("claude", "a stand-in plays", render.Warn)
	case f.Claude == "":
		add("claude", f.Problem, render.Bad)
	default:
		add("claude", f.Claude, render.Base)
	}
	switch {
	case f.Rehearsal:
		add("model", "a scripted one; nothing is spent", render.Warn)
	case f.Login == LoginNo:
		add("login", "none", render.Bad)
	case f.Login == LoginYes:
		add("login", f.Account, render.Base)
	}
	if f.Model != "" && !f.Rehearsal {
		add("model", f.Model, render.Base)
	}
	if f.Rehearsal {
		add("workspace", "a scratch one", render.Base)
		return list
	}
	add("workspace", f.CWD, render.Base)
	heldFindings(f, add)
	if f.Trusted {
		add("trusted", "its settings and agents are loaded", render.Base)
	} else if f.Trust.Changed {
		add("not trusted", "it is not as you trusted it (arbiter trust)", render.Warn)
	} else if f.Trust.Problem != "" {
		add("not trusted", f.Trust.Problem, render.Warn)
	} else {
		add("not trusted", "its own settings are not loaded (--trust)", render.Dim)
	}
	return list
}

// runRows converts runs for the pages.
func runRows(runs []RunInfo) []view.PageRun {
	var list []view.PageRun
	for _, r := range runs {
		tone := render.Base
		switch r.Status {
		case "live":
			tone = render.Active
		case "complete":
			tone = render.Good
		case "failed", "damaged":
			tone = render.Bad
		case "incomplete", "interrupted", "needs_input", "limit", "cancelled":
			tone = render.Warn
		}
		list = append(list, view.PageRun{
			ID: r.ID, Title: sanitize.Line(r.Title, 300), Status: view.SlashWord(r.Status), Tone: tone,
			LastActive: r.LastActive, Bytes: r.Bytes, Rehearsal: r.Rehearsal, CWD: sanitize.Line(r.CWD, 300),
			Live: r.Live,
		})
		if r.CostUSD > 0 {
			list[len(list)-1].Cost = eventtext.Dollars(r.CostUSD) + eventtext.Simulated(r.Rehearsal)
		}
	}
	return list
}

// firstScreen is for a user who cannot begin yet.
type firstScreen struct {
	d    *app
	page *view.FirstRun
	busy bool
	lack view.PageLack // what was missing, as far as known
}

func newFirstScreen(d *app) *firstScreen { return &firstScreen{d: d, page: view.NewFirstRun(d.look)} }

func (f *firstScreen) context() keys.Context               { return keys.First }
func (f *firstScreen) writes() bool                        { return false }
func (f *firstScreen) draw(s tcell.Screen, x, y, w, h int) { paint(f.page, s, x, y, w, h) }

func (f *firstScreen) renew() {
	f.page.SetLook(f.d.look)
	lack, ok := f.d.session.lack()
	if !ok {
		lack = f.lack // it is being checked
	}
	f.lack = lack
	data := view.FirstRunData{
		Lack: lack, Version: view.SlashWord(f.d.session.found.Claude), Path: view.SlashWord(f.d.session.found.Path),
		Problem: sanitize.Line(f.d.session.found.Problem, 500), Busy: f.busy,
	}
	if t := f.d.session.begun.failure; t.Message != "" {
		data.Problem = sanitize.Line(t.Message, 500)
		switch t.Category {
		case "auth":
			data.Lack = view.LoggedOut
		case "claude_missing":
			data.Lack = view.NoClaude
		default:
			data.Lack = view.OddClaude
		}
	}
	f.page.Set(data)
}

func (f *firstScreen) mouse() mouseHandler {
	return wheel(f.page, func(x, y int) {
		if way, ok := f.page.At(x, y); ok {
			f.take(way)
		}
	})
}

func (f *firstScreen) act(a keys.Action, key string) bool {
	if a == keys.Choose {
		f.take(f.page.Choose())
		return true
	}
	return leaf(f.page, a)
}

// press handles a hot key.
func (f *firstScreen) press(r rune) bool {
	way, ok := f.page.Press(r)
	if ok {
		f.take(way)
	}
	return ok
}

// take performs the chosen option.
func (f *firstScreen) take(way view.PageWay) {
	d := f.d
	switch way {
	case view.WayLogin:
		if d.outside(Host.Login) {
			f.again()
		}
	case view.WayRetry:
		f.again()
	case view.WayRehearse:
		d.session.begun.failure.Message, d.session.begun.failure.Category = "", ""
		d.session.rehearse = true
		d.session.found.Rehearsal = true
		if !d.prompt.input.Empty() {
			d.session.begin(Begin{Task: d.prompt.input.Text(), Rehearse: true})
			d.prompt.input.Clear()
			return
		}
		d.base(newHomeScreen(d))
		d.prompt.write()
		d.flash("A rehearsal: say anything, and a scripted model plays.")
	case view.WayQuit:
		d.f.Leave()
	}
}

// again checks once more for what was missing.
func (f *firstScreen) again() {
	d := f.d
	f.busy, d.session.begun.failure.Message, d.session.begun.failure.Category = true, "", ""
	f.renew()
	d.session.known = false
	d.f.work(d.session.inspect)
}

// heldFindings are the facts about permissions, sandbox and trust.
func heldFindings(f Findings, add func(label, text string, tone render.Role)) {
	switch f.Permissions {
	case "":
	case view.AllowAll:
		add("permissions", "everything is allowed without asking", render.Danger)
	default:
		add("permissions", f.Permissions, render.Base)
	}
	switch f.Sandbox {
	case "":
	case "off":
		add("sandbox", "none (--sandbox auto)", render.Dim)
	case "auto":
		add("sandbox", "bubblewrap, if it holds", render.Base)
	default:
		add("sandbox", "bubblewrap, or no agent starts", render.Base)
	}
}
