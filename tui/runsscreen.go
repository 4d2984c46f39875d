package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// renewRuns is how often the list of runs is read again while it is visible.
const renewRuns = 5 * time.Second

// sessionsScreen lists the runs of all directories.
type sessionsScreen struct {
	d       *app
	page    *view.Sessions
	list    []RunInfo // all of them
	known   bool      // all are in the list; otherwise only the resumable ones of this directory
	problem string    // why the list is incomplete
	busy    bool      // a worker is reading
	read    time.Time // when it last read
	typing  bool      // the filter is being written
	text    string    // text of the filter
}

func newSessionsScreen(d *app) *sessionsScreen {
	return &sessionsScreen{d: d, page: view.NewSessions(d.look)}
}

func (r *sessionsScreen) context() keys.Context { return keys.Sessions }
func (r *sessionsScreen) writes() bool          { return false }

func (r *sessionsScreen) draw(s tcell.Screen, x, y, w, h int) {
	paint(r.page, s, x, y, w, h)
}

// renew implements screen: it makes the runs be listed, and again from time to time.
func (r *sessionsScreen) renew() {
	r.page.SetLook(r.d.look)
	if !r.known {
		r.list = r.d.session.found.Runs
	}
	r.show()
	if r.busy || now().Sub(r.read) < renewRuns {
		return
	}
	r.busy = true
	r.d.f.work(func(ctx context.Context) {
		list, err := r.d.f.options.Host.Runs(ctx)
		r.d.f.post(func() {
			r.busy, r.read, r.problem = false, now(), ""
			if err != nil {
				r.problem = sanitize.Line(err.Error(), 300)
			} else {
				r.list, r.known = list, true
			}
			r.show()
		})
	})
}

// show makes the page list what the filter finds.
func (r *sessionsScreen) show() {
	live := 0
	var found []RunInfo
	for _, run := range r.list {
		if run.Live {
			live++
		}
		if r.finds(run) {
			found = append(found, run)
		}
	}
	var notes []string
	if live > 0 {
		notes = append(notes, fmt.Sprintf("%d live", live))
	}
	if len(found) < len(r.list) {
		notes = append(notes, fmt.Sprintf("%d of %d", len(found), len(r.list)))
	}
	switch {
	case r.problem != "":
		notes = append(notes, r.problem)
	case !r.known:
		notes = append(notes, "reading …")
	}
	r.page.SetNote(strings.Join(notes, ", "))
	r.page.Set(runRows(found), now())
}

// finds reports whether a run's data contains all words of the filter.
func (r *sessionsScreen) finds(run RunInfo) bool {
	text := strings.ToLower(run.ID + "\n" + run.Title + "\n" + run.CWD + "\n" + run.Status)
	for word := range strings.FieldsSeq(strings.ToLower(r.text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// chosen returns the current run.
func (r *sessionsScreen) chosen() (RunInfo, bool) {
	row, ok := r.page.Chosen()
	i := slices.IndexFunc(r.list, func(i RunInfo) bool { return i.ID == row.ID })
	if !ok || i < 0 {
		return RunInfo{}, false
	}
	return r.list[i], true
}

func (r *sessionsScreen) mouse() mouseHandler {
	return wheel(r.page, func(x, y int) {
		if _, ok := r.page.At(x, y); ok {
			r.enter()
		}
	})
}

func (r *sessionsScreen) act(a keys.Action, _ string) bool {
	switch a {
	case keys.Choose:
		r.enter()
	case keys.TakeUp:
		if run, ok := r.chosen(); ok {
			r.take(run)
		}
	case keys.Report:
		if run, ok := r.chosen(); ok {
			r.report(run)
		}
	case keys.Filter:
		r.typing = true
	case keys.Back:
		if r.text == "" {
			r.d.back()
			return true
		}
		r.text = ""
		r.show()
	default:
		return leaf(r.page, a)
	}
	return true
}

// key handles the keys of a filter that is being written.
func (r *sessionsScreen) key(e *tcell.EventKey, key string) bool {
	if !r.typing {
		return false
	}
	switch {
	case key == "Esc" || key == "Ctrl+C":
		r.typing, r.text = false, ""
	case key == "Enter":
		r.typing = false
	case key == "Backspace":
		if t := []rune(r.text); len(t) > 0 {
			r.text = string(t[:len(t)-1])
		}
	case key == "Ctrl+U":
		r.text = ""
	case key == "Up":
		r.page.Up(1)
	case key == "Down":
		r.page.Down(1)
	case e.Key() == tcell.KeyRune:
		r.text = sanitize.Line(r.text+string(e.Rune()), 200)
	}
	r.show()
	return true
}

// enter performs the most likely action on the current run.
func (r *sessionsScreen) enter() {
	run, ok := r.chosen()
	switch {
	case !ok:
	case run.Finished && !run.Live:
		r.report(run)
	default:
		r.take(run)
	}
}

// take shows an active run, or resumes one; if that is not possible here, it says how to do it.
func (r *sessionsScreen) take(run RunInfo) {
	s := &r.d.session
	name := short(sanitize.Line(run.ID, 40))
	switch {
	case s.run != nil && !s.over() && s.run.ID() == run.ID:
		r.d.base(r.d.runScreen)
	case s.run != nil && !s.over():
		r.d.flash("A run is being played here. In another terminal: " + elsewhere(run, name))
	case run.Live || run.Resumable && run.Here:
		s.begin(Begin{Resume: run.ID})
	case run.Resumable:
		r.d.flash("It is a run of another directory: " + elsewhere(run, name))
	default:
		r.d.flash("It cannot be resumed: it is " + words.Quote(sanitize.Line(run.Status, 40)) + ".")
	}
}

// elsewhere returns the command that shows or resumes a run in another terminal.
func elsewhere(run RunInfo, name string) string {
	if run.Live {
		return "arbiter attach " + name
	}
	return "arbiter --resume --session " + name
}

// report shows the report of a run.
func (r *sessionsScreen) report(run RunInfo) {
	r.d.flash("Reading …")
	r.d.f.work(func(ctx context.Context) {
		text, err := r.d.f.options.Host.Report(ctx, run.ID)
		r.d.f.post(func() {
			if r.d.screen() != screen(r) {
				return // the user went on
			}
			r.d.word = flash{}
			if err != nil {
				r.d.flash(err.Error())
				return
			}
			r.d.open(newTextScreen(r.d, "THE REPORT", func(*supervisor.State) string { return text }))
		})
	})
}
