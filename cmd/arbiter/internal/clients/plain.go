package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	hosting "github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// This part of the package is the frontend of `--plain`: it prints a run as lines of prose, and reads lines
// of input that answer it. It is for screen readers, for terminals without cursor control, and for pipes. It
// prints no animation and no escape sequence, folds nothing, and prints important things once.
//
// [Frontend.Run] owns all state and never blocks. Three goroutines help it: one reads the input, one at a time does
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
	// Put submits a command, and returns what a person has to know of it, such as that the run is over.
	Put(contract.Command) string
	// InputEnded reports that no human will answer from now on.
	InputEnded()
	// Stop ends the run in order, so that it can be resumed. It does not block.
	Stop()
	// Left is closed when the run must continue without the frontend.
	Left() <-chan struct{}
	// Silent returns since when the run does not answer; zero: it answers, or is over.
	Silent() time.Time
	// Named returns how a command line names the run: its id, and the flag for its state directory if that needs one.
	Named() string
	// Done is closed when the run and everything that belongs to it has ended.
	Done() <-chan struct{}
}

// PlainHost is the program around the frontend.
type PlainHost interface {
	// Begin starts a run, or resumes one. Its events go to sink, in order.
	Begin(ctx context.Context, task string, sink runloop.Sink) (PlainRun, error)
	// Run runs a slash command. One goroutine calls it, in order; it may take a moment. Its text is printed.
	Run(line string) (handled bool, text string)
	// Name returns the name of a party.
	Name(id string) string
	// Inbox lists what waits for the human, the oldest first.
	Inbox() []supervisor.InboxItem
	// Covers lists the ids of the requests that a permission rule would settle. It may take a moment, and is called
	// from another goroutine.
	Covers(rule string) []string
}

// Frontend is the plain frontend. Its fields are set before Run.
type Frontend struct {
	Task    string // the task; empty: the first line of the input
	Begin   bool   // begin without waiting for a task, such as when a run is resumed
	Verbose bool   // print every tool call, and what agents write for themselves
	ASCII   bool   // the output does not support UTF-8
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
		frontend: f, host: host, narrator: newNarrator(f.Verbose, host.Name), mail: &mailbox{backlog.New[event](), f.Verbose},
		dead: make(chan struct{}), quit: make(chan struct{}), lines: make(chan inputLine),
		results: make(chan func() error, 1),
	}
	s.out = hosting.NewOutput(out, hosting.OutputOptions[string]{
		Most:   1, // the others count as waiting until it is written
		Encode: func(text string) []byte { return []byte(text) },
		Left: func(lost int) string {
			return words.Count(lost, "announcement") + " left out, because the output is read too slowly.\n"
		},
		Failed: func(error) { close(s.dead) },
	})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go listen(in, s.lines, s.quit) // not waited for: a read cannot be cancelled
	err := s.loop(ctx)
	cancel()
	close(s.quit)
	s.jobs.Wait()
	failed := s.out.Close(grace)
	switch {
	case errors.Is(failed, hosting.ErrStuck):
		failed = errors.New("write the last lines: nobody reads the output")
	case failed != nil:
		failed = fmt.Errorf("write: %w", failed)
	}
	return errors.Join(err, failed)
}

// plainSession is the state of one Run. It belongs to its goroutine.
type plainSession struct {
	frontend *Frontend
	host     PlainHost
	narrator *narrator
	out      *hosting.Output[string]
	dead     chan struct{} // closed when the output failed
	mail     *mailbox

	lines chan inputLine
	quit  chan struct{}

	jobs    sync.WaitGroup
	busy    bool              // a job is running
	results chan func() error // capacity 1: what the loop does after the job; an error ends it
	pending []job             // to run, one after the other

	run        PlainRun
	asked      bool // a run was requested
	inputEnded bool // the input has ended
	stopping   bool
	silent     bool // it was said that the run does not answer
	block      block
	listed     []string // ids of the requests that "/answer all" has listed
}

// job may take time; it gets the run, if there is one, and returns what the loop does then.
type job func(PlainRun) func() error

func (s *plainSession) loop(ctx context.Context) error {
	if s.frontend.Task != "" || s.frontend.Begin {
		s.begin(ctx, s.frontend.Task)
	} else {
		s.print("Speak, mortal.", true)
	}
	tick, look := time.NewTicker(progressPause), time.NewTicker(silentLook)
	defer tick.Stop()
	defer look.Stop()
	done, dead := ctx.Done(), s.dead
	for {
		var over, left <-chan struct{}
		if s.run != nil {
			over, left = s.run.Done(), s.run.Left()
		}
		input := s.lines
		if s.inputEnded || len(s.pending) >= maxJobs {
			input = nil
		}
		if !s.busy && len(s.pending) > 0 {
			do, run := s.pending[0], s.run
			s.busy, s.pending = true, s.pending[1:]
			s.jobs.Go(func() { s.results <- do(run) })
		}
		select {
		case <-s.mail.Wake():
			s.printEvents()
		case then := <-s.results:
			s.busy = false
			if err := then(); err != nil {
				return err
			}
		case h := <-input:
			s.handleLine(ctx, h)
		case <-tick.C:
			s.print(s.narrator.progress(), false)
			s.print(s.narrator.remind(supervisor.Awaited(s.host.Inbox()), time.Now()), true)
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
		if !s.asked && s.inputEnded && !s.busy && len(s.pending) == 0 {
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
		s.print(fmt.Sprintf("The run has not answered since %s: its process is stopped, or hangs. What you write waits for "+
			"it; arbiter halt %s ends its agents.", since.Format(time.TimeOnly), s.run.Named()), true)
	}
	s.silent = !s.silent
}

// begin starts the run.
func (s *plainSession) begin(ctx context.Context, task string) {
	s.asked = true
	s.do(func(PlainRun) func() error {
		run, err := s.host.Begin(ctx, task, s.mail.put)
		return func() error {
			if err != nil {
				s.printEvents()
				return fmt.Errorf("begin: %w", err)
			}
			if s.run = run; s.stopping {
				run.Stop()
			}
			return nil
		}
	})
}

func (s *plainSession) do(j job) { s.pending = append(s.pending, j) }

// says returns what prints a text.
func (s *plainSession) says(text string) func() error {
	return func() error {
		s.print(text, true)
		return nil
	}
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
	if strings.TrimSpace(text) == "" {
		return
	}
	limit := backlog.Limit{Bytes: queueLimit}
	if urgent {
		limit.Bytes = urgentLimit
	}
	text = s.frontend.fit(text)
	s.out.Put(text, len(text), limit)
}

// NotTaken says that a command came too late.
const NotTaken = "The run is over; that was not taken."

// put submits a command to the run, after the earlier ones.
func (s *plainSession) put(c contract.CommandBody) {
	s.do(func(run PlainRun) func() error {
		if run == nil {
			return s.says(NotTaken)
		}
		return s.says(run.Put(contract.Command{Ref: c.CommandType(), Body: c}))
	})
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
	for {
		line, err := r.NextOrLast()
		h := inputLine{long: line.Oversize, end: err != nil}
		if !h.long {
			h.text = strings.ToValidUTF8(strings.TrimRight(string(line.Data), "\r"), "\uFFFD")
		}
		if line.Start == 0 {
			h.text = strings.TrimPrefix(h.text, "\ufeff")
		}
		if len(h.text) > maxLine {
			h.text, h.long = "", true
		}
		select {
		case lines <- h:
		case <-quit:
			return
		}
		if h.end {
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
			s.do(func(run PlainRun) func() error {
				if run != nil {
					run.InputEnded()
				}
				return s.says("")
			})
		}
	case h.long && s.block.open:
		s.block.bytes += maxLine + 1
	case h.long:
		s.print(tooLong, true)
	case text == fence && s.block.open:
		s.closeBlock(ctx)
	case s.block.open:
		if s.block.bytes += len(h.text) + 1; s.block.bytes <= maxLine {
			s.block.lines = append(s.block.lines, h.text)
		} else {
			s.block.lines = nil
		}
	case text == fence:
		s.block.open = true
	case text == "":
	case strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//"):
		s.command(text)
	case strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "!!"): // meant for a shell, not for a model
		s.print("! needs a screen: use another terminal; to send the line as text, begin with !!", true)
	default:
		if strings.HasPrefix(text, "//") || strings.HasPrefix(text, "!!") {
			text = text[1:]
		}
		s.word(ctx, text, true)
	}
}

// block is a message of several lines that is being typed.
type block struct {
	open  bool
	lines []string
	bytes int
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
	s.narrator.question = contract.Question{}
	s.put(contract.Say{Text: text})
}

// command runs a slash command.
func (s *plainSession) command(text string) {
	name, rest, _ := strings.Cut(text, " ")
	switch name {
	case "/inbox":
		s.listInbox()
		return
	case "/answer":
		s.answerInbox(rest)
		return
	}
	s.do(func(PlainRun) func() error {
		handled, message := s.host.Run(text)
		if !handled && message == "" {
			message = fmt.Sprintf("There is no command %s; /help lists them. To send it as text, begin with two slashes.",
				name[:min(len(name), 40)])
		}
		return s.says(message)
	})
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

// ascii maps characters of our own texts, and of most others, to a plain form.
var ascii = strings.NewReplacer("–", "-", "—", "-", "…", "...", "“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'", "→",
	"->", "•", "*", "\u00a0", " ")

// fit makes a text safe to write, as a paragraph of its own: it contains nothing that a terminal interprets.
func (f *Frontend) fit(text string) string {
	text = sanitize.Text(text)
	if f.ASCII {
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

// remindEvery is the time between two reminders of the same items.
const remindEvery = 10 * time.Minute

// waits lists what waits for the human, each item with its number, in full, and with the way to answer it. covered has
// the ids of the requests that a permission rule would settle.
func (v *narrator) waits(list []supervisor.InboxItem, covered map[string][]string, now time.Time) string {
	if len(list) == 0 {
		return "Nothing waits for you."
	}
	var lines []string
	if n := len(supervisor.Awaited(list)); n > 0 {
		lines = append(lines, awaited(n)+".")
	}
	for _, i := range list {
		lines = append(lines, fmt.Sprintf("%d. %s, %s: %s.", v.numberOf(i.ID), eventtext.Asks(i, v.name(i.Agent)),
			eventtext.Age(i, now), v.howTo(i)))
		if i.Kind == supervisor.InboxRecovery {
			continue
		}
		for line := range strings.Lines(sanitize.Text(i.Text)) {
			lines = append(lines, strings.TrimRight("    "+line, " \n"))
		}
		lines = append(lines, v.covering(i, list, covered)...)
	}
	if n := len(leaves(list)); n > 1 {
		lines = append(lines, fmt.Sprintf("/answer all y allows these %d requests once, /answer all n denies them.", n))
	}
	return strings.Join(lines, "\n")
}

// howTo describes how to answer an item.
func (v *narrator) howTo(i supervisor.InboxItem) string {
	n := v.numberOf(i.ID)
	switch i.Kind {
	case supervisor.InboxPermission:
		return "answer with " + v.permits(i)
	case supervisor.InboxTrust, supervisor.InboxRecovery, supervisor.InboxLimit:
		return fmt.Sprintf("/answer %d %s", n, sanitize.Line(strings.Join(i.Choices, ", or "), 300))
	case supervisor.InboxQuestion, supervisor.InboxAcceptance:
	}
	return fmt.Sprintf("your next word to the Arbiter is the answer, or /answer %d TEXT", n)
}

// permits lists the answers to a permission request. A question of an MCP server is answered with a text.
func (v *narrator) permits(i supervisor.InboxItem) string {
	n := v.numberOf(i.ID)
	if i.Request.Tool == bridge.ElicitTool {
		return fmt.Sprintf("%d y ANSWER, or %d n REASON", n, n)
	}
	return fmt.Sprintf("%d y, %d run, %d always, or %d n REASON", n, n, n, n)
}

// covering lists the rules that would cover a permission request, and which other waiting requests each
// would settle.
func (v *narrator) covering(
	i supervisor.InboxItem, list []supervisor.InboxItem, covered map[string][]string,
) []string {
	if i.Request == nil {
		return nil
	}
	n := v.numberOf(i.ID)
	var lines []string
	for k, rule := range i.Request.Suggestions[:min(len(i.Request.Suggestions), supervisor.OfferedRules)] {
		line := fmt.Sprintf("    %d run %c allows %s", n, 'a'+k, sanitize.Line(rule, 300))
		var also []string
		for _, id := range covered[rule] {
			if id != i.ID && slices.ContainsFunc(list, func(o supervisor.InboxItem) bool { return o.ID == id }) {
				also = append(also, fmt.Sprint(v.numberOf(id)))
			}
		}
		if len(also) > 0 {
			line += ", which also settles " + strings.Join(also, ", ")
		}
		lines = append(lines, line+": "+sanitize.Line(words.Rules(rule), 300)+".")
	}
	return lines
}

// leaves returns the waiting permission requests, without the questions of MCP servers, each of which has an answer of
// its own.
func leaves(list []supervisor.InboxItem) []supervisor.InboxItem {
	return slices.DeleteFunc(slices.Clone(list), func(i supervisor.InboxItem) bool {
		return i.Request == nil || i.Request.Tool == bridge.ElicitTool
	})
}

// remind reports what has waited for a minute or longer, when it changes and from time to time.
func (v *narrator) remind(list []supervisor.InboxItem, now time.Time) string {
	if len(list) == 0 || list[0].Age(now) < time.Minute {
		return ""
	}
	if of := strings.Join(ids(list), " "); of != v.reminded || now.Sub(v.remindAt) >= remindEvery {
		v.reminded, v.remindAt = of, now
		return fmt.Sprintf("%s, the first %s: /inbox lists what for.", awaited(len(list)), eventtext.Age(list[0], now))
	}
	return ""
}

// awaited reports how many inputs of the human are awaited.
func awaited(n int) string {
	if n == 1 {
		return "Something waits for you"
	}
	return fmt.Sprintf("%d things wait for you", n)
}

// numberOf returns the number by which an item is answered. It is assigned when the item is first
// mentioned.
func (v *narrator) numberOf(id string) int {
	n, ok := v.numbers[id]
	if !ok {
		n = len(v.numbers) + 1
		v.numbers[id] = n
	}
	return n
}

// listInbox prints what waits for the human. A job computes what rules would settle, because it may take a
// moment.
func (s *plainSession) listInbox() {
	s.do(func(PlainRun) func() error {
		list := s.host.Inbox()
		found := map[string][]string{}
		for _, i := range list {
			if i.Request == nil {
				continue
			}
			for _, rule := range i.Request.Suggestions {
				if _, known := found[rule]; !known {
					found[rule] = s.host.Covers(rule)
				}
			}
		}
		return func() error {
			s.print(s.narrator.waits(list, found, time.Now()), true)
			return nil
		}
	})
}

// answerInbox handles "/answer N …", which answers the item with that number in /inbox.
func (s *plainSession) answerInbox(line string) {
	list := s.host.Inbox()
	number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch n, err := strconv.Atoi(number); {
	case number == "":
		s.listInbox()
	case number == "all":
		s.answerAll(list, rest)
	case err != nil:
		s.print("Say which: /inbox lists what waits, and its numbers.", true)
	default:
		at := slices.IndexFunc(list, func(i supervisor.InboxItem) bool { return s.narrator.numbers[i.ID] == n })
		if at < 0 {
			s.print(fmt.Sprintf("Nothing waits under number %d: /inbox lists what does.", n), true)
			return
		}
		s.answerItem(list[at], rest)
	}
}

// answerItem answers one thing that waits.
func (s *plainSession) answerItem(i supervisor.InboxItem, rest string) {
	body, err := i.Answer(rest)
	if err != nil {
		s.print(fmt.Sprintf("That was not taken, %s: %s.", sanitize.Line(err.Error(), 300), s.narrator.howTo(i)), true)
		return
	}
	if _, said := body.(contract.Say); said {
		s.narrator.question = contract.Question{}
	}
	s.put(body)
}

// answerAll answers all permission requests, provided that they were listed and their number was shown.
func (s *plainSession) answerAll(list []supervisor.InboxItem, rest string) {
	list = leaves(list)
	words := strings.Fields(rest)
	if len(list) == 0 {
		s.print("No permission request waits.", true)
		return
	}
	behavior, scope, known := supervisor.AnswerWord(strings.Join(words[:min(len(words), 1)], ""))
	if !known || behavior == bridge.Allow && scope != contract.ScopeOnce || len(words) > 2 {
		s.print("Say /answer all y, or /answer all n.", true)
		return
	}
	if len(words) < 2 || words[1] != strconv.Itoa(len(list)) {
		does := map[string]string{"allow": "allows", "deny": "denies"}[behavior]
		lines := []string{fmt.Sprintf("That %s %d permission requests:", does, len(list))}
		for _, i := range list {
			lines = append(lines, fmt.Sprintf("    %d. %s: %s", s.narrator.numberOf(i.ID),
				eventtext.Asks(i, s.narrator.name(i.Agent)), sanitize.Line(i.Text, 600)))
		}
		s.print(strings.Join(append(lines, fmt.Sprintf("To do it, say /answer all %s %d.", words[0], len(list))), "\n"),
			true)
		s.listed = ids(list)
		return
	}
	if !slices.Equal(s.listed, ids(list)) {
		s.answerAll(list, words[0])
		return
	}
	for _, i := range list {
		s.put(contract.Permit{Request: i.ID, Behavior: behavior, Scope: scope, Action: i.Request.Action})
	}
}

func ids(list []supervisor.InboxItem) []string {
	var of []string
	for _, i := range list {
		of = append(of, i.ID)
	}
	return of
}

// answer parses a line as an answer, if a request is open. The line must name the request, because another
// one may have come while it was typed. Only a word that stands alone allows, so that a message that begins
// with such a word never does. Without a body and a problem, the line is not an answer.
func (v *narrator) answer(line string) (body contract.CommandBody, problem string) {
	if len(v.open) == 0 {
		return nil, ""
	}
	number, verb, behavior, rest := "", "", "", strings.Fields(line)
	for range 2 {
		if len(rest) == 0 {
			break
		}
		if does, _, known := supervisor.AnswerWord(rest[0]); known && verb == "" {
			verb, behavior, rest = strings.ToLower(rest[0]), does, rest[1:]
		} else if _, err := strconv.Atoi(rest[0]); err == nil && number == "" {
			number, rest = rest[0], rest[1:]
		} else {
			break
		}
	}
	switch {
	case verb == "", number == "" && len(rest) > 0:
		return nil, "" // a message
	case number == "":
		return nil, "Say which: " + v.choices()
	}
	n, err := strconv.Atoi(number)
	i := slices.IndexFunc(v.open, func(i supervisor.InboxItem) bool { return v.numbers[i.ID] == n })
	switch {
	case i < 0 && behavior == bridge.Allow && len(rest) > 0:
		return nil, "" // "run 2 tests"
	case err != nil || i < 0:
		return nil, fmt.Sprintf("No request %s is open. %s", number, v.choices())
	}
	item := v.open[i]
	letter := len(rest) == 1 && len(rest[0]) == 1
	if behavior == bridge.Deny || len(rest) == 0 || letter || item.Request.Tool == bridge.ElicitTool {
		body, err = item.Answer(verb + " " + strings.Join(rest, " "))
	}
	if body == nil || err != nil {
		return nil, fmt.Sprintf("That was not taken. To allow request %d, say %d %s and nothing more.", n, n, verb)
	}
	return body, ""
}

// choices lists the possible answers.
func (v *narrator) choices() string {
	var list []string
	for _, i := range v.open {
		list = append(list, v.permits(i)+".")
	}
	return strings.Join(list, " ")
}

// narrator decides what is printed for an event, and remembers what was printed, so that nothing is
// repeated. It belongs to the frontend's loop.
type narrator struct {
	name    func(string) string
	verbose bool

	open     []supervisor.InboxItem // permission requests that wait, oldest first
	numbers  map[string]int         // numbers of waiting items, by id
	question contract.Question      // the last one that waits, which a resumed run asks again
	plan     []contract.Step
	used     map[string]use       // tools since the last report on them, by agent
	retried  map[string]time.Time // when a problem with the API was last reported, by agent
	reminded string               // ids of the items in the last reminder
	remindAt time.Time            // when
}

// use is what an agent has done with tools.
type use struct {
	count int
	last  string
}

func newNarrator(verbose bool, name func(string) string) *narrator {
	return &narrator{name: name, verbose: verbose, used: map[string]use{}, retried: map[string]time.Time{},
		numbers: map[string]int{}}
}

// describe returns the text for an event; empty if it is not worth one. urgent reports that a person waits for
// it.
func (v *narrator) describe(at time.Time, e contract.Event) (text string, urgent bool) {
	if b, ok := e.Body.(contract.Settled); ok && b.Item == v.question.Question {
		v.question = contract.Question{}
	}
	text, ok := eventtext.Text(history.Entry{At: at, Event: e}, v.name)
	if !ok {
		return "", false
	}
	urgent = contract.Urgent(e.Body)
	switch b := e.Body.(type) {
	case contract.Question:
		if b.Text == v.question.Text {
			return "", false
		}
		v.question = b
		return strings.TrimRight(text, "\n") + "\nType your answer.", urgent
	case contract.PermissionRequest:
		return v.asked(b, text), urgent
	case contract.Permission:
		return v.decided(b, text), urgent
	case contract.ToolUse:
		if v.verbose {
			return text, false
		}
		v.count(e.ID, text)
		return "", false
	case contract.Message:
		if !v.verbose && (b.From == contract.Supervisor || b.From == contract.Human && !b.Edited) {
			return "", false // messages of the program, and what was typed here
		}
		if b.Kind == "brief" && !v.verbose {
			text, _, _ = strings.Cut(text, contract.BriefCompany) // each message repeats this note
		}
		if before, _, inherits := strings.Cut(text, handedOver); inherits && b.Kind == "brief" && !v.verbose {
			text = strings.TrimRight(before, "\n") + "\n\nThe document that was handed on goes with it."
		}
	case contract.Handoff:
		if !v.verbose {
			return words.Sentence(eventtext.Line(e, v.name)), false // its author's message has it already
		}
	case contract.Decision:
		if !v.verbose && (b.Source == "" || b.Source == "session" || b.Source == contract.Human) {
			return "", false // other lines show the effect
		}
	case contract.Plan:
		return v.planned(b, text), false
	case contract.Retry:
		if last, ok := v.retried[e.ID]; ok && at.Sub(last) < progressPause && !v.verbose {
			return "", false
		}
		v.retried[e.ID] = at
	case contract.ToolCall, contract.SubagentStart, contract.SubagentStop, contract.Unknown:
		if !v.verbose {
			return "", false
		}
	}
	return text, urgent
}

// handedOver is the heading under which a brief contains its predecessor's document.
const handedOver = "\n## Handed over by "

// asked announces a permission request with a number, once.
func (v *narrator) asked(b contract.PermissionRequest, text string) string {
	if slices.Contains(ids(v.open), b.Request) {
		return ""
	}
	n, rules := v.numberOf(b.Request), b.Suggestions[:min(len(b.Suggestions), supervisor.OfferedRules)]
	item := supervisor.InboxItem{ID: b.Request, Request: &b}
	v.open = append(v.open, item)
	if b.Tool == bridge.ElicitTool {
		return fmt.Sprintf("Request %d. %s\nAnswer with: %s.", n, strings.TrimRight(text, "\n"), v.permits(item))
	}
	offer := ""
	for i, rule := range rules {
		offer += fmt.Sprintf("\n  %c: %s: %s", 'a'+i, sanitize.Line(rule, 300), sanitize.Line(words.Rules(rule), 300))
	}
	if offer != "" {
		offer = fmt.Sprintf("\nRules that cover it, for %d run %c or %d always %c:%s", n, 'a', n, 'a', offer)
	}
	return fmt.Sprintf("Request %d. %s%s\nAnswer with: %d y, %d run (this very action, for the whole run), %d always "+
		"(in later runs here, too), or %d n REASON.",
		n, strings.TrimRight(text, "\n"), offer, n, n, n, n)
}

// decided reports how an announced request was decided.
func (v *narrator) decided(b contract.Permission, text string) string {
	i := slices.Index(ids(v.open), b.Request)
	switch {
	case i >= 0:
		v.open = slices.Delete(v.open, i, i+1)
		return fmt.Sprintf("Request %d: %s", v.numbers[b.Request], text)
	case v.verbose:
		return text
	}
	return ""
}

// planned prints a plan: all of it at first, and later what has changed.
func (v *narrator) planned(b contract.Plan, text string) string {
	changed, same := eventtext.PlanChanges(v.plan, b.Steps)
	if v.plan = b.Steps; same && len(b.Steps) > 0 {
		return changed
	}
	return text
}

// count records a tool's call for the next report on progress.
func (v *narrator) count(agent, text string) {
	u := v.used[agent]
	u.count++
	if _, last, ok := strings.Cut(text, " uses "); ok {
		u.last = last
	}
	v.used[agent] = u
}

// progress reports what was done since its last call, one line per agent.
func (v *narrator) progress() string {
	var lines []string
	for _, agent := range slices.Sorted(maps.Keys(v.used)) {
		u := v.used[agent]
		lines = append(lines, fmt.Sprintf("%s is at work: %s since the last word; the last was %s.", v.name(agent),
			words.Count(u.count, "tool"), strings.TrimRight(sanitize.Line(u.last, 120), ".")))
	}
	clear(v.used)
	return strings.Join(lines, "\n")
}
