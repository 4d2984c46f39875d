package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Env has the standard streams of a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Error ends the program with an exit code. With an empty text nothing is printed, because the error was reported
// already.
type Error struct {
	Code  contract.Exit
	Text  string
	Cause error // for callers that act on it; may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// Usagef returns the error for a wrong invocation: exit code 2.
func Usagef(format string, args ...any) *Error {
	return &Error{Code: contract.ExitUsage, Text: fmt.Sprintf(format, args...)}
}

// StateDirProblem returns the error for a state directory that cannot be used.
func StateDirProblem(err error) *Error {
	return Environmentf("the state directory cannot be used: %v; name another with --state-dir", err)
}

// Environmentf returns the error for a problem in the program's environment: exit code 5.
func Environmentf(format string, args ...any) *Error {
	return &Error{Code: contract.ExitEnvironment, Text: fmt.Sprintf(format, args...)}
}

// Failedf returns the error for a command that did not do what it was to do: exit code 1.
func Failedf(format string, args ...any) *Error {
	return &Error{Code: contract.ExitFailed, Text: fmt.Sprintf(format, args...)}
}

// Pattern returns a regular expression that is compiled when it is first used, because that takes time.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// LikeCommand reports whether the first of several arguments looks like a misspelled command rather than like a
// file.
func LikeCommand(c *cli.Context) bool {
	word := c.Args().First()
	_, err := os.Stat(word)
	return err != nil && !strings.ContainsAny(word, "./") && !strings.HasPrefix(word, "-")
}

// NoSuchWord returns an error for a first argument that is not a file: it was probably meant as a command, a flag, or
// a task.
func NoSuchWord(c *cli.Context, word string) error {
	hint := Meant(word, names(c.App.Commands))
	if slices.ContainsFunc(c.App.Flags, func(f cli.Flag) bool { return f.Names()[0] == word }) {
		hint = "did you mean --" + word + "?"
	}
	if hint != "" {
		return Usagef("%q is neither a command nor a requirements file; %s", word, hint)
	}
	return Usagef("%q is neither a command nor a requirements file: give a task with --task", word)
}

// NoSuchCommand returns an error for an unknown subcommand.
func NoSuchCommand(c *cli.Command, word string) error {
	known := names(c.Subcommands)
	mark, hint := ":", "use one of "+strings.Join(known, ", ")
	if c.HelpName == c.Name { // the program itself has too many to list
		mark, hint = ";", c.Name+" --help lists the commands"
	}
	return Usagef("%s has no command %q%s %s", c.Name, word, mark, cmp.Or(Meant(word, known), hint))
}

// CheckArguments is the Before of every command: it refuses arguments of a command that takes none, a second one
// of a command that takes one, and subcommands that do not exist.
func CheckArguments(c *cli.Context) error {
	first := c.Args().First()
	name := strings.TrimPrefix(c.Command.HelpName, "arbiter ")
	single := regexp.MustCompile(`^\[([A-Z]+)(\|-)?\]$`).FindStringSubmatch(c.Command.ArgsUsage)
	switch cmd := c.Command; {
	case c.NArg() > 1 && single != nil:
		return Usagef("%s: give at most one %s", name, single[1])
	case c.NArg() == 0 || cmd.ArgsUsage != "" || cmd.Command(first) != nil:
		return nil
	case len(cmd.Subcommands) > 0:
		return NoSuchCommand(cmd, first)
	default:
		hint := ""
		if slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return f.Names()[0] == "cwd" }) {
			hint = " (name a workspace with --cwd)"
		}
		return Usagef("%s takes no argument: leave out %s%s", name, first, hint)
	}
}

func names(commands []*cli.Command) (list []string) {
	for _, c := range commands {
		list = append(list, c.Name)
	}
	return list
}

// Program is how a shell finds this program: by its name, or else by its path, as in a clone that was only built.
func Program() string {
	const name = "arbiter"
	self, err := os.Executable()
	if err != nil || filepath.Base(self) != name {
		return name
	}
	if found, err := exec.LookPath(name); err == nil && SameDir(found, self) {
		return name
	}
	return words.Quote(self)
}

// Stderr writes to stderr. It escapes control sequences and masks secrets, because messages quote paths, arguments
// and output of Claude. Each write must have whole lines.
type Stderr struct{ W io.Writer }

func (p Stderr) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.W, sanitize.Text(sanitize.Redact(string(text)))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Raw returns stdout without its wrapper, for programs that write to it.
func Raw(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		w = o.W
	}
	return w
}

// Output is the stdout of the program. It keeps the error of the first write that failed, because most commands print
// without looking at errors. A reader that goes away ends the command by a signal; if not ([OutliveReaders]), the
// command itself knows what that means.
type Output struct {
	W      io.Writer
	failed atomic.Pointer[error]
}

func (o *Output) Write(text []byte) (int, error) {
	n, err := o.W.Write(text)
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		o.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Problem returns the error for output that was not written, or nil.
func (o *Output) Problem() error {
	if err := o.failed.Load(); err != nil {
		return Environmentf("%v", *err)
	}
	return nil
}

// OnTerminal reports whether a stream is a terminal.
func OnTerminal(stream any) bool {
	if o, ok := stream.(*Output); ok {
		stream = o.W
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// SpeaksUTF8 reports whether the locale uses UTF-8.
func SpeaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Asks reports whether a person can be asked: stdin is a terminal.
func (e Env) Asks() bool { return OnTerminal(e.Stdin) }

// Confirm asks a question on the terminal, to be answered with y or n. If stdin is no terminal, asked is false.
func (e Env) Confirm(question string) (yes, asked bool) {
	if !e.Asks() {
		return false, false
	}
	fmt.Fprint(e.Stderr, question+" [y/N] ")
	answer, err := bufio.NewReader(e.Stdin).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(e.Stderr)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", true
}

// PrintJSON prints v on one line, safe to print on a terminal. Commands in it can be typed as they are.
func (e Env) PrintJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = e.Stdout.Write(contract.AppendSafe(nil, b.Bytes()))
	}
	return err
}

// PrintList prints a list as JSON, or for a person: as a table with a heading, whose cells are separated by tabs, or
// as the text that there is none.
func PrintList[T any](e Env, asJSON bool, list []T, none, heading string, row func(T) string) error {
	switch {
	case asJSON:
		return e.PrintJSON(list)
	case len(list) == 0:
		fmt.Fprintln(e.Stderr, none)
		return nil
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, heading)
	for _, x := range list {
		fmt.Fprintln(w, row(x))
	}
	return w.Flush()
}

// ShortID returns the first characters of a run's id, which are enough to name the run.
func ShortID(run string) string {
	if len(run) > 8 {
		return run[:8]
	}
	return run
}

// Title returns the title of a task in lists.
func Title(task string) string {
	return sanitize.Line(sanitize.Redact(words.Title(task)), 100)
}

// stamp is set by the linker (-X …/internal/command.stamp=…) in builds of scripts/setup.
var stamp string

// Version returns the stamp, or else the module version that `go install …@vX` records, or else the commit that `go
// build` records.
func Version() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// signalNames has the names of the signals that end a run.
var signalNames = map[os.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}

// fatal are signals that end a program at once.
var fatal = []os.Signal{syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV,
	syscall.SIGSYS, syscall.SIGTRAP, syscall.SIGXCPU, syscall.SIGXFSZ}

// HandleSignals passes INT, TERM and HUP to heed, by name and count. The first asks for an orderly end, the second
// for a fast one; the third exits the process at once, after calling last if that is not nil. A signal for which
// heed returns false does not count. QUIT (Ctrl+\ in a terminal that is currently not ours) calls halt, which must
// not block; if halt is nil, QUIT keeps its default action. Signals that the parent made us ignore (nohup, a
// background job of a script) stay ignored.
func HandleSignals(heed func(name string, n int) bool, halt, last func()) (stop func()) {
	ch := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	if halt != nil {
		signal.Notify(ch, syscall.SIGQUIT)
	}
	if last != nil {
		signal.Notify(ch, fatal...)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; {
			select {
			case <-quit:
				return
			case sig := <-ch:
				if sig == syscall.SIGQUIT {
					halt()
					continue
				}
				if slices.Contains(fatal, sig) {
					last()
					os.Exit(128 + int(sig.(syscall.Signal)))
				}
				name := signalNames[sig]
				if n > 2 {
					// The bridge lives two seconds longer than this process: it needs them to stop and sweep
					// everything it started.
					if last != nil {
						last()
					}
					os.Exit(int(CodeOf(name)))
				}
				if heed(name, n) {
					n++
				}
			}
		}
	})
	return func() {
		signal.Stop(ch)
		close(quit)
		wg.Wait()
	}
}

// OutliveReaders turns a closed pipe into a write error instead of the end of the process. The signal is caught,
// not ignored, because children would inherit an ignored signal.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// CodeOf returns the exit code of a program that a signal of that name ended.
func CodeOf(name string) contract.Exit {
	if name == "INT" {
		return contract.ExitInterrupted
	}
	return contract.ExitTerminated
}

// Interruptible ends ctx at the first signal, and with quit also at QUIT (Ctrl+\ is next to Ctrl+]). The cause of
// ctx is the exit error. A third signal exits at once.
func Interruptible(ctx context.Context, quit bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := func(name string, _ int) bool {
		cancel(&Error{Code: CodeOf(name), Text: "stopped"})
		return true
	}
	var halt func()
	if quit {
		halt = func() { end("INT", 0) }
	}
	stop := HandleSignals(end, halt, nil)
	return ctx, func() { stop(); cancel(nil) }
}

// BySignal returns an error with the exit code of the signal that ended ctx.
func BySignal(ctx context.Context, text string) error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return &Error{Code: e.Code, Text: text}
	}
	return &Error{Code: contract.ExitFailed, Text: text}
}
