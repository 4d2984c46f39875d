package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
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
func (o *homeScreen) act(keys.Action) bool                { return false }
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
	data := view.HomeData{Now: now(), Threads: len(f.Runs),
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
	switch f.Permissions {
	case "":
	case string(runconfig.ModeAllowAll):
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
	if f.Trusted {
		add("trusted", "its settings and agents are loaded", render.Base)
	} else if f.Trust.Changed {
		add("not trusted", "it is not as you trusted it (/trust)", render.Warn)
	} else if f.Trust.Problem != "" {
		add("not trusted", f.Trust.Problem, render.Warn)
	} else if len(f.Trust.Items)+len(f.Trust.Texts) == 0 {
		add("trust", "nothing there needs trust", render.Dim)
	} else {
		what := append(slices.Clone(f.Trust.Texts), "its own settings")
		add("not trusted", sanitize.Line(strings.Join(what, " and "), 200)+" are not loaded (/trust)", render.Dim)
	}
	return list
}

// Ritual holds the decorative elements of the screen.
type Ritual struct {
	Title bool            // a title before the first input
	Scene bool            // the agents as figures, if there is room
	Human view.RitualKind // the figure of the person
	// Remember stores the name that the user chose; nil: it is not stored.
	Remember func(view.RitualKind)
	// Sound plays a sound without waiting for it, and returns how often the terminal's bell should ring
	// instead; nil: no sounds.
	Sound func(Sound) (bells int)
}

// Sound is the meaning of a sound.
type Sound int

// The sounds.
const (
	SoundAsked  Sound = iota // input of the person is awaited
	SoundDone                // the run is complete
	SoundFailed              // it has ended in another way
)

// walkFrame is the time between two frames of a walk.
const walkFrame = 100 * time.Millisecond

// titleScreen is shown over the home screen until a key is pressed. All keys except those that choose keep
// their effect.
type titleScreen struct {
	d      *app
	chosen view.RitualKind
	since  time.Time // when it was chosen
}

func (t *titleScreen) context() keys.Context { return keys.Everywhere }
func (t *titleScreen) writes() bool          { return false }
func (t *titleScreen) act(keys.Action) bool  { return false }
func (t *titleScreen) walks() bool           { return t.chosen != view.RitualNobody }

func (t *titleScreen) draw(s tcell.Screen, x, y, w, h int) {
	view.RitualTitle{Chosen: t.chosen, Walked: now().Sub(t.since)}.Draw(render.On(s, x, y, w, h, t.d.look), t.d.frame())
}

// renew implements screen: it closes the title when a walk has ended.
func (t *titleScreen) renew() {
	if t.walks() && now().Sub(t.since) >= view.RitualWalk {
		t.d.leaveTitle()
	}
}

func (t *titleScreen) mouse() mouseHandler {
	return func(a tview.MouseAction, _ *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		if a == tview.MouseLeftClick {
			t.d.leaveTitle()
		}
		return true, nil
	}
}

// key handles the keys that choose, and those that only continue; all others have the same effect as
// without a title.
func (t *titleScreen) key(e *tcell.EventKey) (taken bool) {
	if kinds := view.RitualKinds(); e.Key() == tcell.KeyRune && !t.walks() {
		if i := int(e.Rune() - '1'); i >= 0 && i < len(kinds) {
			t.chosen, t.since = kinds[i], now()
			t.d.f.options.Ritual.Human = t.chosen
			if keep := t.d.f.options.Ritual.Remember; keep != nil {
				keep(t.chosen)
			}
			if t.d.look.Still {
				t.d.leaveTitle()
			}
			t.d.f.post(t.renew) // from now on there is an animation
			return true
		}
	}
	t.d.leaveTitle()
	return e.Key() == tcell.KeyEnter || e.Key() == tcell.KeyEscape || e.Key() == tcell.KeyRune && e.Rune() == ' '
}

// title returns the title if it is visible; otherwise nil.
func (d *app) title() *titleScreen {
	t, _ := d.screen().(*titleScreen)
	return t
}

func (d *app) leaveTitle() {
	if d.title() != nil {
		d.back()
	}
}

// frame returns the number of the current frame of animations.
func (d *app) frame() int {
	if d.look.Still {
		return 0
	}
	every := view.MotionFrame
	if t := d.title(); t != nil && t.walks() {
		every = walkFrame
	}
	return int(now().UnixMilli() / every.Milliseconds())
}

// The room that the run screen must have for the scene.
const (
	sceneTileRows = 7   // for each tile, beside the scene
	sceneTalkRows = 20  // for the conversation, if there are no tiles
	sceneBeside   = 142 // columns for the scene beside the conversation
)

func (w *runScreen) drawScene(c render.Canvas) {
	human := w.d.f.options.Ritual.Human
	if !human.Known() {
		human = view.RitualSeeker
	}
	view.SnapshotScene(w.d.session.state, w.rows, human, w.d.now()).Draw(c, w.d.frame())
}

// sceneBelow returns how many rows the scene takes below the tiles; 0: there is no room.
func (w *runScreen) sceneBelow(rows int) int {
	took := view.RitualRows + 1
	if !w.d.f.options.Ritual.Scene || rows-took < sceneTileRows*max(len(w.rows), 2) {
		return 0
	}
	return took
}

// sceneBesides returns how many columns the scene takes beside the conversation; 0: there is no room.
func (w *runScreen) sceneBesides(columns, rows int) int {
	if !w.d.f.options.Ritual.Scene || columns < sceneBeside || rows < sceneTalkRows || len(w.rows) == 0 {
		return 0
	}
	return columns - (render.Prose + 6)
}
