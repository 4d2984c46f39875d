package tui

import (
	"slices"
	"strings"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
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
	return func(a tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		if a == tview.MouseLeftClick && o.page.ThreadsAt(e.Position()) {
			o.d.open(newRunsScreen(o.d))
		}
		return a == tview.MouseLeftClick, nil
	}
}

func (o *homeScreen) renew() {
	f := o.d.session.found
	data := view.HomeData{Words: []string{"Speak, mortal."}, Now: now(), Threads: len(f.Runs), Hint: "F4",
		Warnings: o.d.session.dangers()}
	if len(f.Runs) > 0 {
		data.Newest, data.NewestAt = sanitize.Line(f.Runs[0].Title, 300), f.Runs[0].LastActive
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
		add("not trusted", "it is not as you trusted it (/trust)", render.Warn)
	} else if f.Trust.Problem != "" {
		add("not trusted", f.Trust.Problem, render.Warn)
	} else {
		what := append(slices.Clone(f.Trust.Texts), "its own settings")
		add("not trusted", sanitize.Line(strings.Join(what, " and "), 200)+" are not loaded (/trust)", render.Dim)
	}
	return list
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
