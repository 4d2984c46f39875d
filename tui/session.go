package tui

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// session is the run that is shown: it inspects, begins, follows and leaves it.
type session struct {
	d     *app
	run   Run
	state *supervisor.State // the last snapshot; nil before the first run
	found Findings
	known bool // found was set

	newcomer bool // there is no earlier input

	rehearse bool // a run begun here is a rehearsal
	begun    begun
	leaving  bool // the run is being stopped, and the frontend ends afterwards
}

// inspect determines what is available.
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

// interrupted reports whether the process of the run has gone without an end.
func (s *session) interrupted() bool {
	return s.run != nil && s.state != nil && s.state.WasInterrupted()
}

// silent returns since when the run has not answered; zero: it answers, or there is none.
func (s *session) silent() (since time.Time) {
	if s.run != nil && !s.over() {
		since = s.run.Silent()
	}
	return since
}

// resume continues an interrupted run.
func (s *session) resume() { s.begin(Begin{Resume: s.run.ID(), Rehearse: s.begun.what.Rehearse}) }

// noRun says why a command has no run.
func (s *session) noRun() {
	if s.interrupted() {
		s.d.flash("The run was interrupted. /resume continues it.")
	} else {
		s.d.flash("There is no run. Speak, and one begins.")
	}
}

func (s *session) ending() bool { return s.state != nil && s.state.Ending != nil }

func (s *session) remember(text string) {
	host := s.d.f.options.Host
	s.d.f.work(func(context.Context) { host.Remember(text) })
}

func (s *session) send(b contract.CommandBody) bool {
	if s.replayed() {
		return false
	}
	if s.run == nil || s.over() {
		s.noRun()
		return false
	}
	if say, ok := b.(contract.Say); ok {
		say.Images = s.d.prompt.images.of(say.Text)
		b = say
	}
	if err := s.d.f.command(s.run, contract.Command{Ref: b.CommandType(), Body: b}); err != nil {
		s.d.flash(sanitize.Line(err.Error(), 200))
		return false
	}
	return true
}

// attach shows an agent's session in the terminal, until it is given back.
func (s *session) attach(id string) {
	switch {
	case s.replayed():
	case s.run == nil || s.over():
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
	if s.run == nil || s.over() {
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

// pause pauses the run, or lets it continue.
func (s *session) pause() {
	if s.state != nil && s.state.Paused {
		s.send(contract.Continue{})
	} else {
		s.send(contract.Pause{})
	}
}

// dangers returns the warnings that must be visible before a run begins.
func (s *session) dangers() []string {
	if s.rehearse {
		return []string{"REHEARSAL"}
	}
	if s.found.Permissions != view.AllowAll {
		return nil
	}
	if s.found.Sandbox == "off" {
		return []string{"ALLOW ALL", "UNSANDBOXED"}
	}
	return []string{"ALLOW ALL"}
}

// leave stops the run in order; the screen stays until it has ended.
func (s *session) leave() {
	if s.run == nil || s.over() {
		s.d.f.Leave()
		return
	}
	s.leaving = true
	s.d.flash("So it shall be. The threads are laid down.")
	run := s.run
	run.Stop()
	s.d.f.await(run, s.d.f.Leave)
}

// detach leaves the frontend and lets the run continue.
func (s *session) detach() {
	if s.run != nil && !s.over() {
		s.run.Leave()
	}
	s.d.f.Leave()
}

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
	for i := len(s.state.Agents) - 1; i >= 0; i-- {
		if a := s.state.Agents[i]; a.Status == supervisor.AgentBusy {
			return a.ID
		}
	}
	return contract.Arbiter
}

func (s *session) agents() []*supervisor.Agent {
	if s.state == nil {
		return nil
	}
	return s.state.Agents
}

// names returns a function that returns the names of parties, for a worker.
func (s *session) names() func(string) string {
	state := s.state
	return func(id string) string { return view.SlashName(state, id) }
}

func (s *session) name(id string) string { return view.SlashName(s.state, id) }
