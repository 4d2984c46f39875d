package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

const (
	// killDelay is how long git has to end after TERM.
	killDelay = 2 * time.Second
	// reapEvery is the interval at which a process that git has left, and that was killed, is waited for.
	reapEvery = 200 * time.Microsecond
	// DefaultMax bounds the output of a call that names no bound.
	DefaultMax = 256 << 20
	maxStderr  = 8 << 10 // bytes of stderr that are kept
)

// ErrTooMuch reports that a call wrote more than its bound. What fits is returned with it.
var ErrTooMuch = errors.New("more output than is kept")

// Error reports a git that ended with an exit code other than 0.
type Error struct {
	Args   []string // the command and its arguments, without the options of every call
	Exit   int      // -1 if a signal ended it
	Stderr string
}

func (e *Error) Error() string { return fmt.Sprintf("git %s: %s", e.Args[0], e.Reason()) }

// Reason says why git failed, without naming the call.
func (e *Error) Reason() string {
	switch {
	case e.Stderr != "":
		return e.Stderr
	case e.Exit < 0:
		return "a signal ended it"
	}
	return fmt.Sprintf("exit code %d", e.Exit)
}

// Exit returns the exit code of git; -1 if err is not an [Error].
func Exit(err error) int {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Exit
	}
	return -1
}

// Runner runs git in one directory.
type Runner struct {
	Dir string
	// At is the work tree whose repository git uses, through a [View]; each call checks that it still leads there. Nil:
	// there is none yet, or the environment names one that only this program writes.
	At      *Place
	Views   string   // parent of views; os.TempDir() if empty
	Env     []string // the whole environment, made by [Environ]
	Program string   // "git" if empty
	// Confine may be nil. It puts a command into a sandbox before it starts; files that it adds are closed afterwards.
	Confine func(*exec.Cmd) error
	Step    func(name string) // may be nil; called after each call that changes something
	Hold    *os.File          // may be nil; git inherits it, so that its lock lasts until git has ended
}

// Call is one call of git. Args may begin with options of git itself ("-c", "name=value").
type Call struct {
	Args   []string
	Env    []string // added to the runner's
	Stdin  []byte
	Max    int  // bytes of output; DefaultMax if 0
	Writes bool // changes a repository or a work tree
}

// words returns the command and its arguments, without options of git itself.
func (c Call) words() []string {
	words := c.Args
	for len(words) > 2 && words[0] == "-c" {
		words = words[2:]
	}
	for len(words) > 1 && strings.HasPrefix(words[0], "--") {
		words = words[1:]
	}
	return words
}

func (c Call) name() string { return c.words()[0] }

// logging and indexing are the commands that write logs of references, and the index.
var (
	logging  = []string{"update-ref", "notes", "fetch", "reset", "checkout"}
	indexing = []string{"read-tree", "update-index", "reset", "checkout"}
)

// ownIndex reports whether the call uses an index of its own.
func (c Call) ownIndex() bool {
	return slices.ContainsFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "GIT_INDEX_FILE=") })
}

// Text runs a call that only reads, and returns its output without the last line end.
func (r Runner) Text(ctx context.Context, args ...string) (string, error) {
	out, err := r.Do(ctx, Call{Args: args})
	return strings.TrimSuffix(string(out), "\n"), err
}

// Write runs a call that changes something, and returns its output without the last line end.
func (r Runner) Write(ctx context.Context, args ...string) (string, error) {
	out, err := r.Do(ctx, Call{Args: args, Writes: true})
	return strings.TrimSuffix(string(out), "\n"), err
}

// Do runs a call and returns its output. Errors: those of ctx, [ErrTooMuch], [Error], [*ChangedError], and those of
// starting it.
func (r Runner) Do(ctx context.Context, c Call) (text []byte, err error) {
	if r.At != nil {
		err := r.At.Check()
		if err == nil && slices.Contains(logging, c.name()) {
			err = r.At.CheckLogs()
		}
		if err == nil && slices.Contains(indexing, c.name()) && !c.ownIndex() {
			err = r.At.CheckIndex()
		}
		if err != nil {
			return nil, fmt.Errorf("git %s: %w", c.name(), err)
		}
		view, err := r.At.View(r.Views)
		if err != nil {
			return nil, fmt.Errorf("git %s: %w", c.name(), err)
		}
		defer view.Close() // it is empty but for a file and links
		own := c.Env
		for _, entry := range view.Env() { // a variable is there once: a sandbox reads them, too
			name, _, _ := strings.Cut(entry, "=")
			if !slices.ContainsFunc(own, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
				c.Env = append(slices.Clone(c.Env), entry)
			}
		}
	}
	cmd := r.Command(ctx, c)
	if err := proctree.CheckDir(cmd); err != nil {
		return nil, fmt.Errorf("git %s: %w", c.name(), err)
	}
	out := &Head{Max: cmp.Or(c.Max, DefaultMax), Full: func() error { return ErrTooMuch }} // which ends git
	stderr := &Head{Max: maxStderr}
	cmd.Stdout, cmd.Stderr = out, stderr
	held := len(cmd.ExtraFiles)
	if r.Confine != nil {
		if err := r.Confine(cmd); err != nil {
			return nil, fmt.Errorf("git %s: %w", c.name(), err)
		}
		for _, f := range cmd.ExtraFiles[held:] {
			defer f.Close()
		}
	}
	err = run(cmd)
	switch exit, ok := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", c.name(), ctx.Err())
	case out.More:
		return out.Data, fmt.Errorf("git %s: %w", c.name(), ErrTooMuch)
	case ok:
		text := strings.TrimSpace(strings.ToValidUTF8(string(stderr.Data), "\uFFFD"))
		err = &Error{Args: c.words(), Exit: exit.ExitCode(), Stderr: text}
	case err != nil:
		return nil, fmt.Errorf("git %s: %w", c.name(), err)
	}
	if c.Writes && r.Step != nil {
		r.Step("git " + c.name())
	}
	return out.Data, err
}

// run starts a command, which [proctree.Sweep] takes for no orphan, and waits for it. What it has left ends with it:
// filters, if it fails or is ended, and the first process of a sandbox's namespace, which outlives bubblewrap for a
// moment.
func run(cmd *exec.Cmd) error {
	ended, err := proctree.Keep(cmd)
	if err != nil {
		return err
	}
	defer ended()
	group := -cmd.Process.Pid
	if err = cmd.Wait(); err != nil {
		_ = syscall.Kill(group, syscall.SIGKILL) // mostly, none is left
	}
	// A process that adopts orphans has to wait for them, too: each sandboxed git would leave it a zombie. One that hangs
	// in the kernel is left to it.
	for late := time.Now().Add(killDelay); time.Now().Before(late); {
		switch pid, none := syscall.Wait4(group, nil, syscall.WNOHANG, nil); {
		case none != nil && none != syscall.EINTR:
			return err
		case pid == 0:
			_ = syscall.Kill(group, syscall.SIGKILL)
			time.Sleep(reapEvery)
		}
	}
	return err
}

// Command returns a call that is not started yet. It does not use At: the caller adds the variables of a [View].
func (r Runner) Command(ctx context.Context, c Call) *exec.Cmd {
	program := r.Program
	if program == "" {
		program = "git"
	}
	args := flags()
	for _, option := range writing {
		if c.Writes {
			args = append(args, "-c", option)
		}
	}
	cmd := exec.CommandContext(ctx, program, append(args, c.Args...)...)
	cmd.Dir = r.Dir
	cmd.Env = append(append([]string{}, r.Env...), c.Env...)
	cmd.WaitDelay = killDelay
	if c.Stdin != nil {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	if r.Hold != nil {
		cmd.ExtraFiles = []*os.File{r.Hold}
	}
	// A session of its own: keys of the terminal do not reach git, and it cannot ask there.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // its filters, too
	return cmd
}

// Head keeps the beginning of what a program writes, and drops the rest.
type Head struct {
	Max  int          // bytes that are kept
	Full func() error // may be nil; called when there is more: its error is that of the write
	Data []byte
	More bool // there was more
}

func (h *Head) Write(p []byte) (n int, err error) {
	space := min(len(p), h.Max-len(h.Data))
	h.Data = append(h.Data, p[:space]...)
	if space < len(p) {
		if h.More = true; h.Full != nil {
			err = h.Full()
		}
	}
	return len(p), err
}

// Version is a version of git.
type Version struct{ Major, Minor int }

// Needed is the oldest git that this program works with: it has merge-tree --write-tree.
var Needed = Version{2, 38}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// Check fails if git is older than [Needed].
func (r Runner) Check(ctx context.Context) error {
	text, err := r.Text(ctx, "version")
	if err != nil {
		return err
	}
	have, err := parseVersion(text)
	if err == nil && have.Before(Needed) {
		err = fmt.Errorf("git %v is too old: install git %v or newer", have, Needed)
	}
	return err
}

// parseVersion reads "git version 2.39.5 (Apple Git-154)".
func parseVersion(text string) (Version, error) {
	var v Version
	if _, err := fmt.Sscanf(text, "git version %d.%d", &v.Major, &v.Minor); err == nil {
		return v, nil
	}
	return Version{}, fmt.Errorf("git reports its version as %q, which cannot be read", text)
}
