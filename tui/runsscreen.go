package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// renewRuns is how often the list of runs is read again while it is visible.
const renewRuns = 5 * time.Second

// lastWords is how many of the last events of a run its preview shows.
const lastWords = 20

// runsScreen lists the runs of all directories.
type runsScreen struct {
	listScreen
	list    []RunInfo // all of them
	known   bool      // all are in the list; otherwise only the resumable ones of this directory
	problem string    // why the list is incomplete
	busy    bool      // a worker is reading the list
	read    time.Time // when it last read it
	past    map[string]pastWords
}

// pastWords are the last events of a run.
type pastWords struct {
	run     RunInfo // as it was when they were read
	entries []history.Entry
	note    string // replaces them
}

func newRunsScreen(d *app) *runsScreen {
	r := &runsScreen{past: map[string]pastWords{}}
	r.listScreen = newListScreen(d, keys.Sessions, "RUNS", view.ListColumn{Head: "TASK", Wide: true},
		view.ListColumn{Head: "STATE", Most: 14}, view.ListColumn{Head: "AGE", Right: true, Falls: true},
		view.ListColumn{Head: "COST", Right: true, Falls: true}, view.ListColumn{Head: "DIRECTORY", Tail: true, Most: 30})
	r.Preview, r.click, r.chose = r.preview, r.enter, r.show
	return r
}

// renew implements screen: it makes the runs be listed, and again from time to time.
func (r *runsScreen) renew() {
	if !r.known {
		r.list = r.d.session.found.Runs
	}
	r.show()
	if r.busy || now().Sub(r.read) < renewRuns {
		return
	}
	r.busy = true
	ask(r.d.f, r.d.f.options.Host.Runs, func(list []RunInfo, err error) {
		r.busy, r.read, r.problem = false, now(), ""
		if err != nil {
			r.problem = sanitize.Line(err.Error(), 300)
		} else {
			r.list, r.known = list, true
		}
		r.show()
	})
}

// show makes the page list the runs, and reads the end of the current one.
func (r *runsScreen) show() {
	rows, live := make([]view.ListRow, 0, len(r.list)), 0
	for _, run := range r.list {
		if run.Live {
			live++
		}
		rows = append(rows, runRow(run))
	}
	r.Set(rows)
	found, all := r.Len()
	notes := []string{words.Count(all, "run")}
	if live > 0 {
		notes = append(notes, fmt.Sprintf("%d live", live))
	}
	if found < all {
		notes = append(notes, fmt.Sprintf("%d of %d", found, all))
	}
	r.Empty = "There is no run yet."
	switch {
	case r.problem != "":
		notes = append(notes, r.problem)
	case !r.known:
		notes = append(notes, "reading …")
	}
	r.Note = render.Of(render.Dim, strings.Join(notes, ", "))
	r.readPast()
}

// runTones are the roles of the states of a run.
var runTones = map[string]render.Role{"live": render.Active, "complete": render.Good, "failed": render.Bad,
	"damaged": render.Bad, "incomplete": render.Warn, "interrupted": render.Warn, "needs_input": render.Warn,
	"limit": render.Warn, "cancelled": render.Warn}

func runRow(run RunInfo) view.ListRow {
	title := render.Of(render.Base, view.Plain(cmp.Or(run.Title, run.ID)))
	if run.Rehearsal {
		title = title.Append(render.Warn, " rehearsal")
	}
	cost, dir := eventtext.Total(run.CostUSD, run.Rehearsal, run.CostUnknown), view.Plain(run.CWD)
	return view.ListRow{
		Key: run.ID, Value: run, Find: run.ID + "\n" + run.Title + "\n" + run.CWD + "\n" + run.Status,
		Cells: []render.Line{title, render.Of(runTones[run.Status], view.SlashWord(run.Status)),
			render.Of(render.Dim, view.Age(run.LastActive, now())), render.Of(render.Base, cost),
			render.Of(render.Dim, dir)},
		Sort: []string{strings.ToLower(run.Title), run.Status, run.LastActive.UTC().Format(time.RFC3339),
			fmt.Sprintf("%012.4f", run.CostUSD), dir},
	}
}

// preview shows what is known of a run, and its last events.
func (r *runsScreen) preview(row view.ListRow, width int) []render.Line {
	run := row.Value.(RunInfo)
	lines := render.WrapText(render.Strong, view.Plain(cmp.Or(run.Title, run.ID)), width)
	sep := " " + r.d.look.Glyphs.Separator + " "
	about := view.SlashWord(run.Status) + sep + short(view.Plain(run.ID)) + sep + words.Size(run.Bytes)
	lines = append(lines, render.WrapText(render.Dim, about, width)...)
	if run.CWD != "" {
		lines = append(lines, render.WrapText(render.Dim, view.Plain(run.CWD), width)...)
	}
	past := r.past[run.ID]
	if len(past.entries) == 0 {
		lines = append(append(lines, nil), render.WrapText(render.Dim, cmp.Or(past.note, "Reading …"), width)...)
	}
	for _, e := range past.entries {
		card := view.EventTalk(e, view.EventOptions{Width: width, Look: r.d.look, Now: now(),
			Simulated: run.Rehearsal})
		if len(card.Head) > 0 {
			lines = append(lines, nil, view.HeadLine(card.Head, width, r.d.look.Glyphs.Ellipsis))
		}
		lines = append(lines, card.Lines...)
	}
	return lines
}

// readPast makes a worker read the end of the current run, unless that is known.
func (r *runsScreen) readPast() {
	run, ok := chosen[RunInfo](r.List)
	if !ok {
		return
	}
	if known, ok := r.past[run.ID]; ok && known.run.LastActive.Equal(run.LastActive) {
		return
	}
	r.past[run.ID] = pastWords{run, r.past[run.ID].entries, ""}
	ask(r.d.f, func(ctx context.Context) ([]history.Entry, error) { return r.d.f.lastWords(ctx, run.ID) },
		func(entries []history.Entry, err error) {
			note := "No event was recorded."
			if err != nil {
				note = sanitize.Line(err.Error(), 300)
			}
			r.past[run.ID] = pastWords{run, entries, note}
		})
}

// lastWords reads the last events of the conversation of a run, the last one first.
func (f *Frontend) lastWords(ctx context.Context, run string) ([]history.Entry, error) {
	log, err := f.options.Host.Past(ctx, run)
	if err != nil || log == nil {
		return nil, err
	}
	defer log.Close()
	end, err := history.Recent(ctx, log, recentEvents)
	store := history.New(history.Memory)
	store.Past(log, journal.LogPosition{})
	for _, e := range end.Events {
		if _, wrong := store.Recall(e); wrong != nil {
			err = wrong
		}
	}
	var list []history.Entry
	for i := store.Talk().Len() - 1; i >= 0 && len(list) < lastWords; i-- {
		if e, ok := store.Talk().Entry(i); ok {
			list = append(list, e)
		}
	}
	return list, err
}

func (r *runsScreen) act(a keys.Action) bool {
	switch run, ok := chosen[RunInfo](r.List); {
	case a == keys.Choose:
		r.enter()
	case a != keys.TakeUp && a != keys.Report:
		return r.listScreen.act(a)
	case !ok:
	case a == keys.TakeUp:
		r.take(run)
	default:
		r.report(run)
	}
	return true
}

// enter performs the most likely action on the current run.
func (r *runsScreen) enter() {
	run, ok := chosen[RunInfo](r.List)
	switch {
	case !ok:
	case run.Finished && !run.Live:
		r.report(run)
	default:
		r.take(run)
	}
}

// take shows an active run, or resumes one; if that is not possible here, it says how to do it.
func (r *runsScreen) take(run RunInfo) {
	s := &r.d.session
	name := short(sanitize.Line(run.ID, 40))
	switch {
	case s.runs() && s.run.ID() == run.ID:
		r.d.base(r.d.runScreen)
	case s.runs():
		r.d.flash("A run is being played here. In another terminal: " + s.elsewhere(run, name))
	case run.Live || run.Resumable && run.Here:
		s.begin(Begin{Resume: run.ID})
	case run.Resumable:
		r.d.flash("It is a run of another directory: " + s.elsewhere(run, name))
	default:
		r.d.flash("It cannot be resumed: it is " + words.Quote(sanitize.Line(run.Status, 40)) + ".")
	}
}

// elsewhere returns the command that shows or resumes a run in another terminal.
func (s *session) elsewhere(run RunInfo, name string) string {
	if run.Live {
		return "arbiter attach " + name + s.found.State
	}
	return "arbiter --resume --session " + name + s.found.State
}

func (r *runsScreen) report(run RunInfo) {
	r.d.readText("THE REPORT", func(ctx context.Context) (string, error) { return r.d.f.options.Host.Report(ctx, run.ID) })
}
