package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Main behaves like `claude args…` and returns the exit code. It catches signals
// for the time it runs, and works in the process's working directory.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	env := readEnviron(environ)
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
	switch {
	case f.has("--version"):
		fmt.Fprintln(stdout, version+" (Claude Code stand-in)")
		return 0
	case f.has("--help"):
		fmt.Fprintln(stdout, "Usage: claude [options] [prompt]\n\nA stand-in for Claude Code; see `arbiter help`.")
		return 0
	}
	s := &session{flags: f, env: env, stderr: stderr, faults: faults, diary: newDiary(env), pid: os.Getpid(), state: "idle", typed: inTerminal(f, stdin)}
	s.out = newLineWriter(faults.output(stdout))
	if err := s.prepare(); err != nil {
		s.refuseStart(err)
		s.out.close(drainTime)
		return 1
	}
	event := "start"
	if f.has("--resume") {
		event = "resume"
	}
	cwd, _ := os.Getwd()
	s.diary.note(event, s.id, obj{"argv": args, "cwd": cwd})
	code := s.serve(faults.input(stdin))
	s.diary.note("exit", s.id, nil)
	return code
}

// drainTime is how long a host that does not read is waited for at the end.
const drainTime = 5 * time.Second

// startError is why a session cannot be had; some are also said on stdout.
type startError struct {
	text  string
	shown bool
}

func (e *startError) Error() string { return e.text }

func (s *session) refuseStart(err error) {
	fmt.Fprintln(s.stderr, err)
	var e *startError
	if errors.As(err, &e) && (e.shown || s.env.on("CLAUDE_CODE_STARTUP_FAILURE_RESULTS")) {
		s.emit(obj{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "stop_reason": nil,
			"duration_ms": 0, "duration_api_ms": 0, "total_cost_usd": 0, "usage": usage{}.full(), "modelUsage": obj{},
			"permission_denials": []obj{}, "errors": []string{e.text}, "result_index": 0})
	}
}

// prepare checks the command line against the world and sets the session up.
func (s *session) prepare() error {
	f := s.flags
	dir, err := os.Getwd()
	if err != nil {
		return &startError{text: "Error: " + err.Error()}
	}
	if s.cwd, err = filepath.EvalSymlinks(dir); err != nil {
		s.cwd = dir
	}
	bypass := f.has("--dangerously-skip-permissions") || f.has("--allow-dangerously-skip-permissions") || f.get("--permission-mode") == "bypassPermissions"
	if bypass && isRoot() && !s.env.on("IS_SANDBOX") && !s.env.on("CLAUDE_CODE_BUBBLEWRAP") {
		return &startError{text: "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"}
	}
	if !s.typed && (f.get("--input-format") != "stream-json" || f.get("--output-format") != "stream-json" || !f.has("--verbose")) {
		return &startError{text: "Error: the stand-in has a terminal, or --input-format stream-json --output-format stream-json --verbose"}
	}
	if raw := f.get("--json-schema"); raw != "" {
		if !json.Valid([]byte(raw)) {
			return &startError{text: "Error: --json-schema is not valid JSON: JSON Parse error"}
		}
		check, err := parseSchema(json.RawMessage(raw))
		if err != nil {
			return &startError{text: "Error: --json-schema is not a valid JSON Schema: " + err.Error()}
		}
		s.schema = &verdictSchema{json.RawMessage(raw), check}
	}
	s.configure(bypass)
	return s.openSession()
}

// configure fills in all that needs no file.
func (s *session) configure(bypass bool) {
	f := s.flags
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.host = newHost(s.emit)
	s.ledger = newLedger(s.env)
	s.api = newAPIClient(s.env)
	s.mcp = &mcpServers{host: s.host}
	mode := f.get("--permission-mode")
	switch {
	case f.has("--dangerously-skip-permissions"):
		mode = "bypassPermissions"
	case mode == "" || mode == "manual":
		mode = "default"
	}
	s.perms = &permissions{mode: mode, bypassOK: bypass, allow: parseRules(f.all("--allowedTools")), deny: parseRules(f.all("--disallowedTools"))}
	s.perms.ask = askRules(f.get("--settings"))
	s.perms.dirs = append([]string{s.cwd}, f.all("--add-dir")...)
	s.builtin = chooseBuiltins(f, s.perms, s.env)
	s.promptsOnStdio = f.get("--permission-prompt-tool") == "stdio"
	s.partialMessages, s.replays = f.has("--include-partial-messages"), f.has("--replay-user-messages")
	s.stateEvents = s.env.on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")
	s.modelName = resolveModel(f.get("--model"))
	s.firstModel = s.modelName
	if s.effortLevel = f.get("--effort"); s.effortLevel == "" {
		s.effortLevel = "medium"
	}
	s.systemText, s.appendText = f.get("--system-prompt"), f.get("--append-system-prompt")
	// A value that is no number sets no limit.
	s.maxBudget, _ = strconv.ParseFloat(f.get("--max-budget-usd"), 64)
}

// openSession finds out which conversation this is and where its transcript lies.
func (s *session) openSession() error {
	f := s.flags
	s.id = f.get("--session-id")
	if s.id != "" && uuid.Validate(s.id) != nil {
		return &startError{text: "Error: Invalid session ID. Must be a valid UUID."}
	}
	path := filepath.Join(s.env.configDir(), "projects", munge(s.cwd))
	var seen map[string]bool
	if f.has("--resume") {
		s.id = f.get("--resume")
		from, ok := findTranscript(s.env, s.id)
		if !ok {
			return &startError{text: "No conversation found with session ID: " + s.id, shown: true}
		}
		path = from
		var err error
		if s.past, err = readPast(path); errors.Is(err, errNoConversation) {
			return &startError{text: "No conversation found with session ID: " + s.id, shown: true}
		} else if err != nil {
			return &startError{text: "Error: " + err.Error()}
		}
		seen = s.past.seen
	} else {
		if s.id == "" {
			s.id = newUUID()
		} else if _, used := findTranscript(s.env, s.id); used {
			return &startError{text: "Error: Session ID " + s.id + " is already in use."}
		}
		path = filepath.Join(path, s.id+".jsonl")
	}
	if f.has("--no-session-persistence") {
		path = ""
	}
	s.inbox = newInbox(seen)
	s.main = &thread{s: s, hist: &history{}, tr: newTranscript(path, s.cwd, s.id, "")}
	if s.typed {
		s.main.tr.base["entrypoint"] = "cli"
	}
	if p := s.past; p != nil {
		s.main.hist.replace(p.entries)
		s.main.hist.base, s.main.tr.kept = p.base, p.lines
		s.main.tr.leaf = p.leaf
		s.introduced = len(p.entries) > 0
		s.ledger.restore(p.spent, p.cost, p.last)
		if f.get("--system-prompt-snapshot") != "off" {
			s.snapshot = p.system
		}
	}
	return nil
}

// serve runs the session with its reader and its signal watcher.
func (s *session) serve(stdin io.Reader) int {
	stopWatching := s.watchSignals()
	defer stopWatching()
	if s.typed {
		s.welcome()
		go s.readTyped(stdin) // ends with the terminal
	} else {
		go s.read(stdin) // ends with stdin, see the package comment
	}
	code := s.run()
	s.out.close(drainTime)
	return code
}

// watchSignals reacts to signals until the function it returns is called. A
// broken pipe is caught and forgotten: writing to a closed stdout must fail, not kill.
func (s *session) watchSignals() (stop func()) {
	ch := make(chan os.Signal, 4) // signals that come while one is handled
	signal.Notify(ch, os.Interrupt)
	for sig := range leaveSignals {
		signal.Notify(ch, sig)
	}
	if brokenPipe != nil {
		signal.Notify(ch, brokenPipe)
	}
	done := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case sig := <-ch:
				s.onSignal(sig)
			case <-done:
				return
			}
		}
	})
	return func() { signal.Stop(ch); close(done); watcher.Wait() }
}

func (s *session) onSignal(sig os.Signal) {
	if sig == os.Interrupt {
		if !s.broke() {
			return
		}
		zero := 0
		s.leave(&zero, errInterrupted)
		return
	}
	if code, ok := leaveSignals[sig]; ok && !s.faults.ignoresTerm() {
		s.leave(&code, errTerminated)
	}
}
