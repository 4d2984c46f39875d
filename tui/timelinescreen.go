package tui

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// timelineScreen shows what the agents of the run did at which time.
type timelineScreen struct {
	d    *app
	view view.TimelineView
	x, y int // as last drawn
}

func (t *timelineScreen) context() keys.Context { return keys.Timeline }
func (t *timelineScreen) writes() bool          { return false }
func (t *timelineScreen) renew()                {}

func (t *timelineScreen) draw(s tcell.Screen, x, y, w, h int) {
	c := render.On(s, x, y, w, h, t.d.look)
	c.Clear(render.Base)
	t.x, t.y = x, y
	f := view.TimelineFrame{Look: t.d.look, Now: t.d.now(), Name: t.d.session.name}
	if t.d.f.partial {
		f.Note = "what came before is still being read"
	}
	c.Lines(0, t.d.f.timeline.Lines(&t.view, f, w, h))
}

// timelineMoves are the actions that move the cursor or change the scale.
var timelineMoves = sync.OnceValue(func() map[keys.Action]func(*view.TimelineView) {
	return map[keys.Action]func(*view.TimelineView){
		keys.Earlier:     func(v *view.TimelineView) { v.Move(-1) },
		keys.Later:       func(v *view.TimelineView) { v.Move(1) },
		keys.MuchEarlier: func(v *view.TimelineView) { v.Move(-v.Page()) },
		keys.MuchLater:   func(v *view.TimelineView) { v.Move(v.Page()) },
		keys.Top:         (*view.TimelineView).Home,
		keys.Bottom:      (*view.TimelineView).End,
		keys.PrevChoice:  func(v *view.TimelineView) { v.Lane(-1) },
		keys.NextChoice:  func(v *view.TimelineView) { v.Lane(1) },
		keys.ZoomIn:      func(v *view.TimelineView) { v.Zoom(1) },
		keys.ZoomOut:     func(v *view.TimelineView) { v.Zoom(-1) },
	}
})

func (t *timelineScreen) act(a keys.Action) bool {
	v := &t.view
	switch move := timelineMoves()[a]; {
	case move != nil:
		move(v)
	case a == keys.NextMoment, a == keys.PrevMoment:
		if !t.d.f.timeline.Step(v, t.d.now(), a == keys.PrevMoment) {
			t.d.flash("There is no notable event there.")
		}
	case a == keys.Choose:
		t.read()
	case a == keys.OpenFocus:
		t.look()
	case a == keys.Fork:
		t.askFork()
	default:
		return false
	}
	return true
}

// mouse makes a click select a place, and a second click read it.
func (t *timelineScreen) mouse() mouseHandler {
	return func(a tview.MouseAction, e *tcell.EventMouse, _ func(tview.Primitive)) (bool, tview.Primitive) {
		switch a {
		case tview.MouseScrollUp:
			t.view.Lane(-1)
		case tview.MouseScrollDown:
			t.view.Lane(1)
		case tview.MouseScrollLeft:
			t.view.Move(-1)
		case tview.MouseScrollRight:
			t.view.Move(1)
		case tview.MouseLeftClick:
			x, y := e.Position()
			if again, ok := t.view.Point(x-t.x, y-t.y); ok && again {
				t.read()
			}
		default:
			return false, nil
		}
		return true, nil
	}
}

func (t *timelineScreen) read() {
	p, ok := t.d.f.timeline.Point(&t.view, t.d.now())
	if !ok {
		t.d.flash("Nothing has happened yet.")
		return
	}
	t.d.base(t.d.runScreen)
	t.d.prompt.read()
	t.readAt(t.d.runScreen.talk, p.At)
}

func (t *timelineScreen) look() {
	p, ok := t.d.f.timeline.Point(&t.view, t.d.now())
	if !ok || p.Lane == contract.Human {
		t.d.flash("Choose the lane of an agent.")
		return
	}
	t.d.focusOn(p.Lane)
	if f, ok := t.d.screen().(*focus); ok {
		t.readAt(f.reader, p.At)
	}
}

// askFork asks whether to begin a run that continues this one from before the decision at the cursor.
func (t *timelineScreen) askFork() {
	run := t.d.runID()
	if run == "" {
		t.d.flash("Only a run of this state directory can be forked.")
		return
	}
	decision, ok := t.d.f.timeline.Decision(&t.view, t.d.now())
	if !ok {
		t.d.flash("Nothing has been decided yet.")
		return
	}
	t.d.dialogs.sure(fmt.Sprintf("Fork before decision %d?", decision.Number), "Not now", "Fork", func() {
		t.d.flash("Forking …")
		ask(t.d.f, func(ctx context.Context) (string, error) { return t.d.f.options.Host.Fork(ctx, run, decision.Number) },
			func(report string, err error) { t.d.dialogs.showReport("Forked", report, err) })
	}, render.Of(render.Base, decision.Text), render.Of(render.Dim,
		"A new run makes this decision again, with files of its own, in the background. This run stays as it is."))
}

// readAt shows the entry at a time, or the next one after it.
func (t *timelineScreen) readAt(r *reader, at time.Time) {
	thread := r.src.thread
	i := sort.Search(thread.Len(), func(i int) bool {
		e, ok := thread.Entry(i)
		return ok && !e.At.Before(at)
	})
	if i == 0 && t.d.f.partial {
		t.d.flash("What came before is still being read.")
	}
	i = min(i, thread.Len()-1)
	r.GoTo(i)
	r.Mark(i)
}

// controls are the actions of a playback.
var controls = sync.OnceValue(func() map[keys.Action]func(*view.Player) {
	return map[keys.Action]func(*view.Player){
		keys.Hold:     (*view.Player).Pause,
		keys.Faster:   func(p *view.Player) { p.Faster(1) },
		keys.Slower:   func(p *view.Player) { p.Faster(-1) },
		keys.JumpBack: func(p *view.Player) { p.Jump(-1) },
		keys.JumpOn:   func(p *view.Player) { p.Jump(1) },
		keys.PlayAnew: (*view.Player).Begin,
		keys.PlayOut:  (*view.Player).End,
	}
})

// controlled handles the mouse on the status line of a playback: a click pauses it, the wheel jumps.
func (d *app) controlled(a tview.MouseAction) bool {
	p := d.playback()
	if p == nil {
		return false
	}
	switch a {
	case tview.MouseLeftClick:
		p.Pause()
	case tview.MouseScrollUp:
		p.Jump(-1)
	case tview.MouseScrollDown:
		p.Jump(1)
	default:
		return false
	}
	return true
}

// playbackWord describes that this is a playback, and its position.
func playbackWord(s view.PlaybackStatus, look *render.Look) string {
	sep := " " + look.Glyphs.Separator + " "
	text := fmt.Sprintf("PLAYBACK %d×", s.Speed)
	switch {
	case s.Err != nil:
		text += sep + "the rest cannot be read"
	case s.Ended:
		text += sep + "the end"
	case s.Paused:
		text += sep + "paused"
	}
	if !s.At.IsZero() {
		text += sep + s.At.Local().Format("15:04:05")
	}
	return text
}

// stage passes the events of a playback to the frontend.
type stage struct{ f *Frontend }

// Add implements view.PlaybackStage.
func (s stage) Add(ctx context.Context, at time.Time, e contract.Event) bool {
	return s.f.box.recall(ctx.Done(), at, e)
}

// Forget implements view.PlaybackStage: it replaces the store by an empty one.
func (s stage) Forget(ctx context.Context) bool {
	f := s.f
	store := history.New(history.Memory)
	return f.now(ctx, func() {
		for more := true; more; {
			_, more = f.box.take(batchSize)
		}
		for _, log := range f.logs {
			store.Past(log, journal.LogPosition{})
		}
		f.history = store
		f.timeline.Become(&view.Timeline{})
		f.activity.Forget()
		f.root.search.moved()
		f.root.base(f.root.runScreen)
		f.root.runScreen.talk.show(&source{thread: store.Talk(), render: view.EventTalk, live: f.root.runScreen.speaking})
	})
}
