package tui

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// session is the run that is shown: it inspects, begins, follows and leaves it.
type session struct {
	d     *app
	run   Run
	state *supervisor.State      // the last snapshot; nil before the first run
	inbox []supervisor.InboxItem // what waits for a person in it: decoded once, not in every frame
	waits []supervisor.InboxItem // the part of it that only a person can settle
	found Findings
	known bool // found was set

	names   string // what the layout of all events depends on: the names of agents, their directories, the day
	layouts uint64 // how often that changed

	newcomer bool // there is no earlier input

	rehearse bool // a run begun here is a rehearsal
	begun    begun
	leaving  bool   // the run is being stopped, and the frontend ends afterwards
	client   string // ends the refs of the commands of this screen: others send some, too
}

func (s *session) inspect(ctx context.Context) {
	found := s.d.f.options.Host.Inspect(ctx)
	s.d.f.post(func() {
		s.found, s.known = found, true
		if _, home := s.d.screens[0].(*homeScreen); home && !s.begun.starting {
			s.d.beginning()
		}
		s.d.dialogs.askTrust()
	})
}

// snapshot returns the current state of the run; of one that was interrupted, what is left of it.
func (s *session) snapshot() *supervisor.State {
	state := s.run.Snapshot()
	switch {
	case state == nil || !s.over() || !s.run.Outcome().Lost || state.Ending != nil && state.Ending.Said:
		return state
	case s.state != nil && s.state.WasInterrupted():
		return s.state
	}
	return state.Interrupted()
}

// see makes a snapshot the last one.
func (s *session) see(state *supervisor.State) {
	if state == s.state {
		return
	}
	if s.state, s.inbox = state, nil; state != nil && state.Ending == nil {
		s.inbox = supervisor.InboxOf(state)
	}
	s.waits = supervisor.Awaited(s.inbox)
}

// interrupted reports whether the process of the run has gone without an end.
func (s *session) interrupted() bool {
	return s.run != nil && s.state != nil && s.state.WasInterrupted()
}

// silent returns since when the run has not answered; zero: it answers, or there is none.
func (s *session) silent() (since time.Time) {
	if s.runs() {
		since = s.run.Silent()
	}
	return since
}

func (s *session) resume() { s.begin(Begin{Resume: s.run.ID(), Rehearse: s.begun.what.Rehearse}) }

func (s *session) noRun() {
	if s.interrupted() {
		s.d.flash("The run was interrupted. /resume continues it.")
	} else {
		s.d.flash("There is no run. Speak, and one begins.")
	}
}

func (s *session) ending() bool { return s.state != nil && s.state.Ending != nil }

// remember keeps what a person wrote, for later runs of the program.
func (s *session) remember(written string) {
	host := s.d.f.options.Host
	s.d.f.work(func(context.Context) { host.Remember(written) })
}

func (s *session) send(b contract.CommandBody) bool {
	if s.replayed() {
		return false
	}
	if !s.runs() {
		s.noRun()
		return false
	}
	if say, ok := b.(contract.Say); ok {
		say.Images = s.d.prompt.images.of(say.Text)
		b = say
	}
	select {
	case s.d.f.commands <- queuedCommand{run: s.run,
		cmd: contract.Command{Ref: b.CommandType() + "-" + s.client, Body: b}}:
		return true
	default:
		s.d.flash("the run is busy; that was not taken, say it again in a moment")
		return false
	}
}

// attach shows an agent's session in the terminal, until it is given back.
func (s *session) attach(id string) {
	switch {
	case s.replayed():
	case !s.runs():
		s.noRun()
	case id == "":
		s.d.flash("Whose session? /attach AGENT, or A while you look at one.")
	default:
		s.d.outside(func(h Host) error { return h.Attach(id) })
	}
}

// halt stops every agent. It does not ask, and does not wait for other commands: the run itself may hang.
func (s *session) halt() {
	if s.replayed() {
		return
	}
	if !s.runs() {
		s.d.flash("Nothing runs.")
		return
	}
	s.d.flash("Halt.")
	run := s.run
	s.d.f.work(func(context.Context) {
		report := run.Halt()
		s.d.f.post(func() { s.d.flash(report) })
	})
}

// interrupt stops the running turn of an agent, or of all.
func (s *session) interrupt(id string) {
	if s.send(contract.Interrupt{ID: id}) {
		s.d.flash("Let it rest.")
	}
}

// dangers returns the warnings that must be visible before a run begins.
func (s *session) dangers() []string {
	all := s.found.Permissions == string(runconfig.ModeAllowAll)
	return view.Warnings(s.rehearse, all, all && s.found.Sandbox == "off")
}

// leave stops the run in order; the screen stays until it has ended.
func (s *session) leave() {
	if !s.runs() {
		s.d.f.Leave()
		return
	}
	s.leaving = true
	s.d.flash("So it shall be. The threads are laid down.")
	run := s.run
	run.Stop()
	s.d.f.await(run, s.d.f.Leave)
}

// detach leaves the run running, also one that is only beginning.
func (s *session) detach() {
	s.d.f.detached.Store(true)
	s.d.f.Leave()
}

// runs reports whether there is a run that is not over.
func (s *session) runs() bool { return s.run != nil && !s.over() }

// over reports whether the current run and everything that belongs to it has ended.
func (s *session) over() bool {
	select {
	case <-s.run.Done():
		return true
	default:
		return false
	}
}

// liveliest returns the most interesting agent: the last spawned one that works.
func (s *session) liveliest() string {
	if s.state == nil {
		return ""
	}
	for _, a := range slices.Backward(s.state.Agents) {
		if a.Status == supervisor.AgentBusy {
			return a.ID
		}
	}
	return contract.Arbiter
}

func (s *session) agents() []*supervisor.Agent { return view.Members(s.state) }

// noticeNames has all events laid out again if they would look different.
func (s *session) noticeNames() {
	names := now().Format(time.DateOnly)
	for _, a := range s.agents() {
		names += "\n" + a.ID + "\t" + s.name(a.ID) + "\t" + s.root(a.ID)
	}
	if names != s.names {
		s.names = names
		s.layouts++
	}
}

func (s *session) name(id string) string { return view.SlashName(s.state, id) }

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
	if b.Resume != "" {
		known := slices.ContainsFunc(slices.Collect(maps.Keys(f.read)), func(id string) bool {
			same := strings.HasPrefix(id, b.Resume) || strings.HasPrefix(b.Resume, id)
			if same {
				b.After = f.read[id]
			}
			return same
		})
		if !known {
			var err error
			if b.After, err = f.recall(ctx, b.Resume); err != nil {
				return nil, err
			}
			f.read[b.Resume] = b.After // even if it is refused below
		}
	}
	run, err := f.options.Host.Begin(f.begins, b, f.box.put)
	if err != nil {
		return nil, err
	}
	f.follow(run)
	if b.Resume == "" {
		f.read[run.ID()] = journal.LogPosition{}
		f.work(func(ctx context.Context) { f.keptBy(ctx, run.ID()) })
	}
	return run, nil
}

func (s *session) began(run Run, err error) {
	what := s.begun.what
	s.begun.starting = false
	if err != nil {
		if s.run == nil {
			s.d.base(newHomeScreen(s.d))
		}
		s.d.dialogs.showText("It cannot begin", err.Error())
		if s.d.prompt.input.Empty() && what.Task != "" {
			s.d.prompt.input.SetText(literal(what.Task)) // so that it is not lost
		}
		s.d.prompt.write()
		return
	}
	s.run = run
	s.see(run.Snapshot())
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
	s.see(s.snapshot())
	switch o := s.run.Outcome(); {
	case o.Lost && !s.leaving:
		for _, r := range requests { // the process that waited for them has gone
			s.d.f.box.put(now(), contract.Event{ID: r.Params.ID, Body: r.Withdrawal()})
		}
		s.d.f.cut()
		s.d.dialogs.askResume()
		s.d.dialogs.open.ask.Arm(now())
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

// again returns the Begin for a message after the run's end: it continues the run, unless that never had an
// agent.
func (s *session) again(text string) Begin {
	if !s.state.Reached() {
		return Begin{Task: text, Rehearse: s.begun.what.Rehearse}
	}
	return Begin{Task: text, Resume: s.run.ID()}
}

// writingKept is how many bytes of the end of an arriving text are used.
const writingKept = 2 << 10

func (s *session) root(id string) string {
	if a := view.AgentOf(s.state, id); a != nil {
		return view.SnapshotRoot(s.state, a)
	}
	return ""
}

// work returns details about an agent that are not in the state.
func (s *session) work(id string) view.Work {
	w := view.Work{AgentActivity: s.d.f.activity.Agent(id)}
	l, _ := s.d.f.history.Live(id, writingKept)
	w.Writing = l.Text
	return w
}

// runID returns the run that is shown; empty: there is none.
func (d *app) runID() string {
	if s := d.session.state; s != nil && !d.session.replayed() {
		return s.Options.Run
	}
	return ""
}

// models returns the models that can be chosen, with what is known about them.
func (d *app) models() []view.ModelInfo {
	return view.SnapshotModels(d.session.state, d.f.activity.Models())
}

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
