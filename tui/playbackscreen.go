package tui

import (
	"context"
	"fmt"
	"time"

	"github.com/rivo/tview"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// Playback is a run that is replayed from its event log: it takes no commands.
type Playback interface {
	Run
	Player() *view.Player
}

// playback returns the player of the current run; nil if the run is not a playback.
func (d *app) playback() *view.Player {
	if p, ok := d.session.run.(Playback); ok {
		return p.Player()
	}
	return nil
}

// now returns the time of what is shown: for a playback, the time in the run; for a run that does not answer, when it
// last did.
func (d *app) now() time.Time {
	if since := d.session.silent(); !since.IsZero() {
		return since
	}
	if p := d.playback(); p != nil {
		if at := p.Now(); !at.IsZero() {
			return at.In(time.Local)
		}
	}
	return now()
}

// replayed reports whether the run is a playback, and then shows that it takes no commands.
func (s *session) replayed() bool {
	if s.d.playback() == nil {
		return false
	}
	s.d.flash("This is a playback: it takes no commands.")
	return true
}

// control performs an action of a playback.
func control(p *view.Player, a keys.Action) bool {
	switch a {
	case keys.Hold:
		p.Pause()
	case keys.Faster:
		p.Faster(1)
	case keys.Slower:
		p.Faster(-1)
	case keys.JumpBack:
		p.Jump(-1)
	case keys.JumpOn:
		p.Jump(1)
	case keys.PlayAnew:
		p.Begin()
	case keys.PlayOut:
		p.End()
	default:
		return false
	}
	return true
}

// controlled handles the mouse on the status line of a playback: a click pauses it, the wheel jumps.
func (d *app) controlled(a tview.MouseAction) bool {
	p := d.playback()
	if p == nil {
		return false
	}
	switch a {
	case tview.MouseLeftClick, tview.MouseLeftDoubleClick:
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
	times, sep := "×", " "+look.Glyphs.Separator+" "
	if look.Glyphs == render.ASCII {
		times = "x"
	}
	text := fmt.Sprintf("PLAYBACK %d%s", s.Speed, times)
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
		f.subagents.Become(&view.Subagents{})
		f.timeline.Become(&view.Timeline{})
		f.activity.Forget()
		f.root.search.moved()
		f.root.base(f.root.runScreen)
		f.root.runScreen.talk.show(&source{thread: store.Talk(), render: view.EventTalk, live: f.root.runScreen.speaking})
	})
}
