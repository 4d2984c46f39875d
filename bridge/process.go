package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	// exitGrace is how long a bridge may take to end after the end of its stdin. Its agents have ended
	// after two seconds.
	exitGrace = 3 * time.Second
	// termGrace is the time between TERM and KILL.
	termGrace = 2 * time.Second
	// drainGrace is how long its stderr may stay open after its end, if a process that it left behind holds
	// it.
	drainGrace = 250 * time.Millisecond
	// maxStderrLine bounds a line of the bridge's stderr in the log.
	maxStderrLine = 16 << 10
)

// StartProcess starts a bridge as a child and returns a client for it. cmd is the command alone:
// StartProcess sets its pipes and puts it into a process group of its own, so that a Ctrl-C in our terminal
// does not reach it. Any command that provides a stdio pipe to a bridge will do, such as ssh.
//
// begin starts the command; if it is nil, cmd.Start does. The function that it returns is called when the
// command has been waited for.
//
// The bridge's stderr goes to log, line by line. Close, or the end of ctx, closes its stdin; the bridge
// then stops its agents and exits. If it does not, TERM and KILL follow. [Client.Err] reports how it exited
// on its own.
func StartProcess(ctx context.Context, cmd *exec.Cmd, h Handler, log *slog.Logger, begin Begin) (*Client, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if begin == nil {
		begin = func(cmd *exec.Cmd) (func(), error) { return func() {}, cmd.Start() }
	}
	p, err := startProcess(cmd, log, begin)
	if err != nil {
		return nil, fmt.Errorf("start bridge: %w", err)
	}
	c := newClient(p, h, log)
	c.release = context.AfterFunc(ctx, func() {
		c.p.s.fail(fmt.Errorf("the bridge was ended: %w", context.Cause(ctx)))
	})
	c.start()
	return c, nil
}

// Begin starts a command. ended is called once, when the command has been waited for.
type Begin func(*exec.Cmd) (ended func(), err error)

// process is the pipe to a child; closing it ends the child. One goroutine waits for the child and one
// drains its stderr; Close waits for both.
type process struct {
	cmd    *exec.Cmd
	log    *slog.Logger
	stdin  *os.File // our ends
	stdout *os.File
	stderr *os.File

	lastWords atomic.Pointer[string] // its last line on stderr; nil while there is none
	exited    chan struct{}          // closed when the child was waited for; exitErr says how it ended
	exitErr   error
	drained   chan struct{}
	closeOnce sync.Once
	ended     func() // called when the child was waited for
}

func startProcess(cmd *exec.Cmd, log *slog.Logger, begin Begin) (*process, error) {
	p := &process{cmd: cmd, log: log, exited: make(chan struct{}), drained: make(chan struct{})}
	// Pipes of our own, not cmd.StdoutPipe: Wait would close that while it still contains the child's last
	// output.
	var theirs [3]*os.File
	var err error
	defer func() {
		closeAll(theirs[:])
		if err != nil {
			closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		}
	}()
	if theirs[0], p.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stdout, theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stderr, theirs[2], err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	ownGroup(cmd)
	if p.ended, err = begin(cmd); err != nil {
		return nil, err
	}
	go p.wait()
	go p.drain()
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

func (p *process) wait() {
	defer close(p.exited)
	p.exitErr = p.cmd.Wait()
	p.ended()
}

func (p *process) drain() {
	defer close(p.drained)
	var keys jsonl.PrivateLines
	lines := jsonl.NewLineReader(p.stderr, maxStderrLine)
	for {
		line, err := lines.NextOrLast()
		if err != nil {
			return
		}
		if keys.Hides(string(line.Data)) {
			continue
		}
		words := jsonl.Cut(strings.ToValidUTF8(string(line.Data), "\uFFFD"), jsonl.ExcerptLen)
		p.lastWords.Store(&words)
		p.log.Info("bridge stderr", "line", string(line.Data), "cut", line.Oversize)
	}
}

func (p *process) Read(b []byte) (int, error)  { return p.stdout.Read(b) }
func (p *process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close ends the child: end of input, TERM, KILL to its group.
func (p *process) Close() error {
	p.closeOnce.Do(func() {
		p.stdin.Close()
		if !p.gone(exitGrace) {
			p.log.Warn("the bridge did not end with its input; sending TERM", "pid", p.cmd.Process.Pid)
			terminate(p.cmd)
			if !p.gone(termGrace) {
				p.log.Warn("the bridge ignores TERM; sending KILL", "pid", p.cmd.Process.Pid)
				// The child was not waited for yet, so its number cannot have been reused.
				_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // what is left in its group
				_ = p.cmd.Process.Kill()
				if !p.gone(termGrace) {
					p.log.Error("the bridge does not end, though it was killed", "pid", p.cmd.Process.Pid)
				}
			}
		}
		late := time.AfterFunc(drainGrace, func() { p.stderr.Close() })
		<-p.drained
		late.Stop()
		closeAll([]*os.File{p.stdout, p.stderr})
	})
	return nil
}

func (p *process) gone(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// exitError returns, for [Client.Err], how the connection ended: how the process ended, and its last line
// on stderr.
func (p *process) exitError(cause error) error {
	how := "exit status 0"
	select {
	case <-p.exited:
		if p.exitErr != nil {
			how = p.exitErr.Error()
		}
	default:
		how = "still there"
	}
	if words := p.lastWords.Load(); words != nil {
		how += ": " + *words
	}
	if cause == nil || errors.Is(cause, io.EOF) {
		return fmt.Errorf("the bridge ended: %s", how)
	}
	return fmt.Errorf("%w (the bridge: %s)", cause, how)
}

// ownGroup protects a command from the terminal's signals. If the caller has requested a session, nothing
// is changed: the kernel refuses both together (EPERM).
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}

// terminate sends TERM to the bridge only: the bridge knows in which order its agents must end.
func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) }
