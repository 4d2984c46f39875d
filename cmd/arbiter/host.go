package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/eventhub"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
)

// host is what a face with a person before it asks of the program: it begins runs,
// one after the other, and lends the terminal.
type host struct {
	env         env
	choices     choices                // what of them is about trust is guarded by mu
	awayUntil   atomic.Int64           // until when the terminal is somebody else's, in Unix time as of UnixNano
	onInterrupt atomic.Pointer[func()] // tells them of Ctrl+C, once there was one
	ctx         context.Context        // of those who have it
	recall      func()                 // ends ctx
	typed       sync.Mutex             // of those who write the file of what was typed
	mu          sync.Mutex             // guards what follows
	signal      string                 // that ended the program
	session     *session               // the last one begun
	lack        string                 // what keeps a run from beginning, as far as was seen
	refused     *exitError             // why the last one did not begin
	without     bool                   // the person goes on without what the workspace brings along
	endNotices  []func()               // what is said on stderr once the screen is gone
}

func newHost(e env, c choices) *host {
	h := &host{env: e, choices: c}
	h.ctx, h.recall = context.WithCancel(context.Background())
	return h
}

// session is one process run of a run, as a frontend sees it.
type session struct {
	run     *runtimeRun
	loop    *runloop.Loop
	done    chan struct{}
	watch   *eventhub.Watch
	outcome tui.Outcome // before done is closed, nobody's but play's

	mu      sync.Mutex
	stops   int
	over    bool           // nothing is to be stopped any more
	workers sync.WaitGroup // those who bring a stop
}

// Begin implements tui.Host.
func (h *host) Begin(_ context.Context, b tui.Begin, sink runloop.Sink) (tui.Run, error) {
	l, err := h.begin(b, sink)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused = nil; err != nil {
		if !errors.As(err, &h.refused) {
			h.refused = &exitError{code: contract.ExitFailed, text: err.Error()}
		}
		return nil, err
	}
	h.session = l
	go l.play(h) // waited for by whoever reads Done, and by close
	return l, nil
}

// begin makes a session that is ready to be played.
func (h *host) begin(b tui.Begin, sink runloop.Sink) (*session, error) {
	c := h.chosen()
	c.Options.Partial = true
	c.Options.Task = b.Task
	c.Resume, c.Session = b.Resume != "", b.Resume
	if b.Rehearse {
		c = c.rehearsal()
	} else if !h.declined() {
		c.askInRun()
	}
	prepare := newRun
	if c.Resume {
		prepare = resumeRun
		c.Rehearse, c.Options.Rehearsal = false, false // the run knows by itself
	}
	r, err := prepare(c)
	if err != nil {
		return nil, err
	}
	return &session{run: r, loop: r.ready(sink), watch: r.clients.hub.Watch(), done: make(chan struct{})}, nil
}

// play plays the session to its end, and lets go of all that belonged to it.
func (l *session) play(h *host) {
	defer close(l.done)
	defer l.keepPanic(h)
	exit := l.run.play(l.loop)
	s := l.loop.Snapshot()
	unfinished := l.run.shutdown(s)
	l.outcome = tui.Outcome{Exit: exit, Unfinished: unfinished}
	if exit != contract.ExitComplete {
		l.outcome.Text = exitText(exit, s)
	}
	h.mu.Lock()
	h.endNotices = append(h.endNotices, func() { h.env.printEnd(l.run, s, unfinished) })
	h.mu.Unlock()
	l.run.announceEnd(control.RunEnded{Exit: int(exit), Text: l.outcome.Text, Unfinished: unfinished})
	l.run.close()
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.workers.Wait()
}

// keepPanic turns a panic of ours, outside of the loop, which deals with its own, into an
// outcome: the screen has the terminal, and has to give it back.
func (l *session) keepPanic(h *host) {
	p := recover()
	if p == nil {
		return
	}
	l.run.reporter.Panicked(&runloop.Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()})
	if c := l.run.bridge(); c != nil {
		_ = c.Close() // the agents end with it
	}
	l.run.close()
	l.outcome = tui.Outcome{Exit: contract.ExitBug, Text: fmt.Sprintf("a fault of arbiter: %v", p)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endNotices = append(h.endNotices, func() { h.env.tellReports(l.run) })
}

// ID, Snapshot, Changed, Put, Done and Outcome implement tui.Run.
func (l *session) ID() string { return l.run.choices.Options.Run }

func (l *session) Snapshot() *supervisor.State { return l.loop.Snapshot() }

func (l *session) Changed() <-chan struct{} { return l.watch.C() }

func (l *session) Put(c contract.Command) bool {
	return l.loop.Put(input.Commanded{Command: c, Channel: input.ChannelScreen})
}

func (l *session) Done() <-chan struct{} { return l.done }

func (l *session) Outcome() tui.Outcome { return l.outcome }

// Stop implements tui.Run: the first asks for an orderly end, the next ones hurry it.
func (l *session) Stop() { l.stop("INT") }

func (l *session) stop(signal string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stops++
	if l.over || l.stops > 2 {
		return // the bridge is at it already, as fast as it goes
	}
	fast := l.stops > 1
	// Never for long: what ends a run does not wait behind other inputs.
	l.workers.Go(func() { l.loop.Put(input.Signalled{Signal: signal, Fast: fast}) })
}

// stopping reports whether somebody has asked for its end.
func (l *session) stopping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stops > 0
}

// Past implements tui.Host.
func (h *host) Past(_ context.Context, run string) (*eventlog.Log, error) {
	store, err := journal.OpenStore(h.choices.StateDir)
	if err != nil {
		return nil, environmentf("state directory: %v", err)
	}
	defer store.Close()
	info, err := oneRun(store, run)
	if err != nil {
		return nil, err
	}
	log, err := store.EventLog(info.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the journal is enough to go on
	}
	if err != nil {
		return nil, environmentf("what was said in run %s cannot be read: %v", short(run), err)
	}
	return log, nil
}

// Inspect implements tui.Host.
func (h *host) Inspect(ctx context.Context) tui.Findings {
	c := h.chosen()
	f := findingsOfClaude(ctx, c)
	f.CWD, f.Trusted, f.Trust = h.choices.Place, c.Options.Trusted, findingsOf(c.Trusting)
	f.Permissions, f.Sandbox = c.Options.Permissions, c.Sandbox.Mode
	h.mu.Lock()
	h.lack = lackOf(f)
	h.mu.Unlock()
	store, err := journal.OpenStore(h.choices.StateDir)
	if err != nil {
		return f
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return f
	}
	for _, i := range list {
		if line := lineOf(i); line.Resumable && sameDir(i.CWD, h.choices.Place) {
			f.Runs = append(f.Runs, tui.RunInfo{
				ID: i.Run, Title: i.Title, Status: line.Status, LastActive: i.LastActive, Bytes: i.Bytes,
				Rehearsal: i.Rehearsal,
			})
		}
	}
	return f
}

// lackOf is what keeps a run from beginning, in words; empty if nothing does.
func lackOf(f tui.Findings) string {
	switch {
	case f.Rehearsal:
		return ""
	case f.Claude == "":
		return "nothing was begun: " + f.Problem
	case f.Login == tui.LoginNo:
		return "nothing was begun: claude is not logged in"
	}
	return ""
}

// endWithoutRun is how a program ends in which no run was begun.
func (h *host) endWithoutRun() tui.Outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.signal == "INT":
		return tui.Outcome{Exit: contract.ExitInterrupted}
	case h.signal != "":
		return tui.Outcome{Exit: contract.ExitTerminated}
	case h.refused != nil:
		return tui.Outcome{Exit: h.refused.code, Text: h.refused.text}
	case h.lack != "":
		return tui.Outcome{Exit: contract.ExitEnvironment, Text: h.lack}
	}
	return tui.Outcome{}
}

// end stops what still runs, waits for it, and says on stderr what is left to say. The
// screen is gone by then.
func (h *host) end(signal string) tui.Outcome {
	h.mu.Lock()
	l := h.session
	if h.signal != "" {
		signal = h.signal
	}
	h.mu.Unlock()
	if l == nil {
		return h.endWithoutRun()
	}
	select {
	case <-l.done:
	default:
		if !l.stopping() { // else it would be a second one, that hurries
			l.stop(signal)
		}
		fmt.Fprintln(h.env.stderr,
			"The run is being stopped, so that it can be taken up again. Another Ctrl+C hurries it.")
		<-l.done
	}
	h.mu.Lock()
	last := h.endNotices
	h.endNotices = nil
	h.mu.Unlock()
	if n := len(last); n > 0 {
		last[n-1]() // the others are told by their runs
	}
	return l.outcome
}

// rehearsal are the same choices for a scripted model.
func (c choices) rehearsal() choices {
	c.Rehearse, c.Options.Rehearsal, c.Options.Trusted, c.Options.TrustHash = true, true, true, ""
	kept := map[string]string{}
	for name, value := range c.Options.Env {
		if forRehearsal(name) {
			kept[name] = value
		}
	}
	c.Options.Env = kept
	return c
}

// present is the session that is being played, or was last; nil before the first.
func (h *host) present() *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}
