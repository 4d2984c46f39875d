package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/pages"
)

// begun is a beginning that is under way, and what became of the last one.
type begun struct {
	under   bool
	what    Begin
	trouble contract.Error // that kept the last life from having an agent
	gone    bool           // it has ended, and that was not dealt with yet
}

// inspect looks for what there is to work with.
func (d *app) inspect(ctx context.Context) {
	found := d.f.options.Host.Inspect(ctx)
	d.f.post(func() {
		d.found, d.known = found, true
		_, first := d.screen().(*firstScreen)
		switch {
		case d.run != nil && !first || d.begun.under:
		case d.lacks():
			d.base(newFirstScreen(d))
		case first:
			d.base(newHomeScreen(d))
			d.write()
		}
		d.askTrust()
	})
}

// lacks reports whether something keeps a run from beginning, as far as is known.
func (d *app) lacks() bool {
	_, lack := d.lack()
	return lack
}

func (d *app) lack() (pages.Lack, bool) {
	f := d.found
	switch {
	case !d.known || d.rehearse || d.state != nil && d.state.Options.Rehearsal:
		return 0, false
	case f.Claude == "" && f.Missing:
		return pages.NoClaude, true
	case f.Claude == "":
		return pages.OddClaude, true
	case f.Login == LoginNo:
		return pages.LoggedOut, true
	}
	return 0, false
}

// begin starts a run, or takes one up: a worker asks the host, and what was said in
// earlier lives is told first.
func (d *app) begin(b Begin) {
	if d.begun.under {
		d.flash("Patience. The thread is being laid.")
		return
	}
	d.begun = begun{under: true, what: b}
	d.base(d.runScreen)
	f := d.f
	f.work(func(ctx context.Context) {
		run, err := f.beginRun(ctx, b)
		f.post(func() { d.began(run, err) })
	})
}

// beginRun tells what was and begins what is to be. It runs on a worker.
func (f *Frontend) beginRun(ctx context.Context, b Begin) (Run, error) {
	if b.Resume != "" && !slices.ContainsFunc(f.recalled, func(id string) bool {
		return strings.HasPrefix(id, b.Resume) || strings.HasPrefix(b.Resume, id)
	}) {
		if err := f.recall(ctx, b.Resume); err != nil {
			return nil, err
		}
		f.recalled = append(f.recalled, b.Resume) // also if it is refused below
	}
	held := heldSink{to: f.box.put}
	began := time.Now()
	run, err := f.options.Host.Begin(ctx, b, held.put)
	if err == nil && f.resumed.run == b.Resume {
		f.recallMissed(ctx, began)
		f.resumed = resumed{} // from now on the run tells all by itself
	}
	held.release()
	if err == nil {
		f.recalled = append(f.recalled, run.ID())
		if b.Resume == "" {
			f.work(func(ctx context.Context) { f.keptBy(ctx, run.ID()) })
		}
	}
	return run, err
}

// began follows the run that was begun.
func (d *app) began(run Run, err error) {
	what := d.begun.what
	d.begun.under = false
	if err != nil {
		if d.run == nil {
			d.base(newHomeScreen(d))
		}
		d.tell("It cannot begin", err.Error())
		if d.input.Empty() && what.Task != "" {
			d.input.SetText(what.Task) // not lost
		}
		d.write()
		return
	}
	d.run, d.state = run, run.Snapshot()
	d.f.follow(run)
	d.f.await(run, func() { d.f.post(d.gone) })
}

// await does something when a run and all that belonged to it have ended.
func (f *Frontend) await(run Run, then func()) {
	f.work(func(ctx context.Context) {
		select {
		case <-run.Done():
			then()
		case <-ctx.Done():
		}
	})
}

// gone is called when a run has ended, and all that belonged to it. What it told last
// may still be on its way, and is heard first.
func (d *app) gone() { d.begun.gone = true }

// parted takes over how the present run ended, once all of it was heard.
func (d *app) parted() {
	if !d.begun.gone || !d.f.box.empty() {
		return
	}
	d.begun.gone = false
	if d.run == nil || !d.over() {
		return
	}
	d.state = d.run.Snapshot()
	if o := d.run.Outcome(); o.Exit == contract.ExitBug {
		d.tell("It has come to harm", o.Text)
	}
	for _, what := range d.run.Outcome().Unfinished {
		d.flash("Did not end in time: " + what)
	}
	if d.first(d.begun.trouble) {
		d.f.work(d.inspect)
		d.base(newFirstScreen(d))
	}
}

// first notes an error of a run that has no agent yet, and reports whether it is one that
// the first screen deals with.
func (d *app) first(e contract.Error) bool {
	switch e.Category {
	case "claude_missing", "unsupported", "auth":
		d.begun.trouble = e
		return len(d.agents()) <= 1
	}
	return false
}

// ended takes the result over: what it says stays in sight, and another word goes on.
func (d *app) ended(r contract.Result) {
	switch r.Status {
	case contract.StatusComplete:
		d.flash("It is done.")
	case contract.StatusFailed:
		d.flash("It failed: " + r.Summary)
	case contract.StatusCancelled:
		if len(r.HalfDone) > 0 {
			d.flash("Stopped. What was left half-done is told above.")
		}
	case contract.StatusLimit:
		d.flash("A limit was reached: " + r.Summary)
	}
}

// say sends what was written.
func (d *app) say(text string) bool {
	switch {
	case d.leaving:
		d.flash("The threads are being laid down.")
		return false
	case d.begun.under:
		d.flash("Patience. The thread is being laid.")
		return false
	case d.run == nil:
		if d.lacks() {
			d.base(newFirstScreen(d))
			d.flash("Nothing can be begun yet; your words are kept.")
			return false
		}
		d.remember(text)
		d.begin(Begin{Task: text, Rehearse: d.rehearse})
		return true
	case d.over():
		d.remember(text)
		d.begin(d.again(text))
		return true
	case d.ending():
		d.flash("The run is ending. Say it again in a moment.")
		return false
	case d.queued.id != "":
		return d.reword(text)
	}
	if !d.send(contract.Say{Text: text, To: d.to, Strength: d.strength()}) {
		return false
	}
	d.remember(text)
	d.force = contract.Note
	d.runScreen.talk.Bottom()
	return true
}

// unsaid gives a word back that the run could not take any more.
func (d *app) unsaid(c contract.CommandBody) {
	d.flash("The run is over.")
	if say, ok := c.(contract.Say); ok && d.input.Empty() {
		d.input.SetText(say.Text)
		d.write()
	}
}

// again is what a word leads to when the run is over: it goes on, unless it never had
// an agent.
func (d *app) again(text string) Begin {
	if !d.state.Reached() {
		return Begin{Task: text, Rehearse: d.begun.what.Rehearse}
	}
	return Begin{Task: text, Resume: d.run.ID()}
}

// ending reports whether the run is on its way out.
func (d *app) ending() bool { return d.state != nil && d.state.Ending != nil }

func (d *app) remember(text string) {
	host := d.f.options.Host
	d.f.work(func(context.Context) { host.Remember(text) })
}

// send gives the run a command.
func (d *app) send(b contract.CommandBody) bool {
	if d.run == nil || d.over() {
		d.flash("There is no run. Speak, and one begins.")
		return false
	}
	if err := d.f.command(d.run, contract.Command{Ref: b.CommandType(), Body: b}); err != nil {
		d.flash(sanitize.Line(err.Error(), 200))
		return false
	}
	return true
}
