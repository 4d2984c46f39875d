package clients

// This part of the package does for an interactive frontend what needs processes, files or the terminal: it
// starts runs, one after the other, and lends the terminal. Its Host implements tui.Host.

// This file is a run from a frontend's point of view: a connection to the process that hosts the run, renewed
// when it is lost.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
)

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
	pid     int // of the process that plays it
	socket  string
	Process *host.Process // the process that plays the run; nil if another process started that
	sink    runloop.Sink
	client  atomic.Pointer[control.Client] // the current connection

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
	left    chan struct{}             // closed when the run should continue without the frontend
	leaves  sync.Once
	parted  chan struct{} // closed when the session no longer waits for the process
	mu      sync.Mutex
	stops   int
	workers sync.WaitGroup
}

// OpenSession connects to the process that plays a run, and follows it from a place in its event log. The zero Position
// is for a run that has just started.
func OpenSession(ctx context.Context, socket string, log *journal.EventLog, after journal.LogPosition,
	sink runloop.Sink) (*ScreenSession, error) {
	// Do not cancel with ctx: a caller that gives up meanwhile stops or leaves the run once there is a session.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), hostAnswers)
	defer cancel()
	client, st, err := control.Dial(ctx, socket, nil)
	if err != nil {
		return nil, err
	}
	s := &ScreenSession{
		run: st.Run, pid: st.PID, socket: socket, sink: sink,
		first: make(chan struct{}), changed: make(chan struct{}, 1), done: make(chan struct{}),
		parted: make(chan struct{}), left: make(chan struct{}),
	}
	s.seq, err = catchUp(ctx, log, after, st.LogLines, sink)
	if err == nil {
		err = s.subscribe(ctx, client)
	}
	if err == nil {
		select {
		case <-s.first:
			err = s.unreadable()
		case <-client.Done():
			select {
			case <-s.first: // the state arrived before the connection ended
				err = s.unreadable()
			default:
				err = host.ErrGone
			}
		case <-ctx.Done():
			err = fmt.Errorf("%w in time", control.ErrSilent)
		}
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
		_, err := s.client.Load().Status(ctx)
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
		var again bool
		again, err = s.connectAgain()
		if !again {
			break
		}
	}
	return err
}

// connectAgain connects once. again reports whether the run answered but the connection was lost.
func (s *ScreenSession) connectAgain() (again bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hostAnswers)
	defer cancel()
	client, st, err := control.Dial(ctx, s.socket, nil)
	if err != nil {
		return false, err
	}
	if st.PID != s.pid {
		client.Close()
		return false, host.ErrGone // another process plays the run now
	}
	if err := s.subscribe(ctx, client); err != nil {
		client.Close()
		return true, err
	}
	return false, nil
}

// catchUp reports the events after a place of the event log, and returns the number of the last event of the
// current process. The first earlier lines of the log are those of other processes.
func catchUp(ctx context.Context, log *journal.EventLog, after journal.LogPosition, earlier uint64,
	sink runloop.Sink) (seq uint64, err error) {
	if log == nil {
		return 0, nil
	}
	number := func(e journal.LogEntry) {
		if e.N <= earlier || e.Line == nil {
			return
		}
		if line, bad := contract.DecodeLine(e.Line); bad == nil {
			seq = line.Seq
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
	_, err = log.Each(ctx, after, func(e journal.LogEntry) error {
		number(e)
		if e.Line == nil {
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
			ended = s.hasEnded() || s.reconnect() != nil
		}
	}
	if s.Process != nil {
		select {
		case <-s.Process.Exited():
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

// Notices returns messages about the end of the run for a person, one per line. Call it when the run is over.
func (s *ScreenSession) Notices() []string { return s.end.Notices }

// Left implements PlainRun: the channel is closed when the run should continue without the frontend.
func (s *ScreenSession) Left() <-chan struct{} { return s.left }

// Socket returns the path of the socket of the process that hosts the run.
func (s *ScreenSession) Socket() string { return s.socket }

// Part closes the connection and leaves the run running.
func (s *ScreenSession) Part() {
	close(s.parted)
	s.Close()
}

// unreadable returns why the first state cannot be read; nil if it can.
func (s *ScreenSession) unreadable() error {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	return s.foreign
}

// hasEnded reports whether the end of the run was received.
func (s *ScreenSession) hasEnded() bool {
	s.receiving.Lock()
	defer s.receiving.Unlock()
	return s.hasEnd
}

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
func (s *ScreenSession) Put(c contract.Command) bool {
	line, err := contract.MarshalCommand(c)
	if err != nil {
		return false // cannot happen with our own types
	}
	// No time limit: a run whose disk is full accepts commands later.
	p := control.PutParams{Command: line, Frontend: input.ChannelScreen}
	return s.client.Load().Put(context.Background(), p) == nil
}

// InputEnded implements PlainRun.
func (s *ScreenSession) InputEnded() {
	_ = s.client.Load().InputEnded(context.Background()) // a finished run needs no input
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
func (s *ScreenSession) Leave() { s.leaves.Do(func() { close(s.left) }) }

// HasLeft reports whether the run should continue without the frontend.
func (s *ScreenSession) HasLeft() bool {
	select {
	case <-s.left:
		return true
	default:
		return false
	}
}

// Halt implements tui.Run.
func (s *ScreenSession) Halt() string {
	ctx, cancel := context.WithTimeout(context.Background(), haltAnswers)
	defer cancel()
	r, err := s.client.Load().Halt(ctx, control.HaltParams{Frontend: input.ChannelScreen})
	switch {
	case err != nil:
		return "The run does not answer: " + strings.TrimSuffix(err.Error(), ".") + ". arbiter halt kills its agents."
	case len(r.Left) > 0:
		return "Still alive: " + r.Left[0]
	case !r.Halted:
		return "All is still. The run itself does not answer."
	}
	return "All is still. /continue wakes them."
}

// HaltAtOnce is like Halt, for callers that cannot wait for it.
func (s *ScreenSession) HaltAtOnce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers.Go(func() { s.Halt() })
}

// Refusal returns a refused connection or another failure as an error for a person.
func Refusal(run string, err error) error {
	var refused *control.Refusal
	if errors.As(err, &refused) {
		return command.Usagef("run %s: %s", command.ShortID(run), refused.Message)
	}
	return command.Environmentf("run %s: %v", command.ShortID(run), err)
}

// Reporter makes a writer of crash reports in the run's directory.
func (s *ScreenSession) Reporter(c settings.Choices) *runstore.CrashReporter {
	return runstore.NewReporter(runstore.CrashOptions{Dir: filepath.Dir(s.socket), Version: command.Version(),
		Mask: settings.MaskerOf(c.Options, c.Hosts), Log: slog.New(slog.DiscardHandler)})
}
