package tui

import (
	"context"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// begun is the start of a run in progress, and the outcome of the last one.
type begun struct {
	starting bool
	what     Begin
	failure  contract.Error // why the last process of the run has no agent
	gone     bool           // it has ended, which was not handled yet
}

// begin starts a run, or resumes one: a worker calls the host, after the events of earlier processes are
// shown.
func (s *session) begin(b Begin) {
	if s.begun.starting {
		s.d.flash("Patience. The thread is being laid.")
		return
	}
	b.Images = s.d.prompt.images.of(b.Task)
	s.begun = begun{starting: true, what: b}
	s.d.base(s.d.runScreen)
	f := s.d.f
	f.work(func(ctx context.Context) {
		run, err := f.beginRun(ctx, b)
		f.post(func() { s.began(run, err) })
	})
}

// beginRun shows the past and begins the run. It runs on a worker.
func (f *Frontend) beginRun(ctx context.Context, b Begin) (Run, error) {
	if b.Resume != "" && !slices.ContainsFunc(f.recalled, func(id string) bool {
		return strings.HasPrefix(id, b.Resume) || strings.HasPrefix(b.Resume, id)
	}) {
		if err := f.recall(ctx, b.Resume); err != nil {
			return nil, err
		}
		f.recalled = append(f.recalled, b.Resume) // even if it is refused below
	}
	if b.Resume != "" && f.resumed.run == b.Resume {
		b.After = f.resumed.next
	}
	run, err := f.options.Host.Begin(ctx, b, f.box.put)
	if err == nil {
		f.resumed = resumed{} // from now on the run sends all its events
		f.recalled = append(f.recalled, run.ID())
		if b.Resume == "" {
			f.work(func(ctx context.Context) { f.keptBy(ctx, run.ID()) })
		}
	}
	return run, err
}

// began handles the result of beginning a run.
func (s *session) began(run Run, err error) {
	what := s.begun.what
	s.begun.starting = false
	if err != nil {
		if s.run == nil {
			s.d.base(newHomeScreen(s.d))
		}
		s.d.dialogs.showText("It cannot begin", err.Error())
		if s.d.prompt.input.Empty() && what.Task != "" {
			s.d.prompt.input.SetText(what.Task) // so that it is not lost
		}
		s.d.prompt.write()
		return
	}
	s.run, s.state = run, run.Snapshot()
	s.d.f.follow(run)
	s.d.f.await(run, func() { s.d.f.post(s.gone) })
	if p := s.d.playback(); p != nil {
		s.d.prompt.read()
		s.d.f.work(func(ctx context.Context) { p.Play(ctx, stage{s.d.f}) })
	}
}

// await calls then when a run and everything that belongs to it has ended.
func (f *Frontend) await(run Run, then func()) {
	f.work(func(ctx context.Context) {
		select {
		case <-run.Done():
			then()
		case <-ctx.Done():
		}
	})
}

// gone is called when a run and everything that belongs to it has ended. Its last events may not have
// arrived yet, and are handled first.
func (s *session) gone() { s.begun.gone = true }

// parted handles the end of the current run, after all its events.
func (s *session) parted() {
	if !s.begun.gone || !s.d.f.box.empty() {
		return
	}
	s.begun.gone = false
	if s.run == nil || !s.over() {
		return
	}
	requests := s.run.Snapshot().Permission.Open
	s.state = s.snapshot()
	switch o := s.run.Outcome(); {
	case o.Lost && !s.leaving:
		for _, r := range requests { // the process that waited for them has gone
			s.d.f.box.put(now(), contract.Event{ID: r.Params.ID, Body: r.Withdrawal()})
		}
		s.d.dialogs.askResume()
	case o.Exit == contract.ExitBug || o.Lost:
		s.d.dialogs.showText("It has come to harm", o.Text)
	}
	for _, what := range s.run.Outcome().Unfinished {
		s.d.flash("Did not end in time: " + what)
	}
	if s.first(s.begun.failure) {
		s.d.f.work(s.inspect)
		s.d.beginning()
	}
}

// first records an error of a run that has no agent yet, and reports whether the first screen handles it.
func (s *session) first(e contract.Error) bool {
	switch e.Category {
	case "claude_missing", "unsupported", "auth":
		s.begun.failure = e
		return len(s.agents()) <= 1
	}
	return false
}

// ended handles the result of a run: its text stays visible, and a further message continues the run.
func (s *session) ended(r contract.Result) {
	switch r.Status {
	case contract.StatusComplete, contract.StatusIncomplete:
		s.d.flash(eventtext.Ending(r.Status))
	case contract.StatusFailed:
		s.d.flash("It failed: " + r.Summary)
	case contract.StatusCancelled, contract.StatusInterrupted:
		if len(r.InterruptedWork) > 0 {
			s.d.flash("Stopped. The lines above name what was left half-done.")
		}
	case contract.StatusLimit:
		s.d.flash("A limit was reached: " + r.Summary)
	}
}

// again returns the Begin for a message after the run's end: it continues the run, unless that never had an
// agent.
func (s *session) again(text string) Begin {
	if !s.state.Reached() {
		return Begin{Task: text, Rehearse: s.begun.what.Rehearse}
	}
	return Begin{Task: text, Resume: s.run.ID()}
}
