package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

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
	// Silent returns since when the run does not answer; zero: it answers, or is over.
	Silent() time.Time
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
	silentLook    = 4 * time.Second // between two looks whether the run answers
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
	silent     bool // it was said that the run does not answer
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
	tick, look := time.NewTicker(progressPause), time.NewTicker(silentLook)
	defer tick.Stop()
	defer look.Stop()
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
		case <-look.C:
			s.printSilence()
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

// printSilence says once that the run does not answer, and once that it does again.
func (s *plainSession) printSilence() {
	var since time.Time
	if s.run != nil {
		since = s.run.Silent()
	}
	switch {
	case since.IsZero() == !s.silent:
		return
	case s.silent:
		s.print("The run answers again.", true)
	default:
		s.print("The run has not answered since "+since.Format("15:04:05")+": its process is stopped, or hangs. What you "+
			"write waits for it; arbiter halt ends its agents.", true)
	}
	s.silent = !s.silent
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

// maxLine bounds a line of the input, and a message of several lines.
const maxLine = 1 << 20

const tooLong = "That is more than 1 MiB and was not taken. Save it to a file, and name the file."

// fence begins and ends a message of several lines.
const fence = `"""`

// inputLine is a line of the input, or its end.
type inputLine struct {
	text string
	long bool
	end  bool
}

// listen reads lines until the input ends or fails; both are reported as the end.
func listen(in io.Reader, lines chan<- inputLine, quit <-chan struct{}) {
	r := jsonl.NewLineReader(in, maxLine)
	for first := true; ; first = false {
		line, err := r.NextOrLast()
		h := inputLine{long: line.Oversize, end: err != nil}
		if !h.long {
			h.text = strings.ToValidUTF8(strings.TrimRight(string(line.Data), "\r"), "\uFFFD")
		}
		if first {
			h.text = strings.TrimPrefix(h.text, "\ufeff")
		}
		if len(h.text) > maxLine {
			h.text, h.long = "", true
		}
		if !sendLine(lines, h, quit) || h.end {
			return
		}
	}
}

func sendLine(lines chan<- inputLine, h inputLine, quit <-chan struct{}) bool {
	select {
	case lines <- h:
		return true
	case <-quit:
		return false
	}
}

// runJobs runs jobs, one after the other.
func runJobs(jobs <-chan workerJob, results chan<- result, quit <-chan struct{}) {
	for {
		select {
		case o := <-jobs:
			r := o.do(o.run)
			select {
			case results <- r:
			case <-quit:
				return
			}
		case <-quit:
			return
		}
	}
}

func (s *plainSession) handleLine(ctx context.Context, h inputLine) {
	text := strings.TrimSpace(h.text)
	switch {
	case h.end:
		s.inputEnded = true
		if s.block.open {
			s.closeBlock(ctx)
		}
		if s.asked {
			s.do(func(run PlainRun) result {
				if run != nil {
					run.InputEnded()
				}
				return result{}
			})
		}
	case h.long && s.block.open:
		s.block.bytes += maxLine + 1
	case h.long:
		s.print(tooLong, true)
	case text == fence && s.block.open:
		s.closeBlock(ctx)
	case s.block.open:
		s.block.add(h.text)
	case text == fence:
		s.block.open = true
	case text == "":
	case strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//"):
		s.command(text)
	default:
		s.word(ctx, strings.TrimPrefix(text, "/"), true)
	}
}

// block is a message of several lines that is being typed.
type block struct {
	open  bool
	lines []string
	bytes int
}

func (b *block) add(line string) {
	if b.bytes += len(line) + 1; b.bytes <= maxLine {
		b.lines = append(b.lines, line)
	} else {
		b.lines = nil
	}
}

func (s *plainSession) closeBlock(ctx context.Context) {
	b := s.block
	s.block = block{}
	text := strings.Join(b.lines, "\n")
	switch {
	case b.bytes > maxLine:
		s.print(tooLong, true)
	case strings.TrimSpace(text) != "":
		s.word(ctx, text, false)
	}
}

// word handles text that is not a command: an answer to a permission request, the task, or a message to the
// Arbiter.
func (s *plainSession) word(ctx context.Context, text string, answers bool) {
	if answers {
		switch body, problem := s.narrator.answer(text); {
		case problem != "":
			s.print(problem, true)
			return
		case body != nil:
			s.put(body)
			return
		}
	}
	if !s.asked {
		s.print("So it shall be.", true)
		s.begin(ctx, text)
		return
	}
	s.narrator.answered()
	s.put(contract.Say{Text: text})
}

// command runs a slash command. Without Commands there is only one.
func (s *plainSession) command(text string) {
	if s.frontend.Inbox != nil {
		switch name, rest, _ := strings.Cut(text, " "); name {
		case "/inbox":
			s.listInbox()
			return
		case "/answer":
			s.answerInbox(rest)
			return
		}
	}
	if s.frontend.Commands == nil {
		if text != "/quit" {
			s.print(fmt.Sprintf("There is no command %s; there is /quit. To send it as text, begin with two slashes.",
				firstWord(text)), true)
			return
		}
		s.print("Patience. The run is being stopped.", true)
		s.stop()
		return
	}
	s.do(func(PlainRun) result {
		handled, message := s.frontend.Commands.Run(text)
		if !handled && message == "" {
			message = fmt.Sprintf("There is no command %s; /help lists them. To send it as text, begin with two slashes.",
				firstWord(text))
		}
		return result{text: message}
	})
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if len(word) > 40 {
		word = word[:40]
	}
	return word
}

// maxMail is how many events may wait to be printed. If there are more, unimportant ones are dropped.
const maxMail = 4096

// event is a waiting event.
type event struct {
	at    time.Time
	event contract.Event
}

// mailbox takes events from the run's goroutine without ever blocking it.
type mailbox struct {
	*backlog.Queue[event]
	verbose bool
}

func newMailbox(verbose bool) *mailbox { return &mailbox{backlog.New[event](), verbose} }

// put is the run's sink.
func (m *mailbox) put(at time.Time, e contract.Event) {
	if contract.Fine(e.Body) {
		return
	}
	switch e.Body.(type) {
	case contract.Assistant, contract.ToolResult:
		if !m.verbose {
			return
		}
	}
	limit := backlog.Limit{Items: maxMail}
	if contract.Urgent(e.Body) {
		limit.Items = 2 * maxMail
	}
	m.Put(event{at, e}, 0, limit)
}

// How many bytes may wait to be written: beyond the first limit only urgent text is accepted, beyond the
// second nothing.
const (
	queueLimit  = 1 << 20
	urgentLimit = 4 << 20
)

// outputWriter writes text. It has one goroutine; say never blocks.
type outputWriter struct {
	out   io.Writer
	ascii bool
	dead  chan struct{} // closed when the output failed
	gone  chan struct{} // closed when the goroutine has ended
	queue *backlog.Queue[string]

	mu     sync.Mutex
	closed bool
	err    error
}

func newOutputWriter(out io.Writer, ascii bool) *outputWriter {
	m := &outputWriter{out: out, ascii: ascii, dead: make(chan struct{}), gone: make(chan struct{}),
		queue: backlog.New[string]()}
	go m.run()
	return m
}

// print queues a text, as a paragraph of its own.
func (m *outputWriter) print(text string, urgent bool) {
	text = m.fit(text)
	limit := backlog.Limit{Bytes: queueLimit}
	if urgent {
		limit.Bytes = urgentLimit
	}
	m.queue.Put(text, len(text), limit)
}

// ascii maps characters of our own texts, and of most others, to a plain form.
var ascii = strings.NewReplacer("–", "-", "—", "-", "…", "...", "“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "→",
	"->", "•", "*", "\u00a0", " ")

// fit makes a text safe to write: it contains nothing that a terminal interprets.
func (m *outputWriter) fit(text string) string {
	text = sanitize.Text(text)
	if m.ascii {
		text = strings.Map(func(r rune) rune {
			if r > '~' {
				return '?'
			}
			return r
		}, ascii.Replace(text))
	}
	text = strings.TrimRight(text, "\n ")
	if strings.Contains(text, "\n") {
		text += "\n" // a blank line ends a paragraph of several lines
	}
	return text + "\n"
}

func (m *outputWriter) run() {
	defer close(m.gone)
	for {
		text, over := m.next()
		if text == "" {
			if over {
				return
			}
			<-m.queue.Wake()
			continue
		}
		if _, err := io.WriteString(m.out, text); err != nil {
			m.mu.Lock()
			m.err = err
			m.mu.Unlock()
			close(m.dead)
			return
		}
	}
}

// next returns what to write next, and whether there will be nothing more. It takes one text at a time: the
// others count as waiting until it is written.
func (m *outputWriter) next() (text string, over bool) {
	m.mu.Lock()
	over = m.closed // read first: all earlier texts are then in the queue
	m.mu.Unlock()
	texts, lost, _ := m.queue.Take(1)
	text = strings.Join(texts, "")
	if lost > 0 {
		text += words.Count(lost, "announcement") + " left out, because the output is read too slowly.\n"
	}
	return text, over
}

// close waits until everything is written, but not longer than the given time.
func (m *outputWriter) close(wait time.Duration) error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.queue.Nudge()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-m.gone:
	case <-timer.C:
		return errors.New("write the last lines: nobody reads the output")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return fmt.Errorf("write: %w", m.err)
	}
	return nil
}
