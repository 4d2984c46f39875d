// Package tui is the full-screen frontend: it shows the state of a run, and turns keys into
// commands. It starts no process and opens no terminal itself; a [Host] does that for it.
//
// Three goroutines, all waited for by [Frontend.Run]: tview's loop, which alone draws and
// takes keys; the pump, which alone writes the history and asks the loop to draw, at
// most every [frame]; and a worker for what may take time (beginning a run, searching
// a long history). Events come in through a mailbox that never blocks the run.
package tui

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// screen is one of the screens that the app shows. It belongs to tview's loop.
type screen interface {
	// context names the keys that work on it while the input does not have the keyboard.
	context() keys.Context
	// draw paints a rectangle.
	draw(s tcell.Screen, x, y, w, h int)
	// act performs an action, and reports whether it has a meaning here.
	act(a keys.Action) bool
	// mouse returns a mouse handler; a drag goes on in the primitive that the handler returns.
	mouse() mouseHandler
	// writes reports whether the input line stands below it.
	writes() bool
	// renew is called after the state changed.
	renew()
}

type mouseHandler = func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive)

// app is the root of what is drawn: a stack of screens, the input line, the status line, and popups over
// them. It and all its parts belong to tview's loop.
type app struct {
	*tview.Box
	f    *Frontend
	look *render.Look

	session     session
	prompt      prompt
	dialogs     dialogs
	permissions permissions
	inbox       inboxPanel
	shell       shell
	recovery    recovery
	queuedEdits queuedEdits
	plan        planDraft
	search      searchBar
	picker      picker // a list to choose from, over everything

	screens   []screen // the last one is visible
	runScreen *runScreen
	line      *view.PageStatus
	top       int  // row of the input line, as last drawn
	way       int  // row of the ways out, as drawn last; -1: it was not
	chosen    bool // the person chose the colours here
	word      flash
	bell      render.NotifyState
	chimes    render.NotifyState // of sounds
}

// flash is an answer that is shown for a moment.
type flash struct {
	text  string
	until time.Time
}

const flashFor = 6 * time.Second

func newApp(f *Frontend, look *render.Look) *app {
	d := &app{Box: tview.NewBox(), f: f, look: look}
	d.session = session{d: d, rehearse: f.options.Rehearsal, client: rand.Text()}
	d.prompt = newPrompt(d)
	d.dialogs, d.permissions, d.recovery = dialogs{d: d}, permissions{d: d}, recovery{d: d}
	d.queuedEdits, d.plan, d.inbox = queuedEdits{d: d}, planDraft{d: d}, inboxPanel{d: d}
	d.shell = shell{d: d, limit: shellLimit}
	d.line = view.NewStatus(look)
	d.runScreen = newRunScreen(d)
	d.screens = []screen{newHomeScreen(d)}
	d.prompt.relabel()
	d.prompt.input.Focus(func(tview.Primitive) {})
	return d
}

// HasFocus implements tview.Primitive: every key and paste comes here first.
func (d *app) HasFocus() bool { return true }

// start is called once, when the loop runs. Work that takes time is done after the first frame.
func (d *app) start() {
	d.f.work(d.session.inspect)
	d.f.work(func(context.Context) {
		before := d.f.options.Host.Inputs()
		d.f.post(func() {
			d.prompt.input.Seed(before)
			d.session.newcomer = len(before) == 0
		})
	})
	if b := d.f.options.Begin; b != nil {
		d.session.begin(*b)
	} else if r := d.f.options.Ritual; r.Title {
		if r.Remember != nil {
			r.Remember(r.Human) // the title was shown today
		}
		d.open(&titleScreen{d: d})
	}
}

func (d *app) screen() screen { return d.screens[len(d.screens)-1] }

// open shows a screen over the current one; it replaces one of the same kind.
func (d *app) open(s screen) {
	if d.screen().context() == s.context() && len(d.screens) > 1 && d.dialogs.asking() == nil {
		d.screens = d.screens[:len(d.screens)-1]
	}
	d.screens = append(d.screens, s)
	s.renew()
	d.prompt.relabel()
}

func (d *app) back() {
	if len(d.screens) > 1 {
		d.screens = d.screens[:len(d.screens)-1]
	}
	d.screen().renew()
	d.prompt.relabel()
	if g := d.dialogs.asking(); g != nil && g.own {
		g.ask.Arm(now()) // it is visible again, and did not open by a key
	}
	d.permissions.askNext()
}

// base makes a screen the only one.
func (d *app) base(s screen) {
	d.screens = append(d.screens[:0], s)
	s.renew()
	d.prompt.relabel()
}

func (d *app) context() keys.Context {
	switch {
	case d.dialogs.asking() != nil:
		return d.dialogs.asking().context
	case d.prompt.writing():
		return keys.Insert
	}
	return d.screen().context()
}

func (d *app) flash(text string) {
	d.word = flash{text: sanitize.Line(text, 400), until: time.Now().Add(flashFor)}
}

func (d *app) refresh(events []contract.Event) {
	if d.session.run != nil {
		d.session.see(d.session.snapshot())
	}
	d.session.noticeNames()
	for _, e := range events {
		d.onEvent(e)
	}
	d.session.parted()
	d.queuedEdits.noticeSent()
	if time.Now().After(d.word.until) {
		d.word = flash{}
	}
	if d.plan.unsaved() {
		d.plan.follow() // also while another screen is visible
	}
	d.screen().renew()
	d.prompt.relabel()
	d.permissions.askNext()
	d.shell.renew()
	d.ring()
}

// onEvent reacts to an event; events that only narrate have no effect.
func (d *app) onEvent(e contract.Event) {
	switch b := e.Body.(type) {
	case contract.Rejected:
		kind, client, _ := strings.Cut(b.Ref, "-")
		if client != d.session.client {
			return
		}
		d.flash("Refused: " + b.Message)
		d.inbox.answered = nil // it is asked again
		switch kind {
		case "configure":
			d.permissions.sent = ""
		case "permission":
			d.permissions.dismissed = nil // it is asked again
		case "edit_message":
			d.queuedEdits.unedited()
		}
	case contract.Accepted:
		// If the effect is visible at once, no text is needed.
		kind, client, _ := strings.Cut(b.Ref, "-")
		if kind != "message" && kind != "permission" && kind != "interrupt" && d.permissions.sent == "" {
			d.flash(b.Message)
		}
		switch {
		case client != d.session.client:
		case kind == "configure":
			d.permissions.sent = ""
		case kind == "edit_message":
			d.queuedEdits.sent = ""
		}
	case contract.Takeover:
		if b.State != "began" { // texts from before it began no longer apply
			d.word = flash{}
		}
	case contract.Error:
		if !d.session.first(b) {
			d.flash(b.Message)
		}
		if len(b.RecoveryOptions) > 0 {
			d.recovery.seen = false
		}
	case contract.Result:
		switch b.Status {
		case contract.StatusComplete, contract.StatusIncomplete:
			d.flash(eventtext.Ending(b.Status))
		case contract.StatusFailed:
			d.flash("It failed: " + b.Summary)
		case contract.StatusCancelled, contract.StatusInterrupted:
			if len(b.InterruptedWork) > 0 {
				d.flash("Stopped. The lines above name what was left half-done.")
			}
		case contract.StatusLimit:
			d.flash("A limit was reached: " + b.Summary)
		}
	case contract.Session:
		if !b.Resumed { // another run has another plan
			d.plan.draft = nil
		}
		// What an earlier process was sent may be lost with it.
		d.permissions.dismissed = slices.DeleteFunc(d.permissions.dismissed, func(id string) bool {
			_, answered := d.inbox.answered[id]
			return answered // and not only put aside
		})
		d.permissions.sent, d.inbox.answered, d.queuedEdits.sent = "", nil, ""
		d.recovery.seen = false
		d.base(d.runScreen)
	}
}

func (d *app) pace() time.Duration {
	next := view.NextFrame(d.session.state, d.session.waits, d.look.Still)
	if d.session.begun.starting {
		next = view.MotionFrame
	}
	if d.session.run == nil && !d.session.begun.starting {
		next = 0
	}
	if !d.session.silent().IsZero() {
		next = time.Second // only the time of the silence advances
	}
	if t := d.title(); t != nil && t.walks() {
		next = walkFrame
	}
	within := func(left time.Duration) {
		if next == 0 || left < next {
			next = left
		}
	}
	if d.word.text != "" {
		within(max(time.Until(d.word.until), time.Millisecond))
	}
	if d.shell.card != nil && !d.shell.card.Over() {
		within(time.Second) // its time continues
	}
	if g := d.dialogs.asking(); g != nil {
		if left := g.ask.ArmedIn(now()); left > 0 {
			within(left) // its choices light up
		}
	}
	return next
}

// ring rings the terminal's bell when a person is needed, and keeps its title up to date.
func (d *app) ring() {
	moment := d.moment()
	d.f.screen.SetWindowTitle(render.TitleSequence(moment))
	d.f.screen.Send(d.bell.Ring(d.f.options.Notify, moment) + d.sound(moment))
}

// sound plays a sound when a person is needed or a run has ended, once for each, and returns the bells to
// ring instead.
func (d *app) sound(moment render.NotifyMoment) string {
	play := d.f.options.Ritual.Sound
	if play == nil {
		return ""
	}
	if _, due := d.chimes.Look(render.NotifyOptions{Bell: true, Finished: true}, moment); !due {
		return ""
	}
	cue := SoundAsked
	switch moment.Ended {
	case "", contract.StatusNeedsInput:
	case contract.StatusComplete:
		cue = SoundDone
	default:
		cue = SoundFailed
	}
	return strings.Repeat("\a", play(cue))
}

// background adapts the colours to the background that the terminal reported.
func (d *app) background(c render.RGB) {
	d.f.options.Around.Background = &c
	if d.chosen {
		return // the person chose them meanwhile
	}
	if look, err := newLook(d.f.options, d.f.screen.Colors()); err == nil {
		*d.look = *look
	}
}

// copy puts a text on the terminal's clipboard. Only a person's action may call it.
func (d *app) copy(text string) {
	if text == "" {
		d.flash("There is nothing to copy.")
		return
	}
	d.f.screen.SetClipboard([]byte(text))
	d.flash(copied(text))
}

// outside lends the terminal to the host, and reports whether it is ours again. If the terminal is gone,
// the frontend ends.
func (d *app) outside(do func(Host) error) bool {
	var err error
	d.f.app.Suspend(func() {
		d.f.lent.Store(true)
		err = do(d.f.options.Host)
		d.f.lent.Store(false)
	})
	if d.f.screen.Gone() != nil {
		return false
	}
	d.f.screen.ForgetTitle()
	d.f.screen.Sync()
	if err != nil {
		d.flash(err.Error())
	}
	return true
}

func (d *app) toInput() {
	for !d.screen().writes() && len(d.screens) > 1 {
		d.back()
	}
}

// copied reports how much was sent to the clipboard. A terminal does not report whether it took that.
func copied(text string) string {
	if n := strings.Count(text, "\n") + 1; n > 1 {
		return fmt.Sprintf("Sent %d lines to the terminal's clipboard.", n)
	}
	return fmt.Sprintf("Sent %s to the terminal's clipboard.", words.Count(len([]rune(text)), "character"))
}

// moment returns the state that the title and notifications show.
func (d *app) moment() render.NotifyMoment {
	m, s := render.NotifyMoment{ASCII: d.look.Glyphs == render.ASCII}, d.session.state
	if s == nil {
		return m
	}
	if d.session.found.CWD != "" {
		m.Where = filepath.Base(d.session.found.CWD)
	}
	for _, i := range d.session.waits {
		w := render.NotifyWait{Call: i.ID, For: eventtext.Asks(i, view.SlashName(s, i.Agent))}
		if i.Kind == supervisor.InboxPermission {
			w.Call = "permission " + i.Agent
		}
		m.Awaited = append(m.Awaited, w)
	}
	m.Word = strings.ToLower(eventtext.Phase(s.Task.Phase))
	if b := view.Stalled(s, d.session.waits); b != nil {
		m.Word = b.Trouble()
	}
	for _, a := range s.Agents {
		if a.Works() {
			m.Threads++
		}
	}
	if s.Ending != nil && s.Ending.Said {
		m.Ended = s.Ending.Status
	}
	return m
}

func now() time.Time { return time.Now() }

// scrolls is a page that is scrolled as a whole.
type scrolls interface {
	Up(int)
	Down(int)
	PageUp()
	PageDown()
	Top()
	Bottom()
}

func paint(p tview.Primitive, s tcell.Screen, x, y, w, h int) {
	p.SetRect(x, y, w, h)
	p.Draw(s)
}

// leaf performs an action on a page that is scrolled as a whole.
func leaf(p scrolls, a keys.Action) bool {
	switch a {
	case keys.Up, keys.PrevChoice:
		p.Up(1)
	case keys.Down, keys.NextChoice:
		p.Down(1)
	case keys.PageUp, keys.HalfUp:
		p.PageUp()
	case keys.PageDown, keys.HalfDown:
		p.PageDown()
	case keys.Top:
		p.Top()
	case keys.Bottom:
		p.Bottom()
	default:
		return false
	}
	return true
}

// wheel converts the wheel to scrolling, and a click to the action at that place.
func wheel(p scrolls, click func(x, y int)) mouseHandler {
	return func(a tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		switch a {
		case tview.MouseScrollUp:
			p.Up(3)
		case tview.MouseScrollDown:
			p.Down(3)
		case tview.MouseLeftClick:
			click(e.Position())
		default:
			return false, nil
		}
		return true, nil
	}
}

// planDraft is the plan with a person's changes, which outlive the screen.
type planDraft struct {
	d     *app
	draft *view.Draft // nil: there are no changes
}

// follow returns the draft of the plan, updated with the run's changes.
func (p *planDraft) follow() *view.Draft {
	if p.draft == nil {
		p.draft = view.NewDraft(p.d.session.state.Task.Plan)
	}
	if p.draft.Follow(p.d.session.state.Task.Plan) {
		if len(p.draft.Clashes()) > 0 {
			p.d.flash("The plan was changed by others where you changed it: see the notes.")
		} else {
			p.d.flash("The plan was changed by others; your changes are kept.")
		}
	}
	return p.draft
}

func (p *planDraft) unsaved() bool { return p.draft != nil && p.draft.Changed() }

func (d *app) themeCommand(c view.EditorCommand) bool {
	o := d.f.options
	o.Theme = c.Arg(0)
	look, err := newLook(o, d.f.screen.Colors())
	if err != nil {
		d.flash(err.Error())
		return false
	}
	d.chosen = true
	*d.look = *look
	return true
}
