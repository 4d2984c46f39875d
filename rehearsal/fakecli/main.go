package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Main behaves like `claude args…` and returns the exit code. It catches signals while it
// runs, and works in the process's working directory.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	env := readEnvironment(environ)
	faults, err := parseFaults(env[FaultVariable], env[OnceVariable])
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if code, ok := faults.atStart(); ok {
		fmt.Fprintln(stderr, "stand-in fault: exit-at-start")
		return code
	}
	f, err := parseFlags(args)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if f.has("--version") {
		fmt.Fprintln(stdout, version+" (Claude Code stand-in)")
		return 0
	}
	s := newSession(f, env, stderr, faults)
	s.typed = isTerminal(f, stdin)
	s.out = newLineWriter(faults.output(stdout))
	if err := s.open(); err != nil {
		s.refuseStart(err)
		s.out.close(drainTime)
		return 1
	}
	event := "start"
	if f.has("--resume") {
		event = "resume"
	}
	s.ledger.note(event, s.id, obj{"argv": args, "cwd": s.cwd})
	code := s.serve(faults.input(stdin))
	s.ledger.note("exit", s.id, nil)
	return code
}

// drainTime is how long the end waits for a host that does not read.
const drainTime = 5 * time.Second

var errNoConversation = errors.New("no conversation")

// refuseStart says why a session cannot start; of a resume also on stdout, like the CLI.
func (s *session) refuseStart(err error) {
	text := err.Error()
	if errors.Is(err, errNoConversation) {
		text = "No conversation found with session ID: " + s.id
		s.emit(obj{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
			"errors": []string{text}, "usage": usage{}, "result_index": 0})
	}
	fmt.Fprintln(s.stderr, text)
}

// open checks the command line and finds out which conversation this is. Errors are in the
// CLI's words.
func (s *session) open() error {
	f := s.flags
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("Error: %w", err)
	}
	if s.cwd, err = filepath.EvalSymlinks(dir); err != nil {
		s.cwd = dir
	}
	if !s.typed && (f.get("--input-format") != "stream-json" || f.get("--output-format") != "stream-json") {
		return errors.New("Error: the stand-in needs a terminal, or --input-format and --output-format stream-json")
	}
	if raw := f.get("--json-schema"); raw != "" {
		if !json.Valid([]byte(raw)) {
			return errors.New("Error: --json-schema is not valid JSON: JSON Parse error")
		}
		if s.schema, err = newVerdictSchema(json.RawMessage(raw)); err != nil {
			return fmt.Errorf("Error: --json-schema is not a valid JSON Schema: %w", err)
		}
	}
	path, err := s.findConversation()
	if err != nil {
		return err
	}
	if f.has("--no-session-persistence") {
		path = ""
	}
	p := &past{}
	if s.past != nil {
		p = s.past
	}
	s.inbox, s.account = newInbox(p.answered), newAccount(p.cost, p.last)
	s.api = newAPIClient(s.env, s.id)
	s.main = &thread{s: s, messages: p.messages, tr: newTranscript(path, s, "")}
	s.main.tr.leaf, s.introduced = p.leaf, len(p.messages) > 0
	return nil
}

// findConversation sets the session's id and past, and returns the transcript's path.
func (s *session) findConversation() (path string, err error) {
	id := s.flags.get("--session-id")
	if s.flags.has("--resume") {
		s.id = s.flags.get("--resume")
		if path, found := findTranscript(s.env, s.id); found {
			s.past, err = readPast(path)
			if s.past != nil || err != nil {
				return path, err
			}
		}
		return "", errNoConversation
	}
	switch _, used := findTranscript(s.env, id); {
	case id == "":
		id = newUUID()
	case uuid.Validate(id) != nil:
		return "", errors.New("Error: Invalid session ID. Must be a valid UUID")
	case used:
		return "", fmt.Errorf("Error: Session ID %s is already in use", id)
	}
	s.id = id
	return filepath.Join(s.env.configDir(), "projects", munge(s.cwd), id+".jsonl"), nil
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
	for batch := s.inbox.next(s.ctx); batch != nil; batch = s.inbox.next(s.ctx) {
		s.runTurn(batch)
	}
	s.cancel(errTerminated)
	s.host.close()
	s.handshakes.Wait()
	s.background.Wait()
	s.main.tr.close()
	s.out.close(drainTime)
	return s.exitCode()
}

// watchSignals reacts to signals until stop is called. A broken pipe is caught and ignored:
// writing to a closed stdout must fail, not kill.
func (s *session) watchSignals() (stop func()) {
	ch := make(chan os.Signal, 4) // signals that come while one is handled
	signal.Notify(ch, os.Interrupt)
	for sig := range leaveSignals {
		signal.Notify(ch, sig)
	}
	if brokenPipe != nil {
		signal.Notify(ch, brokenPipe)
	}
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for sig := range ch {
			s.onSignal(sig)
		}
	})
	return func() { signal.Stop(ch); close(ch); watcher.Wait() }
}

func (s *session) onSignal(sig os.Signal) {
	t := s.currentTurn()
	switch code, leaves := leaveSignals[sig]; {
	case sig == os.Interrupt && s.typed && t != nil:
		t.cancel(errInterrupted) // Ctrl-C leaves only where nothing runs
	case sig == os.Interrupt:
		s.leave(0, errInterrupted)
	case leaves && !s.faults.ignoresTerm():
		s.leave(code, errTerminated)
	}
}

// leave ends the process with a code once the turn is over: errInterrupted lets it end with
// a result, errTerminated does not. The first call counts.
func (s *session) leave(code int, cause error) {
	s.mu.Lock()
	if s.exit == nil {
		s.exit = &code
	}
	s.mu.Unlock()
	s.cancel(cause)
	s.inbox.close()
	s.host.close()
}

// exitCode is the process's when all is done: 1 means that the last result was an error.
func (s *session) exitCode() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.exit != nil:
		return *s.exit
	case s.failed:
		return 1
	}
	return 0
}

// newSession sets up what needs no file.
func newSession(f flags, env environment, stderr io.Writer, faults *faults) *session {
	s := &session{flags: f, env: env, stderr: stderr, faults: faults, ledger: ledger{env[LedgerVariable]}, state: "idle",
		mode: f.get("--permission-mode"), model: resolveModel(f.get("--model")), effort: f.get("--effort"),
		systemText: f.get("--system-prompt"), appendText: f.get("--append-system-prompt"),
		allow: parseRules(f["--allowedTools"]), deny: parseRules(f["--disallowedTools"]), asks: askRules(f.get("--settings"))}
	if s.mode == "" || s.mode == "manual" {
		s.mode = "default"
	}
	if s.effort == "" {
		s.effort = "medium"
	}
	s.builtin = chooseBuiltins(splitRules(f["--tools"]), f.has("--tools"), s.deny)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.host = &host{emit: s.emit, pending: map[string]chan reply{}}
	s.servers = map[string]*mcpServer{}
	return s
}

// system is the system prompt of a request. The first block marks a subagent, as the CLI's
// billing header does.
func (s *session) system(sub *subagent) []json.RawMessage {
	const identity = "You are a Claude agent, built on Anthropic's Claude Agent SDK."
	header := "x-anthropic-billing-header: cc_version=" + version + ".standin;"
	if sub != nil {
		return []json.RawMessage{textBlock(header + " cc_is_subagent=true;"), textBlock(identity)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	blocks := []json.RawMessage{textBlock(header), textBlock(identity)}
	if text := strings.TrimSpace(s.systemText + "\n\n" + s.appendText); text != "" {
		blocks = append(blocks, textBlock(text))
	}
	return blocks
}
