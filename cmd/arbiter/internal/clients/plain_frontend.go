package clients

// This part of the package is the frontend of `--plain`: it prints a run as lines of prose, and reads lines
// of input that answer it. It is for screen readers, for terminals without cursor control, and for pipes. It
// prints no animation and no escape sequence, folds nothing, and prints important things once.
//
// [Frontend.Run] owns all state and never blocks. Three goroutines help it: one reads the input, one does
// in order what may take time (it begins the run and submits commands), and one writes the output. Events
// come in through a mailbox whose sink does not block, and text waits in a bounded queue, so that neither a
// flood of events nor an unread output blocks the run. Both drop the least important first, and report it.
//
// When the run is over, the rest of the text is written, as long as the grace lasts, and Run waits for the
// goroutine for commands. A read of the input and a write of the output cannot be cancelled: Run does not
// wait for those goroutines after that, and they end with their file.
//
// All text passes package sanitize on its way out, here and nowhere else.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// PlainRun is one process of a run, from its start to its end, with the methods that this frontend needs.
type PlainRun interface {
	// Put submits a command. It returns false if the run is over.
	Put(contract.Command) bool
	// InputEnded reports that no human will answer from now on.
	InputEnded()
	// Stop ends the run in order, so that it can be resumed. It does not block.
	Stop()
	// Left is closed when the run must continue without the frontend.
	Left() <-chan struct{}
	// Done is closed when the run and everything that belongs to it has ended.
	Done() <-chan struct{}
}

// PlainHost is the program around the frontend.
type PlainHost interface {
	// Begin starts a run, or resumes one. Its events go to sink, in order.
	Begin(ctx context.Context, task string, sink runloop.Sink) (PlainRun, error)
}

// Commands runs slash commands. One goroutine calls Run, in order; it may take a moment. Its text is
// printed.
type Commands interface {
	Run(line string) (handled bool, text string)
}

// Frontend is the plain frontend. Its fields are set before Run.
type Frontend struct {
	Task     string                 // the task; empty: the first line of the input
	Begin    bool                   // begin without waiting for a task, such as when a run is resumed
	Verbose  bool                   // print every tool call, and what agents write for themselves
	ASCII    bool                   // the output does not support UTF-8
	Name     func(id string) string // name of a party; nil: its id
	Commands Commands               // nil: only /quit exists
	// Inbox lists what waits for the human, the oldest first; nil: unknown.
	Inbox func() []supervisor.InboxItem
	// Covers lists the ids of the requests that a permission rule would settle. It may take a moment, and
	// is called from another goroutine. Nil: unknown.
	Covers func(rule string) []string
}

// ErrNoTask reports that the input ended before there was a task.
var ErrNoTask = errors.New("no task was given")

const (
	grace         = 2 * time.Second // for the last texts
	progressPause = time.Minute     // between two reports on progress
	maxJobs       = 64              // waiting to run; further input is not read
)

// Run shows a run until it is over, or until no run can begin any more. An error is [ErrNoTask], that of
// Begin, or that of the output: then the run was stopped.
func (f *Frontend) Run(ctx context.Context, in io.Reader, out io.Writer, host PlainHost) error {
	s := &plainSession{
		frontend: f, host: host, narrator: newNarrator(f), out: newOutputWriter(out, f.ASCII), mail: newMailbox(f.Verbose),
		lines: make(chan inputLine), jobs: make(chan workerJob), results: make(chan result), quit: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go listen(in, s.lines, s.quit) // not waited for: a read cannot be cancelled
	jobsDone := make(chan struct{})
	go func() {
		defer close(jobsDone)
		runJobs(s.jobs, s.results, s.quit)
	}()
	err := s.loop(ctx)
	cancel()
	close(s.quit)
	<-jobsDone
	return errors.Join(err, s.out.close(grace))
}

// plainSession is the state of one Run. It belongs to its goroutine.
type plainSession struct {
	frontend *Frontend
	host     PlainHost
	narrator *narrator
	out      *outputWriter
	mail     *mailbox

	lines   chan inputLine
	jobs    chan workerJob
	results chan result
	quit    chan struct{}

	run        PlainRun
	asked      bool // a run was requested
	pending    []job
	inputEnded bool // the input has ended
	stopping   bool
	block      block
	listed     []string // ids of the requests that "/answer all" has listed
}

// job is executed by runJobs, with the run if there is one.
type job func(PlainRun) result

// workerJob is a job for runJobs.
type workerJob struct {
	do  job
	run PlainRun
}

// result is the outcome of the last command.
type result struct {
	run  PlainRun
	err  error
	text string
	then func() // called by the loop; may be nil
	over bool   // the run accepts no more commands
}

func (s *plainSession) loop(ctx context.Context) error {
	if s.frontend.Task != "" || s.frontend.Begin {
		s.begin(ctx, s.frontend.Task)
	} else {
		s.print("Speak, mortal.", true)
	}
	tick := time.NewTicker(progressPause)
	defer tick.Stop()
	done, dead := ctx.Done(), s.out.dead
	for {
		var over, left <-chan struct{}
		if s.run != nil {
			over, left = s.run.Done(), s.run.Left()
		}
		input := s.lines
		if s.inputEnded || len(s.pending) >= maxJobs {
			input = nil
		}
		var jobs chan workerJob
		var next workerJob
		if len(s.pending) > 0 {
			jobs, next = s.jobs, workerJob{s.pending[0], s.run}
		}
		select {
		case <-s.mail.Wake():
			s.printEvents()
		case jobs <- next:
			s.pending = s.pending[1:]
		case r := <-s.results:
			if err := s.handled(r); err != nil {
				return err
			}
		case h := <-input:
			s.handleLine(ctx, h)
		case <-tick.C:
			s.print(s.narrator.progress(), false)
			if s.frontend.Inbox != nil {
				s.print(s.narrator.remind(supervisor.Awaited(s.frontend.Inbox()), time.Now()), true)
			}
		case <-over:
			s.printEvents()
			return nil
		case <-left:
			return nil
		case <-dead: // close reports the error
			dead = nil
			s.stop()
		case <-done:
			done = nil
			s.print("Patience. The run is being stopped.", true)
			s.stop()
		}
		if !s.asked && s.inputEnded && len(s.pending) == 0 {
			return ErrNoTask
		}
		if !s.asked && s.stopping {
			return nil
		}
	}
}

// begin starts the run.
func (s *plainSession) begin(ctx context.Context, task string) {
	s.asked = true
	s.do(func(PlainRun) result {
		run, err := s.host.Begin(ctx, task, s.mail.put)
		return result{run: run, err: err}
	})
}

func (s *plainSession) do(j job) { s.pending = append(s.pending, j) }

func (s *plainSession) handled(r result) error {
	if r.err != nil {
		s.printEvents()
		return fmt.Errorf("begin: %w", r.err)
	}
	if r.run != nil {
		if s.run = r.run; s.stopping {
			s.run.Stop()
		}
	}
	if r.over {
		s.print("The run is over; that was not taken.", true)
	}
	s.print(r.text, true)
	if r.then != nil {
		r.then()
	}
	return nil
}

func (s *plainSession) stop() {
	if s.stopping = true; s.run != nil {
		s.run.Stop()
	}
}

// printEvents prints what has happened.
func (s *plainSession) printEvents() {
	events, lost, _ := s.mail.Take(0)
	for _, e := range events {
		text, urgent := s.narrator.describe(e.at, e.event)
		s.print(text, urgent)
	}
	if lost > 0 {
		s.print(words.Count(lost, "event")+" came too fast to be shown.", false)
	}
}

func (s *plainSession) print(text string, urgent bool) {
	if strings.TrimSpace(text) != "" {
		s.out.print(text, urgent)
	}
}

// put submits a command to the run, after the earlier ones.
func (s *plainSession) put(c contract.CommandBody) {
	s.do(func(run PlainRun) result { return result{over: run == nil || !run.Put(contract.Command{Body: c})} })
}
