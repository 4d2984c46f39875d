package fakecli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/transcript"
)

// Main behaves like `claude args…` and returns the exit code. It catches signals while it
// runs, and works in the process's working directory and environment.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	faults, err := parseFaults(os.Getenv(FaultVariable), os.Getenv(OnceVariable))
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	if code, ok := faults.atStart(); ok {
		fmt.Fprintln(stderr, "stand-in fault: exit-at-start")
		return code
	}
	f := parseFlags(args)
	if f.has("--version") {
		fmt.Fprintln(stdout, version+" (Claude Code stand-in)")
		return 0
	}
	s := newSession(f, stderr, faults)
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
	code := s.serve(stdin)
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
			"errors": []string{text}, "usage": usage{}})
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
	s.inbox, s.account = newInbox(p.answered), newAccount(p)
	s.api = newAPIClient(s.id)
	s.main = &thread{s: s, messages: p.messages, tr: newTranscript(path, s)}
	s.main.tr.leaf = p.leaf
	return nil
}

// findConversation sets the session's id and past, and returns the transcript's path.
func (s *session) findConversation() (path string, err error) {
	if s.flags.has("--resume") {
		s.id = s.flags.get("--resume")
		if path, found := transcript.Locate(configDir(), s.id); found {
			s.past, err = readPast(path)
			if s.past != nil || err != nil {
				return path, err
			}
		}
		return "", errNoConversation
	}
	s.id = cmp.Or(s.flags.get("--session-id"), newUUID())
	return filepath.Join(configDir(), "projects", munge(s.cwd), s.id+".jsonl"), nil
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
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for sig := range ch {
			s.onSignal(sig)
		}
	})
	return func() { signal.Stop(ch); close(ch); watcher.Wait() }
}

func (s *session) onSignal(sig os.Signal) {
	switch code, leaves := leaveSignals[sig]; {
	case sig == os.Interrupt:
		s.leave(0, errInterrupted)
	case leaves && !s.faults.lasting("ignore-term"):
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
func newSession(f flags, stderr io.Writer, faults *faults) *session {
	s := &session{flags: f, stderr: stderr, faults: faults, ledger: ledger{os.Getenv(LedgerVariable)},
		mode: resolveMode(f.get("--permission-mode")), model: resolveModel(f.get("--model")),
		systemText: strings.TrimSpace(f.get("--system-prompt") + "\n\n" + f.get("--append-system-prompt")),
		allow:      parseRules(f["--allowedTools"]), deny: parseRules(f["--disallowedTools"])}
	s.builtin = chooseBuiltins(f, s.deny)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.host = &host{emit: s.emit, pending: map[string]chan reply{}}
	return s
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

// parseFlags reads a command line: what follows an option, up to the next one, are its values.
// It takes any option; what the CLI takes is tested with the CLI.
func parseFlags(args []string) flags {
	f, name := flags{}, ""
	for _, arg := range args {
		if arg != "-p" && !strings.HasPrefix(arg, "--") {
			f[name] = append(f[name], arg)
			continue
		}
		option, value, inline := strings.Cut(arg, "=")
		values := f[option]
		if inline {
			values = append(values, value)
		}
		name, f[option] = option, values
	}
	return f
}

// configDir returns the directory that holds projects/.
func configDir() string {
	return cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(os.Getenv("HOME"), ".claude"))
}
