package tui

import (
	"context"
	"slices"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/notify"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// screen is one of the screens the app shows. It belongs to tview's loop.
type screen interface {
	// context names the keys that work on it, when the input has not the keyboard.
	context() keys.Context
	// draw paints a rectangle.
	draw(s tcell.Screen, x, y, w, h int)
	// act does what a key stands for, and reports whether it meant anything here.
	act(a keys.Action, key string) bool
	// mouse is tview's mouse handler of the picture, nil for none.
	mouse() mouseHandler
	// writes reports whether the input line stands below it.
	writes() bool
	// renew is called after the state or the look changed.
	renew()
}

type mouseHandler = func(tview.MouseAction, *tcell.EventMouse, func(tview.Primitive)) (bool, tview.Primitive)

// app is the root of what is drawn: a stack of screens, the input line, the status
// line, and what lies over them. It belongs to tview's loop, all of it.
type app struct {
	*tview.Box
	f     *Frontend
	look  *render.Look
	run   Run
	state *supervisor.State // the last snapshot; nil before the first run
	found Findings
	known bool // found was

	rehearse bool // what is begun is a rehearsal
	chosen   bool // a person chose the colours here

	screens    []screen // the one in sight is the last
	runScreen  *runScreen
	input      *editor.Editor
	line       *pages.Status
	reading    bool     // the keyboard belongs to the screen, not to the input
	top        int      // row of the input line, as drawn last
	tab        *dialog  // what is asked of a person, nil if nothing
	trustAsked bool     // whether the workspace is trusted was asked
	dismissed  []string // permission requests that were put aside, or just answered
	queued     queuedEdit
	denied     string // the request whose refusal is being written
	leaving    bool   // the run is being stopped, and then the face ends
	to         string
	force      string // note, steer, stop: of the next word
	word       flash
	bell       notify.State
	begun      begun
	search     searchBar
	picker     pickerPopup // a list to choose from, over everything
	trouble    trouble
	way        int          // row of the ways out, as drawn last; -1: it was not
	draft      *slash.Draft // the plan with a person's changes; nil: there are none
}

// flash is an answer that stays for a moment.
type flash struct {
	text  string
	until time.Time
}

const flashFor = 6 * time.Second

func newApp(f *Frontend, look *render.Look) *app {
	d := &app{Box: tview.NewBox(), f: f, look: look, force: contract.Note}
	d.line = pages.NewStatus(look)
	d.input = editor.New(look)
	d.input.OnSend, d.input.OnCommand = d.say, d.slash
	d.input.OnCopy, d.input.OnNotice = d.copy, d.flash
	d.input.Completer = d.complete
	d.runScreen = newRunScreen(d)
	d.rehearse = f.options.Rehearsal
	d.screens = []screen{newHomeScreen(d)}
	d.prompt()
	d.input.Focus(func(tview.Primitive) {})
	return d
}

// HasFocus implements tview.Primitive: every key and paste comes here first.
func (d *app) HasFocus() bool { return true }

// start is run once, when the loop is there. What takes time comes after the first
// frame.
func (d *app) start() {
	d.f.work(d.inspect)
	d.f.work(func(context.Context) {
		before := d.f.options.Host.Inputs()
		d.f.post(func() { d.input.Seed(before) })
	})
	if b := d.f.options.Begin; b != nil {
		d.begin(*b)
	}
}

// screen is the one in sight.
func (d *app) screen() screen { return d.screens[len(d.screens)-1] }

// open shows a screen over the present one; one of the same kind takes its place.
func (d *app) open(s screen) {
	if d.screen().context() == s.context() && len(d.screens) > 1 && d.asking() == nil {
		d.screens = d.screens[:len(d.screens)-1]
	}
	d.screens = append(d.screens, s)
	s.renew()
	d.prompt()
}

// back returns to the screen below.
func (d *app) back() {
	if len(d.screens) > 1 {
		d.screens = d.screens[:len(d.screens)-1]
	}
	d.screen().renew()
	d.prompt()
	if g := d.asking(); g != nil && g.own {
		g.ask.Arm(now()) // it is in sight again, and did not come by a key
	}
	d.askNext()
}

// base makes a screen the only one.
func (d *app) base(s screen) {
	d.screens = append(d.screens[:0], s)
	s.renew()
	d.prompt()
}

// write gives the keyboard to the input, read to the screen.
func (d *app) write() {
	d.reading = false
	d.prompt()
}

func (d *app) read() {
	d.reading = true
	d.prompt()
}

// writing reports whether the input has the keyboard.
func (d *app) writing() bool { return !d.reading && d.screen().writes() && d.asking() == nil }

// context names the keys that work now.
func (d *app) context() keys.Context {
	switch {
	case d.asking() != nil:
		return keys.Ask
	case d.writing():
		return keys.Insert
	}
	return d.screen().context()
}

// flash shows an answer for a moment.
func (d *app) flash(text string) {
	d.word = flash{text: sanitize.Line(text, 400), until: time.Now().Add(flashFor)}
}

// refresh takes over what the run came to.
func (d *app) refresh(news []contract.Event) {
	if d.run != nil {
		d.state = d.run.Snapshot()
	}
	for _, e := range news {
		d.onEvent(e)
	}
	d.parted()
	d.noticeSent()
	if time.Now().After(d.word.until) {
		d.word = flash{}
	}
	if d.unsaved() {
		d.follow() // also while another screen is in sight
	}
	d.screen().renew()
	d.prompt()
	if d.tab != nil && d.tab.ways != nil && !slices.Equal(d.tab.ways, d.trouble.from) {
		d.tab = nil // it is over, or another one
	}
	d.askNext()
	d.ring()
}

// onEvent reacts to an event; to one that only narrates nothing does.
func (d *app) onEvent(e contract.Event) {
	switch b := e.Body.(type) {
	case contract.Rejected:
		d.flash("Refused: " + b.Message)
		switch b.Ref {
		case "permission":
			d.dismissed = nil // it is asked again
		case "edit_message":
			d.unedited()
		}
	case contract.Accepted:
		// The command's type is its ref. What is seen at once needs no word.
		if b.Ref != "message" && b.Ref != "permission" && b.Ref != "interrupt" {
			d.flash(b.Message)
		}
		switch b.Ref {
		case "choose", "retry", "skip_step", "reset", "force_agent":
			d.relieved()
		}
	case contract.Takeover:
		if b.State != "began" { // what was said when it began is over
			d.word = flash{}
		}
	case contract.Error:
		if !d.first(b) {
			d.flash(b.Message)
		}
		d.troubled(e.ID, b)
	case contract.Turn:
		if b.Outcome == "done" && e.ID == d.trouble.id {
			d.relieved() // it works again
		}
	case contract.State:
		if machine.State(b.From) == machine.Error {
			d.relieved()
		}
	case contract.Result:
		d.relieved()
		d.ended(b)
	case contract.Session:
		if !b.Resumed { // another run, another plan
			d.draft = nil
		}
		d.relieved()
		if d.state != nil && d.state.Task.Phase == machine.Error && b.Resumed {
			d.trouble = trouble{id: contract.Supervisor, from: d.state.RecoveryOptions, text: "The run was left in trouble."}
			if f := d.state.Task.LastError; f != nil {
				d.trouble.text = f.Message
			}
		}
		d.base(d.runScreen)
	}
}

// pace is how soon the next frame is due.
func (d *app) pace() time.Duration {
	next := lively(d.state, d.look.Still)
	if d.begun.under {
		next = motionFrame
	}
	if d.run == nil && !d.begun.under {
		next = 0
	}
	if d.word.text != "" {
		if left := max(time.Until(d.word.until), time.Millisecond); next == 0 || left < next {
			next = left
		}
	}
	if g := d.asking(); g != nil && !g.ask.Armed(now()) && (next == 0 || next > motionFrame) {
		next = motionFrame // its choices light up
	}
	return next
}

// ring tells the terminal when a person is needed, and keeps its title true.
func (d *app) ring() {
	moment := d.moment()
	d.f.screen.setTitle(notify.Title(moment))
	d.f.screen.write(d.bell.Ring(d.f.options.Notify, moment))
}

// setLook changes how everything is drawn.
func (d *app) setLook(look *render.Look) {
	d.look = look
	d.line.SetLook(look)
	d.input.SetLook(look)
	if d.tab != nil {
		d.tab.ask.SetLook(look)
	}
	d.runScreen.renew()
	for _, s := range d.screens {
		s.renew()
	}
}

// background has the colours follow what the terminal said of its own.
func (d *app) background(c render.RGB) {
	d.f.options.Around.Background = &c
	if d.chosen {
		return // a person did meanwhile
	}
	if look, err := newLook(d.f.options, d.f.screen.Colors()); err == nil {
		d.setLook(look)
	}
}

// name is how a party is called.
func (d *app) name(id string) string { return slash.Name(d.state, id) }

// copy puts a text on the terminal's clipboard, which is a person's act alone.
func (d *app) copy(text string) {
	if text == "" {
		d.flash("There is nothing to copy.")
		return
	}
	d.f.screen.SetClipboard([]byte(text))
	d.flash(copied(text))
}
