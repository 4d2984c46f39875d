package tui

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
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

func newTimelineScreen(d *app) *timelineScreen { return &timelineScreen{d: d} }

func (t *timelineScreen) context() keys.Context { return keys.Timeline }
func (t *timelineScreen) writes() bool          { return false }
func (t *timelineScreen) renew()                {}

func (t *timelineScreen) draw(s tcell.Screen, x, y, w, h int) {
	c := render.On(s, x, y, w, h, t.d.look)
	c.Clear(render.Base)
	t.x, t.y = x, y
	f := view.TimelineFrame{Look: t.d.look, Now: t.d.now(), Names: t.names()}
	if t.d.f.partial {
		f.Note = "what came before is still being read"
	}
	c.Lines(0, t.d.f.timeline.Lines(&t.view, f, w, h))
}

// names returns the names of the agents of the run, by their ids.
func (t *timelineScreen) names() map[string]string {
	names := map[string]string{}
	for _, a := range t.d.session.agents() {
		names[a.ID] = t.d.session.name(a.ID)
	}
	return names
}

func (t *timelineScreen) act(a keys.Action, _ string) bool {
	v := &t.view
	switch a {
	case keys.Earlier:
		v.Move(-1)
	case keys.Later:
		v.Move(1)
	case keys.MuchEarlier:
		v.Move(-v.Page())
	case keys.MuchLater:
		v.Move(v.Page())
	case keys.Top:
		v.Home()
	case keys.Bottom:
		v.End()
	case keys.PrevChoice:
		v.Lane(-1)
	case keys.NextChoice:
		v.Lane(1)
	case keys.ZoomIn:
		v.Zoom(1)
	case keys.ZoomOut:
		v.Zoom(-1)
	case keys.NextMoment, keys.PrevMoment:
		if !t.d.f.timeline.Step(v, t.d.now(), a == keys.PrevMoment) {
			t.d.flash("There is no notable event there.")
		}
	case keys.Choose:
		t.read()
	case keys.OpenFocus:
		t.look()
	case keys.Fork:
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
		case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
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

// read shows the conversation at the cursor's time.
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

// look shows the current agent at that time.
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
	run := t.d.changes.runID()
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
		t.fork(run, decision.Number)
	}, render.Of(render.Base, decision.Text), render.Of(render.Dim,
		"A new run makes this decision again, with files of its own, in the background. This run stays as it is."))
}

func (t *timelineScreen) fork(run string, at int) {
	t.d.flash("Forking …")
	ask(t.d.f, func(ctx context.Context) (string, error) { return t.d.f.options.Host.Fork(ctx, run, at) },
		func(report string, err error) { t.d.dialogs.showReport("Forked", report, err) })
}

// readAt shows the entry at a time, or the next one after it.
func (t *timelineScreen) readAt(r *reader, at time.Time) {
	thread := r.src.thread
	i := entryAt(thread, at)
	if i == 0 && t.d.f.partial {
		t.d.flash("What came before is still being read.")
	}
	i = min(i, thread.Len()-1)
	r.GoTo(i)
	r.Mark(i)
}

// entryAt returns the first entry of a thread at a time or after it; Len if there is none.
func entryAt(thread *history.Thread, at time.Time) int {
	return sort.Search(thread.Len(), func(i int) bool {
		e, ok := thread.Entry(i)
		return ok && !e.At.Before(at)
	})
}
