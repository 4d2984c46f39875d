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

	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/transcript"
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
	if x, ok := faults.on("exit-at-start"); ok {
		fmt.Fprintln(stderr, "stand-in fault: exit-at-start")
		return x.number(1)
	}
	f := parseFlags(args)
	if f.has("--dangerously-skip-permissions") {
		f["--permission-mode"] = []string{"bypassPermissions"}
	}
	if f.has("--version") {
		fmt.Fprintln(stdout, version+" (Claude Code stand-in)")
		return 0
	}
	if f.bypasses() && os.Getuid() == 0 && os.Getenv("IS_SANDBOX") != "1" {
		fmt.Fprintln(stderr, "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")
		return 1
	}
	s := newSession(f, stderr, faults)
	s.out = newLineWriter(&disturbed{w: stdout, f: faults})
	s.typed = isTerminal(f, stdin)
	event := "start"
	if f.has("--resume") {
		event = "resume"
	}
	if err := s.open(); err != nil {
		s.emit(obj{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
			"errors": []string{err.Error()}, "usage": usage{}})
		fmt.Fprintln(stderr, err)
		s.out.close(drainTime)
		return 1
	}
	s.ledger.note(event, s.id, obj{"argv": args, "cwd": s.cwd})
	code := s.serve(stdin)
	s.ledger.note("exit", s.id, nil)
	return code
}

// newSession sets up the parts that need no file.
func newSession(f flags, stderr io.Writer, faults *faults) *session {
	s := &session{flags: f, stderr: stderr, faults: faults,
		inbox: backlog.New[message](), pending: map[string]chan reply{}, known: map[string]bool{},
		ledger: ledger{os.Getenv(LedgerVariable)},
		mode:   f.get("--permission-mode"), model: resolveModel(f.get("--model")),
		systemText: strings.TrimSpace(f.get("--system-prompt") + "\n\n" + f.get("--append-system-prompt"))}
	_ = json.Unmarshal([]byte(f.get("--settings")), &s.settings) // other settings have no rules
	s.mode = cmp.Or(s.mode, s.settings.Permissions.DefaultMode, "default")
	s.fixed = slices.Concat(s.settings.rules(), parseRules("allow", "cliArg", splitRules(f["--allowedTools"])),
		parseRules("deny", "cliArg", splitRules(f["--disallowedTools"])))
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
	p := &resumedState{}
	if s.flags.has("--resume") {
		path, _ = transcript.Locate(config, s.id)
		if p = readTranscript(path); p == nil {
			return errors.New("No conversation found with session ID: " + s.id)
		}
	}
	if s.flags.has("--no-session-persistence") {
		path = ""
	}
	s.resumed, s.account = p, newAccount(p)
	s.markAnswered(p.answered)
	s.main = &thread{s: s, messages: p.messages, tr: newTranscript(path, s)}
	s.main.tr.leaf = p.leaf
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

// bypasses reports whether the mode bypassPermissions may be used.
func (f flags) bypasses() bool {
	return f.get("--permission-mode") == "bypassPermissions" || f.has("--allow-dangerously-skip-permissions")
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
