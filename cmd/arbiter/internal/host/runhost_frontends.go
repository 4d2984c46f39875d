package host

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

const (
	// frontendConnects is how long the frontend that started the process may take to connect.
	frontendConnects = 15 * time.Second
	// endedBeforeFrontend is logged when a run ends before its frontend has connected.
	endedBeforeFrontend = "the run has ended before its frontend connected"
)

// frontends has the interfaces of the run to the outside: clients of its control socket, people in terminals,
// hooks, and servers that get notifications. [hostedRun.ready] creates all of them except the board and the
// terminals.
type frontends struct {
	board         Board
	terminals     Terminals
	input         *Sender
	clients       *Group
	hooks         *HooksService
	control       *ControlServer // nil without a socket
	halter        *Halter
	notifications notifications
}

// close closes the sockets. The loop has ended.
func (f *frontends) close() {
	f.control.Close()
	f.hooks.Close()
	f.control = nil
}

// ready creates the loop of a run, whose events go to sink, and opens its interfaces.
func (r *hostedRun) ready(sink runloop.Sink) *runloop.Loop {
	f, dir, log := &r.frontends, r.storage.journal.Dir(), r.diagnostics.log
	f.clients = NewGroup(Followed{
		OpenLog:  func() (*journal.EventLog, error) { return r.storage.store.EventLog(r.choices.Options.Run) },
		Snapshot: func() *supervisor.State { return r.loop.Snapshot() }, Log: log,
	})
	r.loop = runloop.NewLoop(r.choices.Policy, r.diagnostics.sink(f.board.Sink(f.clients.Sink(sink))), log)
	if r.resumed != nil {
		r.loop.Restore(*r.resumed)
	}
	r.loop.Refuse(func(o runconfig.Options) error { return settings.RefuseRoot(o, o.Rehearsal) })
	f.input = NewSender(r.loop, &f.board)
	r.bridges.others = NewBridges(RemoteRun{
		Hosts: r.choices.Hosts, Debug: r.choices.Debug, Options: r.options, Loop: r.loop, Input: f.input,
		Board: &f.board, Terminals: &f.terminals, Telemetry: r.diagnostics.telemetry,
		HaltApplied: func() bool { return f.halter.HaltApplied() }, Log: log,
	})
	f.halter = NewHalter(HaltRun{ID: r.choices.Options.Run, Loop: r.loop, Input: f.input,
		Bridge: r.bridges.here.Client, Elsewhere: r.bridges.others, Log: log})
	here := &r.bridges.here
	here.dir, here.loop, here.input, here.halter = dir, r.loop, f.input, f.halter
	f.hooks = ServeHooks(dir, r.loop, &f.terminals, log)
	var err error
	f.control, err = ServeControl(dir, ControlRun{
		ID: r.choices.Options.Run, CWD: r.choices.Place, Loop: r.loop, Input: f.input, Clients: f.clients, Halter: f.halter,
		Opener: Opener{Run: r.choices.Options.Run, Terminals: &f.terminals, Loop: r.loop, Input: f.input,
			Board: &f.board},
	}, log)
	if err != nil { // the run continues without a socket; stdin still reaches it
		log.Warn("control", "error", err)
	}
	f.notifications = openNotifications(r.choices.Screen.Posts, r.choices.Options.Run, r.diagnostics.mask, f.input, log)
	f.input.Go(r.watchState)
	return r.loop
}

// watchState wakes the subscribers when the state changes, posts notifications, and records the title of the first
// task, until the loop has ended.
func (r *hostedRun) watchState() {
	titled := r.storage.journal.Meta().Title != ""
	for ended := false; !ended; {
		select {
		case <-r.loop.Changed():
		case <-r.loop.Done():
			ended = true
		}
		r.frontends.clients.hub.Hint()
		s := r.loop.Snapshot()
		if !ended {
			r.frontends.notifications.look(s)
		}
		if !titled && s.Task.Text != "" {
			titled = true
			r.recordTitle(s.Task.Text)
		}
	}
}

// recordTitle gives a run that began without a task, and so without a title, the title of its first task.
func (r *hostedRun) recordTitle(task string) {
	if err := r.storage.update(func(m *journal.Meta) { m.Title = command.Title(task) }); err != nil {
		r.diagnostics.log.Warn("title not recorded", "err", err)
	}
}

// awaitFrontend waits a limited time for the frontend that has started this process. The frontend connects when it
// learns that the process is ready; a run that fails to start may have ended by then.
func (r *hostedRun) awaitFrontend() {
	if !r.choices.Detach {
		r.frontends.clients.AwaitFirst(frontendConnects, func() { r.diagnostics.log.Info(endedBeforeFrontend) })
	}
}

// announceEnd reports to the clients how the run ended, and waits a limited time until they have read it.
func (r *hostedRun) announceEnd(end control.RunEnded) {
	r.frontends.notifications.end(r.loop.Snapshot(), contract.Exit(end.Exit))
	r.frontends.clients.End(end)
}
