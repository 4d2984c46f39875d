// Package fakecli is a stand-in for the Claude Code CLI: it speaks the CLI's stream-json frames
// and control protocol on stdin and stdout, asks the scripted model of a rehearsal over the
// Messages API, and misbehaves on request (see [FaultVariable]). A hundred of them run beside
// each other on one machine.
//
// # Purpose
//
// The package is for scale, faults and speed. The real CLI, which runs offline against the same
// scripted model, tests how Claude Code works inside. The loop here is therefore the smallest that
// plays a scenario: request, text and tool calls, hooks and permission, tools, results, result. It
// asks the model over HTTP, because one scripted model plays all sessions of a run: what one of them
// said fills the templates of another.
//
// It imitates how a host drives the CLI (observed with version 2.1.329): initialize, messages that
// queue and join a turn, interrupts, permission questions, hooks, the host's MCP servers, blocking
// subagents, verdicts, transcripts, resume, signals and exit codes. The cases in testdata run
// against both programs. Those in testdata/claude run against the real CLI only, and replace the
// shorter case of the same name. The package does not imitate what the CLI decides on its own: refused
// options, schemas, retries, compaction, task lists, slash commands, settings files, merged messages
// and the progress of subagents.
//
// It judges calls by permission rules as far as rehearsals need it: each command of a line and each file that it works
// on, with a short list of commands that need no permission. Where a line is hard to judge it asks, also where the
// CLI knows better: variables, here-documents, groups. Every mode but acceptEdits and bypassPermissions does what
// default does.
//
// The init frame and the answer to initialize contain `"stand_in":true`.
//
// # Goroutines and locks
//
// [Main] runs the turns, one after the other, on its own goroutine. Beside it run the reader of
// stdin, which answers control requests, fills the inbox and never waits for a turn; the
// signal watcher; the writer of stdout behind an unbounded queue, because the CLI keeps working
// while nothing reads it; and handshakes with MCP servers and side questions. Inside a turn
// the Agent calls of an answer run side by side. Each goroutine is waited for by what started it,
// except the reader: a read from stdin cannot be cut short.
//
// session.mu guards what several goroutines use; the faults and transcriptFile have locks of
// their own. Only transcriptFile holds its lock during I/O.
//
// # Shutdown
//
// At the end of input the queue runs dry. SIGINT interrupts the turn. SIGTERM and SIGHUP kill the
// running tools and leave without a result. In every case stdout is drained first, for a bounded
// time.
package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/transcript"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// drainTime is how long the end waits for a host that does not read.
const drainTime = 5 * time.Second

// Main behaves like `claude args…` and returns the exit code. It catches signals while it
// runs, and works in the process's working directory and environment.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	faults, err := parseFaults(os.Getenv(FaultVariable), os.Getenv(OnceVariable))
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	f := parseFlags(args)
	if f.has("--version") {
		fmt.Fprintln(stdout, version+" (Claude Code stand-in)")
		return 0
	}
	if f.get("--permission-mode") == "bypassPermissions" && os.Getuid() == 0 && os.Getenv("IS_SANDBOX") != "1" {
		fmt.Fprintln(stderr, "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")
		return 1
	}
	s := newSession(f, stderr, faults)
	s.out = newLineWriter(disturbed{stdout, faults})
	file, ok := stdin.(*os.File)
	s.typed = ok && !f.has("-p") && f.has("--resume") && term.IsTerminal(int(file.Fd())) // a person resumes by hand
	if err := s.open(); err != nil {
		s.emit(obj{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
			"errors": []string{err.Error()}, "usage": usage{}})
		fmt.Fprintln(stderr, err)
		s.out.close(drainTime)
		return 1
	}
	return s.serve(stdin)
}

// newSession sets up the parts that need no file.
func newSession(f flags, stderr io.Writer, faults *faults) *session {
	s := &session{flags: f, stderr: stderr, faults: faults,
		inbox: backlog.New[message](), pending: map[string]chan reply{}, known: map[string]bool{},
		account: account{total: modelUsage{}, sinceResult: modelUsage{}},
		mode:    cmp.Or(f.get("--permission-mode"), "default"), model: f.get("--model"),
		systemText: strings.TrimSpace(f.get("--system-prompt") + "\n\n" + f.get("--append-system-prompt"))}
	if s.model == "" || s.model == "default" || s.model == "opus" {
		s.model = "claude-opus-5-5"
	}
	var given settings
	_ = json.Unmarshal([]byte(f.get("--settings")), &given) // other settings have no rules
	s.fixed = slices.Concat(given.rules(), parseRules("allow", splitRules(f["--allowedTools"])),
		parseRules("deny", splitRules(f["--disallowedTools"])))
	s.builtin = chooseBuiltins(f, s.fixed)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.inputEnded, s.endOfInput = context.WithCancel(context.Background())
	return s
}

// open determines which conversation this is, and reads its transcript.
func (s *session) open() (err error) {
	if s.cwd, err = os.Getwd(); err != nil {
		return err
	}
	s.id = cmp.Or(s.flags.get("--resume"), s.flags.get("--session-id"), newUUID())
	config := cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(os.Getenv("HOME"), ".claude"))
	path := filepath.Join(config, "projects", projectName(s.cwd), s.id+".jsonl")
	s.main = &thread{s: s, tr: newTranscript(path, s)}
	if s.flags.has("--resume") {
		s.main.tr.path, _ = transcript.Locate(config, s.id)
		if s.takeUp(s.main.tr.path); s.main.tr.leaf == "" {
			return errors.New("No conversation found with session ID: " + s.id)
		}
	}
	if s.flags.has("--no-session-persistence") {
		s.main.tr.path = ""
	}
	return nil
}

// serve runs the session with its reader and its signal watcher.
func (s *session) serve(stdin io.Reader) int {
	stop := s.watchSignals()
	defer stop()
	if s.typed {
		s.welcome()
		go s.readTyped(stdin) // ends with the terminal
	} else {
		go s.read(stdin) // ends with stdin, see the package comment
	}
	for m, ok := s.next(); ok; m, ok = s.next() {
		s.runTurn(m)
	}
	s.cancel(errTerminated)
	s.hangUp()
	s.handshakes.Wait()
	s.background.Wait()
	s.main.tr.close()
	s.out.close(drainTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	return *cmp.Or(s.exit, &s.failed)
}

// watchSignals reacts to signals until stop is called. A broken pipe is caught and ignored:
// writing to a closed stdout must fail, not kill.
func (s *session) watchSignals() (stop func()) {
	ch := make(chan os.Signal, 4) // signals that come while one is handled
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for sig := range ch {
			number, _ := sig.(syscall.Signal)
			switch {
			case sig == os.Interrupt:
				s.leave(0, errInterrupted)
			case number != syscall.SIGPIPE && !s.faults.is("ignore-term"):
				s.leave(128+int(number), errTerminated)
			}
		}
	})
	return func() { signal.Stop(ch); close(ch); watcher.Wait() }
}

// leave ends the process with a code once the turn is over: errInterrupted lets it end with a result,
// errTerminated does not. Only the first call has an effect.
func (s *session) leave(code int, cause error) {
	s.mu.Lock()
	s.exit = cmp.Or(s.exit, &code)
	s.mu.Unlock()
	s.cancel(cause)
	s.hangUp()
}

// flags is a command line: the values of each option that was given.
type flags map[string][]string

func (f flags) has(name string) bool { _, ok := f[name]; return ok }

// get returns the last value of an option, "" if it has none.
func (f flags) get(name string) string {
	if v := f[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parseFlags reads a command line: the words after an option, up to the next one, are its values. It
// accepts any option; which ones the CLI accepts is tested with the CLI.
func parseFlags(args []string) flags {
	f, name := flags{}, ""
	for _, arg := range args {
		if arg != "-p" && !strings.HasPrefix(arg, "--") {
			f[name] = append(f[name], arg)
			continue
		}
		option, value, inline := strings.Cut(arg, "=")
		name = option
		if _, given := f[option]; !given {
			f[option] = nil // given, so far without a value
		}
		if inline {
			f[option] = append(f[option], value)
		}
	}
	return f
}

// version is the version of the CLI that is imitated.
const version = "2.1.329"

// session is one running fake CLI.
type session struct {
	id, cwd string
	flags   flags
	stderr  io.Writer
	out     *lineWriter
	inbox   *backlog.Queue[message]
	faults  *faults
	main    *thread

	builtin []tool // never changed
	fixed   []rule // never changed: rules of the command line
	typed   bool   // a person types, in a terminal
	model   string // never changed

	// Of a resumed session; the first turn completes it.
	unanswered []string // uuids of messages after the last answer
	dangling   []string // tool_use ids without a result

	ctx        context.Context
	cancel     context.CancelCauseFunc
	handshakes sync.WaitGroup // with MCP servers: the first turn waits for them
	background sync.WaitGroup // of side questions
	inputEnded context.Context
	endOfInput context.CancelFunc

	// mu guards the following fields. It is never held during I/O or a request to the host.
	mu         sync.Mutex
	mode       string                   // the permission mode
	applied    settings                 // of the last apply_flag_settings
	systemText string                   // the prompt of the host's
	hooks      map[string][]hookMatcher // by event
	mcpTools   []tool                   // of the host's MCP servers
	turn       *turn
	account    account
	pending    map[string]chan reply // requests to the host; nil once none can be sent
	known      map[string]bool       // uuids of received messages; true: an earlier process answered it
	failed     int                   // exit code by the last result: 1 if it was an error
	exit       *int                  // exit code by a signal
}

// guarded reads a field that session.mu guards.
func guarded[T any](s *session, field *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

// set changes a field that session.mu guards.
func set[T any](s *session, field *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field = value
}

// emit writes a frame. Control frames are written unchanged, others get the session's id and a uuid. In a
// terminal only results are shown.
func (s *session) emit(o obj) {
	kind, _ := o["type"].(string)
	if !strings.HasPrefix(kind, "control_") {
		if _, ok := o["uuid"]; !ok {
			o["uuid"] = newUUID()
		}
		o["session_id"] = s.id
		if o["subtype"] == "init" && s.faults.is("other-session") {
			o["session_id"] = "0badc0de-0000-4000-8000-000000000000"
		}
	}
	switch {
	case !s.typed:
		s.out.write(encode(o))
	case kind == "result":
		text, _ := o["result"].(string)
		s.out.write([]byte(text))
		s.out.write([]byte(terminalPrompt))
	}
}

func (s *session) lifecycle(uuid, state string) {
	if uuid != "" {
		s.emit(obj{"type": "command_lifecycle", "command_uuid": uuid, "state": state})
	}
}

// replay repeats a user message (--replay-user-messages): the proof that it arrived.
func (s *session) replay(m message) {
	if s.flags.has("--replay-user-messages") && m.uuid != "" {
		s.emit(obj{"type": "user", "isReplay": true, "uuid": m.uuid, "parent_tool_use_id": nil,
			"message": obj{"role": "user", "content": m.content}})
	}
}

// emitInit shows the session at the start of every turn.
func (s *session) emitInit(t *turn) {
	var names []string
	for _, tl := range s.main.toolset() {
		names = append(names, tl.Name)
	}
	s.emit(obj{"type": "system", "subtype": "init", "cwd": s.cwd, "tools": names, "model": s.model,
		"permissionMode": guarded(s, &s.mode), "claude_code_version": version, "stand_in": true,
		"user_message_uuids": uuidsOf(t.messages)})
}

// obj is a JSON object to be written.
type obj = map[string]any

// encode renders v as JSON without escaping HTML, like the CLI. Everything encoded here was
// built by this package or came out of a decoder, so a failure is a bug.
func encode(v any) []byte {
	raw, err := jsonl.Marshal(v)
	if err != nil {
		panic("fakecli: encode: " + err.Error())
	}
	return raw
}

func textBlock(s string) json.RawMessage { return encode(obj{"type": "text", "text": s}) }

func newUUID() string { return uuid.NewString() }

// now returns a timestamp in the format of frames and transcripts.
func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// nullable turns an empty text into null.
func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// lineWriter writes lines in order, from its own goroutine. The queue is unbounded on
// purpose: the CLI keeps working and buffers in memory while nothing reads its stdout
// (observed with CLI 2.1.329), so nothing here may block.
type lineWriter struct {
	w     io.Writer
	queue *backlog.Queue[func()]
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w, backlog.New[func()]()}
	go l.run()
	return l
}

// run runs the queued jobs; nil ends it.
func (l *lineWriter) run() {
	for range l.queue.Wake() {
		jobs, _, _ := l.queue.Take(0)
		for _, job := range jobs {
			if job == nil {
				return
			}
			job()
		}
	}
}

func (l *lineWriter) put(job func()) { l.queue.Put(job, 0, backlog.Limit{}) }

// write queues one line; the newline is added. If the reader has gone, the CLI continues.
func (l *lineWriter) write(line []byte) { l.put(func() { _, _ = l.w.Write(append(line, '\n')) }) }

// written returns a channel that is closed when everything queued so far is written.
func (l *lineWriter) written() <-chan struct{} {
	done := make(chan struct{})
	l.put(func() { close(done) })
	return done
}

// close writes what is queued and ends the goroutine. It stops waiting after grace: a host
// that does not read must not keep the process alive.
func (l *lineWriter) close(grace time.Duration) {
	done := l.written()
	l.put(nil)
	select {
	case <-done:
	case <-time.After(grace):
	}
}
