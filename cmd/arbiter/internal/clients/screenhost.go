package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/ptyproxy"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
	"github.com/arbiter-cli/arbiter/tui"
)

// ScreenHost provides an interactive frontend with the functions of the program: it starts runs, one after the other,
// and lends the terminal.
type ScreenHost struct {
	env         command.Env
	choices     settings.Choices          // mu guards the members about trust
	awayUntil   atomic.Int64              // Unix time in nanoseconds until which another program has the terminal
	onInterrupt atomic.Pointer[func()]    // called at Ctrl+C while the terminal is lent; nil before that
	ctx         context.Context           // of the programs that have the terminal
	recall      func()                    // ends ctx
	typed       sync.Mutex                // for writing the file of inputs
	files       fileList                  // of the workspace
	mu          sync.Mutex                // guards the following members
	signal      string                    // that ended the program
	last        *ScreenSession            // the last one started
	latest      map[string]*ScreenSession // of each run, by its id
	lack        string                    // what prevents a run from starting, as far as known; empty: nothing
	refused     *command.Error            // why the last one did not start
	without     bool                      // the person continues without the workspace's own settings
	sessions    sync.WaitGroup            // goroutines that wait for the ends of sessions
}

func NewScreen(e command.Env, c settings.Choices) *ScreenHost {
	h := &ScreenHost{env: e, choices: c, latest: map[string]*ScreenSession{}}
	h.ctx, h.recall = context.WithCancel(context.Background())
	return h
}

// Begin implements tui.Host: it starts a process that plays the run, or connects to the one that already plays it.
func (h *ScreenHost) Begin(ctx context.Context, b tui.Begin, sink runloop.Sink) (tui.Run, error) {
	s, err := h.begin(ctx, b, sink)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused = nil; err != nil {
		if !errors.As(err, &h.refused) {
			h.refused = command.Failedf("%v", err)
		}
		return nil, err
	}
	h.last, h.latest[s.run] = s, s
	s.named = command.ShortID(s.run) + settings.StateForCommand(h.choices.StateDir)
	h.sessions.Go(s.Watch)
	return s, nil
}

// begin follows a run, starting with the first event that the frontend does not know.
func (h *ScreenHost) begin(ctx context.Context, b tui.Begin, sink runloop.Sink) (*ScreenSession, error) {
	h.mu.Lock()
	c, without := h.choices, h.without
	h.mu.Unlock()
	var log *journal.EventLog
	var before *ScreenSession
	if b.Resume != "" {
		var err error
		if log, err = h.Past(ctx, b.Resume); err != nil {
			return nil, err
		}
	}
	if log != nil {
		defer log.Close()
		run, socket, live := h.playing(ctx, b)
		h.mu.Lock()
		before = h.latest[run]
		h.mu.Unlock()
		if live {
			if err := say(ctx, run, socket, b); err != nil {
				return nil, err
			}
			s, err := OpenSession(ctx, socket, log, b.After, before, sink)
			if err != nil {
				return nil, Refusal(run, err)
			}
			return s, nil
		}
	}
	c.Options.Partial = true
	c.Options.Task, c.Images = b.Task, b.Images
	c.Resume, c.Session = b.Resume != "", b.Resume
	if b.Rehearse {
		if !c.Options.Rehearsal { // it was chosen because something is missing: it shows what a run is
			c.Scenario = "demo"
		}
		c = host.Rehearsal(c)
	} else if !without {
		c.AskInRun()
	}
	if c.Resume {
		c.Options.Rehearsal = false // the run has its own setting
	}
	p, err := host.StartProcess(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := OpenSession(ctx, p.Socket, log, b.After, before, sink)
	if err != nil {
		p.End()
		return nil, Refusal(p.Run, err)
	}
	s.Process = p
	return s, nil
}

// say gives a live run the text of b, if there is one. A run that is ending, or has just ended, does not take it.
func say(ctx context.Context, run, socket string, b tui.Begin) error {
	if b.Task == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostAnswers)
	defer cancel()
	client, _, err := control.Dial[runstore.LiveStatus](ctx, socket, nil)
	if err == nil {
		defer client.Close()
		var r control.CommandResult
		r, err = runstore.Send(ctx, client, contract.Say{To: contract.Arbiter, Text: b.Task, Images: b.Images})
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded): // it has the text, and waits for its disk
			return nil
		case err == nil && r.Accepted:
			return nil
		case err == nil:
			err = errors.New(r.Message)
		}
	}
	return command.Failedf("run %s did not take the text: %v; give it again when the run has ended", command.ShortID(run),
		err)
}

// playing finds the process that currently plays a run. A text for one that is ending goes to the next process.
func (h *ScreenHost) playing(ctx context.Context, b tui.Begin) (id, socket string, live bool) {
	store, info, err := runstore.FindIn(h.choices.StateDir, b.Resume)
	if err != nil {
		return b.Resume, "", false
	}
	defer store.Close()
	return info.Run, store.SocketOf(info.Run, control.SocketName), store.Plays(ctx, info, b.Task == "")
}

// Past implements tui.Host.
func (h *ScreenHost) Past(_ context.Context, run string) (*journal.EventLog, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	log, err := store.EventLog(info.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the journal is enough to continue
	}
	if err != nil {
		return nil, command.Environmentf("the conversation of run %s cannot be read: %v", command.ShortID(run), err)
	}
	return log, nil
}

func (h *ScreenHost) Inspect(ctx context.Context) tui.Findings {
	c := h.Choices()
	s := host.InspectClaude(ctx, c.Claude, !c.Options.Rehearsal) // a rehearsal needs no login, because it has its own key
	f := tui.Findings{
		Claude: s.Version, Path: s.Path, Problem: s.Problem, Missing: s.Missing, Login: tui.LoginUnknown,
		Account: cmp.Or(s.Login.Email, s.Login.Method), Rehearsal: c.Options.Rehearsal, Model: c.Options.Model,
		CWD: c.Place, Trusted: c.Options.Trusted, Trust: findingsOf(c.Trusting), Permissions: c.Options.Permissions,
		Sandbox: c.Sandbox.Mode, State: h.State(),
	}
	if s.Login.Known {
		if f.Login = tui.LoginNo; s.Login.LoggedIn {
			f.Login = tui.LoginYes
		}
	}
	h.mu.Lock()
	switch h.lack = ""; {
	case f.Rehearsal:
	case f.Claude == "":
		h.lack = "no run was started: " + f.Problem
	case f.Login == tui.LoginNo:
		h.lack = "no run was started: claude is not logged in"
	}
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
		if info := h.runInfo(i); info.Resumable && info.Here {
			f.Runs = append(f.Runs, info)
		}
	}
	return f
}

// endWithoutRun returns the outcome of a program that has started no run.
func (h *ScreenHost) endWithoutRun() tui.Outcome {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.signal == "INT":
		return tui.Outcome{Exit: contract.ExitInterrupted}
	case h.signal != "":
		return tui.Outcome{Exit: contract.ExitTerminated}
	case h.refused != nil:
		return tui.Outcome{Exit: h.refused.Code, Text: h.refused.Text}
	case h.lack != "":
		return tui.Outcome{Exit: contract.ExitEnvironment, Text: h.lack}
	}
	return tui.Outcome{}
}

// End stops the running session and waits for it, or leaves it, and prints final messages on stderr. The screen is
// closed by then.
func (h *ScreenHost) End(signal string) tui.Outcome {
	h.mu.Lock()
	s := h.last
	if h.signal != "" {
		signal = h.signal
	}
	h.mu.Unlock()
	if s == nil {
		return h.endWithoutRun()
	}
	if s.HasLeft() && !s.Over() && !s.Stopping() {
		fmt.Fprintf(h.env.Stderr, "Run %s continues without a screen. To see it again: arbiter attach %s\n",
			command.ShortID(s.ID()), s.named)
		close(s.parted)
		s.Close()
		if signal == "INT" {
			return tui.Outcome{} // it was left with a key
		}
		return tui.Outcome{Exit: contract.ExitTerminated}
	}
	if !s.Over() {
		if !s.Stopping() { // otherwise this would be a second stop, which hurries
			s.StopBy(signal)
		}
		fmt.Fprintln(h.env.Stderr,
			"The run is being stopped, so that it can be resumed. Ctrl+C again stops it faster.")
	}
	s.Close()
	h.sessions.Wait()
	for _, line := range s.end.Notices {
		fmt.Fprintln(h.env.Stderr, line)
	}
	return s.Outcome()
}

// Context returns the context of the programs that have the terminal.
func (h *ScreenHost) Context() context.Context { return h.ctx }

// Session returns the current or last session; nil before the first.
func (h *ScreenHost) Session() *ScreenSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// Choices returns a copy of the current choices.
func (h *ScreenHost) Choices() settings.Choices {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.choices
}

// findingsOf returns what a person is shown of the workspace; nothing for a trusted one.
func findingsOf(t settings.TrustState) tui.Trust {
	f := tui.Trust{Changed: t.Recorded, Problem: t.Problem}
	if t.Trusted {
		return f
	}
	for _, c := range t.Changed {
		if c.How == trust.Removed {
			f.Items = append(f.Items, tui.TrustItem{Kind: c.Item.Kind, File: c.Item.File, Name: c.Item.Name,
				What: c.Item.What, How: c.How})
		}
	}
	for _, i := range t.Listing.Items {
		if !i.Counts() {
			f.Texts = append(f.Texts, i.File)
		} else {
			f.Items = append(f.Items, tui.TrustItem{Kind: i.Kind, File: i.File, Name: i.Name, What: i.What,
				How: t.Change(i)})
		}
	}
	return f
}

// Trust implements tui.Host: it records trust in what was shown, if that is unchanged, and the next run uses it.
// The workspace's configuration file takes effect at the next start of the program.
func (h *ScreenHost) Trust(context.Context) error {
	c := h.Choices()
	t := c.Trusting
	if err := t.Record(c.Place, "the screen"); err != nil {
		return err
	}
	t.Trusted, t.Recorded, t.Changed, t.Problem = true, true, nil, ""
	c.Adopt(t)
	if err := c.ReadInstructions(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.choices.Trusting, h.choices.Options.Trusted, h.choices.Options.TrustHash = t, c.Options.Trusted,
		c.Options.TrustHash
	h.choices.Options.Modes, h.choices.Options.Templates, h.choices.Notice = c.Options.Modes, c.Options.Templates,
		c.Notice
	return nil
}

// Without implements tui.Host: the person is not asked again.
func (h *ScreenHost) Without() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.without = true
}

// This part of the package does for an interactive frontend what needs processes, files or the terminal: it
// starts runs, one after the other, and lends the terminal. Its Host implements tui.Host.

// This file is a run from a frontend's point of view: a connection to the process that hosts the run, renewed
// when it is lost.

const (
	// hostAnswers is how long a host process may take to answer a client.
	hostAnswers = 10 * time.Second
	// reconnections is how many connections in a row may be lost before the run has answered.
	reconnections = 5
	// askedEvery is how often a run is asked whether it answers, and how long it may take to.
	askedEvery = 4 * time.Second
	// haltAnswers is the time limit for a halt, which kills processes that do not end when they are asked to.
	haltAnswers = 30 * time.Second
)

// ScreenSession is a run from a frontend's point of view: a connection to the process that plays it. Its methods are
// safe for concurrent use.
type ScreenSession struct {
	run     string
	named   string // see Named; set before the session is passed on
	pid     int    // of the process that plays it
	socket  string
	Process *host.Process // the process that plays the run; nil if another process started that
	sink    runloop.Sink
	client  atomic.Pointer[control.Client] // the current connection

	earlier   uint64     // lines of the event log that are older than the process
	receiving sync.Mutex // guards the following members: a lost connection may still be read
	states    *host.StateReceiver
	seq       uint64 // of the last event
	end       control.RunEnded
	hasEnd    bool  // end was received
	foreign   error // why the state cannot be read

	state   atomic.Pointer[supervisor.State]
	first   chan struct{} // closed with the first state
	changed chan struct{} // capacity 1
	done    chan struct{}
	outcome tui.Outcome // written by Watch before done is closed

	silent  atomic.Pointer[time.Time] // since when the run has not answered; nil: it answers
	leave   context.CancelFunc        // ends left
	left    context.Context           // ends when the run should continue without the frontend
	parted  chan struct{}             // closed when the session no longer waits for the process
	mu      sync.Mutex
	stops   int
	workers sync.WaitGroup
}

// OpenSession connects to the process that plays a run, and follows it from a place in its event log: after that, and
// after what an earlier session of the run has reported, if there was one. The log is nil for a run that has just
// started.
func OpenSession(ctx context.Context, socket string, log *journal.EventLog, after journal.LogPosition,
	before *ScreenSession, sink runloop.Sink) (*ScreenSession, error) {
	// Do not cancel with ctx: a caller that gives up meanwhile stops or leaves the run once there is a session.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hostAnswers)
	defer cancel()
	client, st, err := control.Dial[runstore.LiveStatus](ctx, socket, nil)
	if err != nil {
		return nil, err
	}
	s := &ScreenSession{
		run: st.Run, pid: st.PID, socket: socket, sink: sink, earlier: st.LogLines,
		first: make(chan struct{}), changed: make(chan struct{}, 1), done: make(chan struct{}),
		parted: make(chan struct{}),
	}
	s.left, s.leave = context.WithCancel(context.Background())
	var had logPlace
	if before != nil {
		before.receiving.Lock()
		had = logPlace{Process: before.earlier, Seq: before.seq, Set: true}
		before.receiving.Unlock()
	}
	s.seq, err = catchUp(ctx, log, after, had, st.LogLines, sink)
	if err == nil {
		err = s.subscribe(ctx, client)
	}
	if err == nil {
		select {
		case <-s.first:
		case <-client.Done():
			err = host.ErrGone
		case <-ctx.Done():
			err = fmt.Errorf("%w in time", control.ErrSilent)
		}
	}
	select {
	case <-s.first: // perhaps before the connection ended
		s.receiving.Lock()
		err = s.foreign
		s.receiving.Unlock()
	default:
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	s.workers.Go(s.ask)
	return s, nil
}

// ask asks the run again and again whether it answers: one that is stopped, or hangs, keeps its connections.
func (s *ScreenSession) ask() {
	for {
		asked := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), askedEvery)
		_, err := control.StatusOf[runstore.LiveStatus](ctx, s.client.Load())
		late := ctx.Err() != nil
		cancel()
		var since *time.Time
		if err != nil && late {
			if since = s.silent.Load(); since == nil {
				since = &asked
			}
		}
		if s.silent.Swap(since) != since {
			backlog.Hint(s.changed)
		}
		select {
		case <-s.done:
			return
		case <-time.After(max(askedEvery-time.Since(asked), 0)):
		}
	}
}

// Silent implements tui.Run.
func (s *ScreenSession) Silent() (since time.Time) {
	if at := s.silent.Load(); at != nil && !s.Over() {
		return *at
	}
	return time.Time{}
}

// subscribe receives everything after the last event on a connection.
func (s *ScreenSession) subscribe(ctx context.Context, client *control.Client) error {
	s.receiving.Lock()
	s.states = new(host.StateReceiver)
	s.client.Store(client)
	since := int64(s.seq)
	s.receiving.Unlock()
	return client.Subscribe(ctx, control.SubscribeParams{Since: since, Pieces: true, State: true}, func(part any) {
		s.receiving.Lock()
		defer s.receiving.Unlock()
		if s.client.Load() == client {
			s.receive(part)
		}
	})
}

// reconnect follows the run on a new connection. The run drops a connection that is not read for long, such as that
// of a suspended screen. If a new connection is lost before the run has answered, reconnect tries again a few
// times: the run exists as long as it accepts connections.
func (s *ScreenSession) reconnect() (err error) {
	for range reconnections {
		ctx, cancel := context.WithTimeout(context.Background(), hostAnswers)
		defer cancel()
		client, st, dialErr := control.Dial[runstore.LiveStatus](ctx, s.socket, nil)
		switch {
		case dialErr != nil:
			return dialErr
		case st.PID != s.pid: // another process plays the run now
			err = host.ErrGone
		default:
			err = s.subscribe(ctx, client)
		}
		if err == nil {
			return nil
		}
		client.Close()
		if errors.Is(err, host.ErrGone) {
			return err
		}
	}
	return err
}

// catchUp reports the events after a place of the event log, without those that the frontend had, and returns the
// number of the last event of the current process. The first earlier lines of the log are those of other processes.
func catchUp(ctx context.Context, log *journal.EventLog, after journal.LogPosition, had logPlace, earlier uint64,
	sink runloop.Sink) (seq uint64, err error) {
	if log == nil {
		return 0, nil
	}
	number := func(e journal.LogEntry) {
		if e.N > earlier && e.Line != nil {
			seq = contract.SeqOf(e.Line)
		}
	}
	if after.Offset > 0 {
		err = log.Backward(ctx, after, func(e journal.LogEntry) bool {
			number(e)
			return seq == 0 && e.N > earlier
		})
	}
	if err != nil {
		return 0, err
	}
	var last uint64 // the number of the last event of the process in had
	_, err = log.Each(ctx, after, func(e journal.LogEntry) error {
		number(e)
		if e.Line == nil {
			return nil
		}
		if had.Set && e.N > had.Process {
			n := contract.SeqOf(e.Line)
			had.Set, last = n > last && n <= had.Seq, n // each process numbers its events from 1
		}
		if had.Set {
			return nil
		}
		event, err := contract.DecodeWritten(e.Line)
		if err == nil {
			sink(e.At, event)
		}
		return err
	})
	return seq, err
}

// receive handles what the run sends. The caller holds receiving.
func (s *ScreenSession) receive(part any) {
	switch part := part.(type) {
	case control.Events:
		if part.Skipped > 0 {
			text := fmt.Sprintf("%d events are not shown here: this screen did not read them in time", part.Skipped)
			s.sink(time.Now(), contract.Event{ID: contract.Supervisor, Body: contract.Notice{Text: text}})
		}
		for _, raw := range part.Lines {
			line, err := contract.DecodeLine([]byte(raw))
			if err != nil {
				line.Event = contract.Event{ID: contract.Supervisor, Body: contract.Notice{
					Text: "an event cannot be shown: " + err.Error()}}
			}
			s.seq = cmp.Or(line.Seq, s.seq)
			s.sink(cmp.Or(line.Time, time.Now()), line.Event)
		}
	case control.StateChange:
		state, err := s.states.Apply(part)
		if err != nil { // the process that plays the run has another version of arbiter
			if s.foreign == nil && s.state.Load() == nil {
				s.foreign = err
				close(s.first)
			}
			return
		}
		if s.state.Swap(state) == nil {
			close(s.first)
		}
		backlog.Hint(s.changed)
	case control.RunEnded:
		s.end, s.hasEnd = part, true
	}
}

// Watch waits for the end of the run and of the process that plays it.
func (s *ScreenSession) Watch() {
	for ended := false; !ended; {
		client := s.client.Load()
		select {
		case <-client.Done():
		case <-s.parted:
		}
		client.Close()
		select {
		case <-s.parted:
			ended = true
		default:
			s.receiving.Lock()
			ended = s.hasEnd
			s.receiving.Unlock()
			ended = ended || s.reconnect() != nil
		}
	}
	if s.Process != nil {
		select {
		case <-s.Process.Exited:
		case <-s.parted:
		}
	}
	s.outcome = tui.Outcome{Exit: contract.Exit(s.end.Exit), Text: s.end.Text, Unfinished: s.end.Unfinished}
	if !s.hasEnd {
		s.outcome = tui.Outcome{Exit: contract.ExitFailed, Text: host.ErrGone.Error(), Lost: true}
	}
	close(s.done)
}

// Connection returns the current connection.
func (s *ScreenSession) Connection() *control.Client { return s.client.Load() }

// Left implements PlainRun: the channel is closed when the run should continue without the frontend.
func (s *ScreenSession) Left() <-chan struct{} { return s.left.Done() }

// Close waits for the end of the run, and for the session's goroutines.
func (s *ScreenSession) Close() {
	<-s.done
	s.workers.Wait()
}

// ID, Snapshot, Changed, Done and Outcome implement tui.Run.
func (s *ScreenSession) ID() string { return s.run }

func (s *ScreenSession) Snapshot() *supervisor.State { return s.state.Load() }

func (s *ScreenSession) Changed() <-chan struct{} { return s.changed }

func (s *ScreenSession) Done() <-chan struct{} { return s.done }

func (s *ScreenSession) Outcome() tui.Outcome { return s.outcome }

// Put implements tui.Run.
func (s *ScreenSession) Put(ctx context.Context, c contract.Command) bool {
	line, err := contract.MarshalCommand(c)
	if err != nil {
		return false // cannot happen with our own types
	}
	// No time limit: a run whose disk is full accepts commands later. A run that hangs must not keep who leaves it.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.left, stop)()
	p := control.PutParams{Command: line, Frontend: input.ChannelScreen}
	return s.client.Load().Put(ctx, p) == nil
}

// Named implements PlainRun.
func (s *ScreenSession) Named() string { return s.named }

// InputEnded implements PlainRun.
func (s *ScreenSession) InputEnded() {
	_ = s.client.Load().InputEnded(s.left) // a finished run needs no input
}

// Stop implements tui.Run: the first call asks for an orderly end, later ones hurry it.
func (s *ScreenSession) Stop() { s.StopBy("INT") }

// StopBy asks for the end of the run, like a signal of that name.
func (s *ScreenSession) StopBy(signal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops++
	p := control.StopParams{Signal: signal, Fast: s.stops > 1}
	s.workers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hostAnswers)
		defer cancel()
		_ = s.client.Load().Stop(ctx, p) // a finished run need not be stopped
	})
}

// Stopping reports whether a stop was requested.
func (s *ScreenSession) Stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stops > 0
}

// Over reports whether the run has ended.
func (s *ScreenSession) Over() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Leave implements tui.Run.
func (s *ScreenSession) Leave() { s.leave() }

// HasLeft reports whether the run should continue without the frontend.
func (s *ScreenSession) HasLeft() bool { return s.left.Err() != nil }

// Halt implements tui.Run.
func (s *ScreenSession) Halt() string {
	ctx, cancel := context.WithTimeout(context.Background(), haltAnswers)
	defer cancel()
	r, err := s.client.Load().Halt(ctx, control.HaltParams{Frontend: input.ChannelScreen})
	switch {
	case err != nil:
		return fmt.Sprintf("The run does not answer: %s. arbiter halt %s kills its agents.",
			strings.TrimSuffix(err.Error(), "."), s.named)
	case len(r.Left) > 0:
		return "Still alive: " + r.Left[0]
	case !r.Halted:
		return "All is still. The run itself does not answer."
	}
	return "All is still. /continue wakes them."
}

// Refusal returns a refused connection or another failure as an error for a person.
func Refusal(run string, err error) error {
	if refused, ok := errors.AsType[*control.Refusal](err); ok {
		return command.Usagef("run %s: %s", command.ShortID(run), refused.Message)
	}
	return command.Environmentf("run %s: %v", command.ShortID(run), err)
}

// Edit implements tui.Host. The editor is $VISUAL, or else $EDITOR, or else vi.
func (h *ScreenHost) Edit(text string) (string, error) {
	edited, err := subcommands.EditText("message.md", text, func(path string) error { return h.runEditor(path) })
	if err != nil {
		return text, fmt.Errorf("the text is as it was: %w", err)
	}
	defer edited.Remove()
	return strings.TrimSuffix(edited.Text, "\n"), nil
}

// runEditor runs the user's editor in the terminal.
func (h *ScreenHost) runEditor(args ...string) error {
	defer h.withTerminal(func() {})() // Ctrl+C goes to the whole group, but is meant for the editor
	return subcommands.RunEditor(h.ctx, args...)
}

// Editors by their syntax for a line number. Other editors open the file at its beginning.
var (
	plusLine = []string{"vi", "vim", "nvim", "view", "vimx", "nano", "pico", "micro", "emacs", "emacsclient", "kak", "joe",
		"jed", "mcedit", "ne", "mg", "zile", "gedit", "kwrite"}
	colonLine = []string{"hx", "helix", "subl", "zed", "zeditor"}
	gotoLine  = []string{"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"}
)

// editorPlace returns the arguments that open a file at a line.
func editorPlace(editor, file string, line int) []string {
	first, _, _ := strings.Cut(strings.TrimSpace(editor), " ")
	switch name := filepath.Base(first); {
	case line <= 1:
	case slices.Contains(plusLine, name):
		return []string{"+" + strconv.Itoa(line), file}
	case slices.Contains(colonLine, name):
		return []string{file + ":" + strconv.Itoa(line)}
	case slices.Contains(gotoLine, name):
		return []string{"--goto", file + ":" + strconv.Itoa(line)}
	}
	return []string{file}
}

// underWay is how long a signal for another program may take to arrive. Ctrl+C in the screen itself is a key, not a
// signal.
const underWay = 250 * time.Millisecond

// withTerminal passes Ctrl+C to heed until back is called. Until then it watches the terminal: when the terminal is
// gone, it ends the program that has the terminal, because that program may never read it.
func (h *ScreenHost) withTerminal(heed func()) (back func()) {
	h.onInterrupt.Store(&heed)
	h.awayUntil.Store(math.MaxInt64)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if _, _, err := ptyproxy.Size(os.Stdin); err != nil {
				h.recall() // the terminal does not come back
				return
			}
		}
	})
	return func() {
		close(stop)
		watching.Wait()
		h.awayUntil.Store(time.Now().Add(underWay).UnixNano())
	}
}

// watchEvery is how often the terminal is checked while it is lent. No signal reports its end if we are not the
// session leader or were started with SIGHUP ignored.
const watchEvery = time.Second

// Login implements tui.Host. It runs `claude auth login` in its own terminal, with the environment that agents get.
func (h *ScreenHost) Login() error {
	path := cmp.Or(h.choices.Claude, "claude")
	cmd := exec.Command(path, "auth", "login")
	cmd.Dir = h.choices.Place
	cmd.Env = proctree.EnvList(proctree.EnvFrom(os.Environ(), h.choices.Options.Env))
	fmt.Fprint(h.env.Stderr, "\nclaude logs in. Ctrl+] comes back to arbiter.\n\n")
	exit, err := ptyproxy.Run(h.ctx, cmd, os.Stdin)
	if errors.Is(err, ptyproxy.ErrDetached) || h.ctx.Err() != nil {
		return nil // the login is checked later in any case
	}
	if err != nil {
		return fmt.Errorf("log in through %s: %w", path, err)
	}
	if exit != 0 {
		return fmt.Errorf("%s auth login ended with %d", path, exit)
	}
	return nil
}

// notStopped is how long a stop may take to become effective.
const notStopped = 250 * time.Millisecond

// Suspend implements tui.Host: it stops the process group like Ctrl+Z, and returns when the group is continued. Any
// thread may receive the signal, so this one may run on for a moment; the screen must not be restored by then. Without
// a shell above it, nothing could continue the group, and it is not stopped.
func (h *ScreenHost) Suspend() error {
	if session, err := unix.Getsid(0); err != nil || session == unix.Getpgrp() {
		return errors.New("no shell can continue arbiter here: it is the first program of this terminal")
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("suspend: %w", err)
	}
	select {
	case <-continued:
	case <-time.After(notStopped):
	}
	return nil
}

// Attach implements tui.Host: it shows the session of an agent in the terminal of the screen.
func (h *ScreenHost) Attach(agent string) error {
	l := h.Session()
	if l == nil {
		return errors.New("nothing runs")
	}
	cols, rows, err := ptyproxy.Size(os.Stdin)
	if err != nil {
		return err
	}
	// While the session is being opened, Ctrl+C gives up, and does not end the run.
	ctx, stop := context.WithCancel(h.ctx)
	defer stop()
	defer h.withTerminal(stop)()
	progress := subcommands.Progress(h.env.Stderr)
	progress("Attaching to " + agent + ". Ctrl+C gives up.")
	client, _, err := control.Dial[runstore.LiveStatus](ctx, l.socket, progress)
	if err != nil {
		return err
	}
	defer client.Close()
	p := control.AttachParams{Agent: agent, Size: control.Size{Cols: max(cols, 1), Rows: max(rows, 1)},
		Term: os.Getenv("TERM"), Frontend: input.ChannelScreen}
	r, err := client.Attach(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return nil // the person who gave up knows
		}
		return err
	}
	err = subcommands.ShowAttach(h.ctx, h.env.Stderr, r, ptyproxy.Proxy{}, client)
	if h.ctx.Err() != nil {
		return nil
	}
	return err
}

// asItWas resets everything that a screen may have changed: mouse, paste and focus reports, keys, colours and
// cursor, the alternate screen, and the title, which the terminal had saved.
const asItWas = "\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1004l\x1b[?9001l" +
	"\x1b[<u\x1b[>4;0m\x1b[?1l\x1b>\x1b[?7h\x1b[0m\x1b[0 q\x1b[?25h\x1b[23;2t\x1b[?1049l"

// resetTerminal is for a screen that hangs and cannot reset the terminal itself. The returned function resets the
// terminal as far as possible without blocking. Call resetTerminal before the screen starts.
func resetTerminal(in *os.File, out io.Writer) (last func()) {
	was, err := term.GetState(int(in.Fd()))
	return func() {
		if err != nil {
			return // no terminal
		}
		_ = term.Restore(int(in.Fd()), was) // an error means that the terminal is gone
		written := make(chan struct{})
		go func() { // may block if the terminal is not read; the process ends anyway
			defer close(written)
			_, _ = io.WriteString(out, asItWas)
		}()
		select {
		case <-written:
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Time limits for ending a command of the user.
const (
	shellGrace = 500 * time.Millisecond // between the request to end and the kill
	shellEnds  = 5 * time.Second        // until all processes that it started are gone
)

// Shell implements tui.Host: the user's own shell runs a line, without a terminal and without input.
func (h *ScreenHost) Shell(ctx context.Context, dir, line string, out io.Writer) (code int, err error) {
	program := os.Getenv("SHELL")
	if !filepath.IsAbs(program) {
		program = "/bin/sh"
	}
	cmd := exec.Command(program, "-c", line)
	cmd.Dir, cmd.Env = dir, os.Environ()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = shellGrace                           // background processes hold the output, too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it cannot prompt on the terminal of the screen
	child, err := proctree.Start(cmd, proctree.Mark{Run: uuid.NewString()})
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", program, err)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
		child.Remember()
		_ = child.Signal(syscall.SIGTERM) // Kill follows in any case
		select {
		case <-child.Done():
		case <-time.After(shellGrace):
		}
	}
	ending, cancel := context.WithTimeout(context.Background(), shellEnds)
	defer cancel()
	if _, err := child.Kill(ending); err != nil { // also ends background processes
		return 0, fmt.Errorf("end what %q has started: %w", line, err)
	}
	var exit *exec.ExitError
	if err := child.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, err
	}
	if s := child.State(); s != nil {
		code = s.ExitCode()
	}
	return code, nil
}

// Show runs the frontend until it is left, ends the running session, and prints final messages. The terminal is
// restored before anything is written to stderr.
func (h *ScreenHost) Show(f *tui.Frontend) error {
	stop := h.HandleSignals(f.Leave, resetTerminal(os.Stdin, os.Stdout))
	defer stop()
	failed := f.Run(context.Background())
	var fault *tui.Fault
	broke, end := errors.As(failed, &fault), "INT"
	if failed != nil && !broke {
		end = "TERM"
	}
	if lost := (*tui.LostError)(nil); errors.As(failed, &lost) {
		h.Lost() // whether or not there was a signal
	}
	outcome := h.End(end)
	for _, text := range f.Unsent() {
		fmt.Fprintln(h.env.Stderr, "Not sent, because the run did not take it: "+sanitize.Line(text, 300))
	}
	if broke {
		return h.screenFault(fault)
	}
	switch {
	case failed != nil && !h.played():
		return command.Environmentf("%v; use --plain for lines of text, or --json for scripts", failed)
	case failed != nil:
		fmt.Fprintln(h.env.Stderr, "arbiter: the terminal was lost: "+sanitize.Line(failed.Error(), 300))
	}
	if outcome.Exit == contract.ExitComplete {
		return nil
	}
	if outcome.Exit == contract.ExitInterrupted && h.signal == "" {
		outcome.Text = "the run was stopped before it was done"
	}
	return &command.Error{Code: outcome.Exit, Text: outcome.Text}
}

// Lost records that the terminal is gone: the run continues, or [ScreenHost.End] stops it.
func (h *ScreenHost) Lost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signal == "" {
		h.signal = "TERM"
		h.hungUp()
	}
}

// hungUp leaves the run if the settings say so. The caller holds mu.
func (h *ScreenHost) hungUp() (left bool) {
	if h.choices.Screen.OnHangup == settings.HangupStop {
		return false
	}
	if h.last != nil {
		h.last.Leave()
	}
	return true
}

// played reports whether a run was started or a signal was received.
func (h *ScreenHost) played() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last != nil || h.signal != ""
}

func (h *ScreenHost) screenFault(fault *tui.Fault) error {
	if l := h.Session(); l != nil {
		r := &runstore.CrashReporter{Dir: filepath.Dir(l.socket), Version: command.Version(),
			Mask: settings.MaskerOf(h.choices.Options, h.choices.Hosts), Log: slog.New(slog.DiscardHandler)}
		r.Panicked(&runloop.Fault{Panic: fault.Panic, Stack: fault.Stack})
		r.Close()
		for _, path := range r.Written() {
			fmt.Fprintln(h.env.Stderr, "arbiter: a crash report was written to "+path)
		}
	} else {
		fmt.Fprintf(h.env.Stderr, "%s\n", fault.Stack)
	}
	return &command.Error{Code: contract.ExitBug, Text: fault.Error()}
}

// HandleSignals ends the run and leaves the frontend when the terminal is closed or a signal asks for it.
func (h *ScreenHost) HandleSignals(leave, last func()) (stop func()) {
	command.OutliveReaders()
	return command.HandleSignals(func(name string, _ int) bool { return h.handles(name, leave) }, func() {
		if l := h.Session(); l != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.workers.Go(func() { l.Halt() }) // a signal cannot wait for it
		}
	}, last)
}

// handles ends the current run because of a signal, or leaves it if the terminal hung up. It returns false if the
// signal was not meant for this program: Ctrl+C is only a key for the program that has the terminal.
func (h *ScreenHost) handles(name string, leave func()) bool {
	if name == "INT" && time.Now().UnixNano() < h.awayUntil.Load() {
		(*h.onInterrupt.Load())()
		return false
	}
	h.mu.Lock()
	h.signal = name // without a run, it determines the exit code
	h.recall()      // end the program that has the terminal
	if !(name == "HUP" && h.hungUp()) && h.last != nil {
		h.last.StopBy(name)
	}
	h.mu.Unlock()
	leave()
	return true
}
