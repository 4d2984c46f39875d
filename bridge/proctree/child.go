package proctree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// waitDelay bounds cmd.Wait when a grandchild holds a pipe that os/exec copies.
const waitDelay = 2 * time.Second

// Child is a process started by [Start]. Its methods are safe for concurrent use.
type Child struct {
	cmd  *exec.Cmd
	mark Mark
	done chan struct{} // closed when the process was waited for
	// monitored reports that the process only waits for the one that it confines.
	monitored bool

	mu     sync.Mutex
	waited bool // the pid may be reused from now on

	err error // of cmd.Wait; set before done is closed

	// killing is held while the tree is killed, for as long as that takes. It serializes killers, and
	// guards known; Signal does not wait for it.
	killing sync.Mutex
	known   map[procKey]bool // descendants seen so far
}

// Start starts cmd in a process group of its own (unless it asks for a session),
// with the mark added to its environment. The caller sets cmd.Env: nil would
// inherit everything, so it is refused.
func Start(cmd *exec.Cmd, mark Mark) (*Child, error) { return start(cmd, mark, false) }

func start(cmd *exec.Cmd, mark Mark, monitored bool) (*Child, error) {
	if cmd.Env == nil {
		return nil, errors.New("start child: no environment given")
	}
	if mark.Run != "" {
		cmd.Env = append(cmd.Env, mark.Env()...)
	}
	if err := CheckDir(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	ownGroup(cmd)
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = waitDelay
	}
	// A monitor gets no TERM: it must not end before the process that it confines.
	if err := children.start(cmd, !monitored); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	c := &Child{cmd: cmd, mark: mark, done: make(chan struct{}), monitored: monitored}
	go c.wait()
	return c, nil
}

// wait is the only caller of cmd.Wait. If possible, the child is marked as waited for while it is still a
// zombie, so that no signal goes to a reused pid.
func (c *Child) wait() {
	var err error
	zombie := awaitExit(c.cmd.Process.Pid)
	if !zombie {
		err = c.cmd.Wait()
	}
	c.mu.Lock()
	c.waited = true
	c.mu.Unlock()
	if zombie {
		err = c.cmd.Wait()
	}
	c.err = err
	children.forget(c.cmd.Process.Pid)
	close(c.done)
}

// over reports whether the process has ended.
func (c *Child) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// PID returns the id of the process; its group has the same number.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended and was waited for.
func (c *Child) Done() <-chan struct{} { return c.done }

// Wait blocks until Done and returns what cmd.Wait returned.
func (c *Child) Wait() error {
	<-c.done
	return c.err
}

// State returns the exit status; nil before Done.
func (c *Child) State() *os.ProcessState {
	select {
	case <-c.done:
		return c.cmd.ProcessState
	default:
		return nil
	}
}

// Confines reports whether [StartMonitored] started the child: its exit code is then that of the confined
// process, or 128 plus the signal's number if a signal ended that process.
func (c *Child) Confines() bool { return c.monitored }

// Signal sends sig to the child's process group. For a monitored child it goes to the processes for which
// the monitor waits, unless it is KILL. It is not an error if the child has ended.
func (c *Child) Signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited {
		return nil
	}
	if c.monitored && sig != syscall.SIGKILL && c.signalConfined(sig) {
		return nil
	}
	err := syscall.Kill(-c.cmd.Process.Pid, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return fmt.Errorf("signal group %d: %w", c.cmd.Process.Pid, err)
}

// Kill ends the child and all processes that descend from it or bear its mark, and returns how many of
// them, without the child, had to be killed. It returns when no process is left, or with an error when ctx
// ends first.
func (c *Child) Kill(ctx context.Context) (others int, err error) {
	c.killing.Lock()
	killed, err := killAll(ctx, c.family)
	c.killing.Unlock()
	for key := range killed {
		if key.pid != c.PID() {
			others++
		}
	}
	if err == nil {
		select {
		case <-c.done:
			return others, nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return others, fmt.Errorf("kill process %d: %w", c.PID(), err)
}

// KillNow is Kill for five seconds, which only a process that hangs in the kernel exceeds.
func (c *Child) KillNow() (others int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	return c.Kill(ctx)
}

// procKey identifies one process permanently: a pid alone may be reused.
type procKey struct {
	pid   int
	start uint64 // clock ticks since boot
}

// registry holds the direct children for which their own goroutine waits. A start holds the lock, so that
// the reaper never sees a child which is not registered yet.
type registry struct {
	mu    sync.Mutex
	pids  map[int]bool
	forks *forkThread // nil while there are no children
}

var children = registry{pids: map[int]bool{}}

// start starts cmd on the fork thread; see [forkThread.start].
func (r *registry) start(cmd *exec.Cmd, tied bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.stopIdle()
	if r.forks == nil {
		r.forks = newForkThread()
	}
	if err := r.forks.start(cmd, tied); err != nil {
		return err
	}
	r.pids[cmd.Process.Pid] = true
	return nil
}

// Keep starts a command that its caller waits for and ends, and prevents [Sweep] from treating it as an
// orphan meanwhile. The caller calls ended when the command has been waited for: that also reaps dead orphans, such as
// what the command has left to a process that called [AdoptOrphans].
func Keep(cmd *exec.Cmd) (ended func(), err error) { return keep(cmd, false) }

// Tie does what [Keep] does, for a command that must not outlive this process: when this process is killed, the kernel
// sends the command a TERM (Linux).
func Tie(cmd *exec.Cmd) (ended func(), err error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	return keep(cmd, true)
}

func keep(cmd *exec.Cmd, tied bool) (ended func(), err error) {
	if err := CheckDir(cmd); err != nil {
		return nil, err
	}
	if err := children.start(cmd, tied); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	return func() {
		children.forget(pid)
		reap()
	}, nil
}

func (r *registry) forget(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pids, pid)
	r.stopIdle()
}

// stopIdle ends the fork thread when no child is left.
func (r *registry) stopIdle() {
	if len(r.pids) == 0 && r.forks != nil {
		r.forks.end()
		r.forks = nil
	}
}

// CheckDir fails if the directory that a command is to run in is gone: the error of a start would name the
// program as missing. Errors wrap fs.ErrNotExist.
func CheckDir(cmd *exec.Cmd) error {
	if cmd.Dir == "" {
		return nil
	}
	if _, err := os.Stat(cmd.Dir); errors.Is(err, fs.ErrNotExist) {
		return goneError(cmd.Dir)
	}
	return nil
}

type goneError string

func (e goneError) Error() string {
	return fmt.Sprintf("the directory %s does not exist any more: put it back, and try again", string(e))
}

func (goneError) Unwrap() error { return fs.ErrNotExist }

// Names and prefixes of the variables that a child may inherit. All others are withheld: our own variables,
// other tools' secrets, and those that an enclosing session left.
var (
	names = []string{
		"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "TMPDIR", "TZ",
		"LANG", "LANGUAGE", "SSH_AUTH_SOCK",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"GIT_SSL_CAINFO", "CLOUD_ML_REGION", "CLAUDE_CONFIG_DIR", "TRACEPARENT", "TRACESTATE",
	}
	prefixes = []string{"LC_", "ANTHROPIC_", "AWS_", "GOOGLE_", "VERTEX_", "CLAUDE_CODE_", "OTEL_"}

	// Markers of an enclosing session, and switches that would break what the driver relies on: a turn must
	// not start unrequested after a resume.
	never = []string{"CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_RESUME_INTERRUPTED_TURN",
		// Agents must not share one list of tasks.
		"CLAUDE_CODE_TASK_LIST_ID"}
)

// EnvAllowed reports whether a child may inherit the variable of that name.
func EnvAllowed(name string) bool {
	if slices.Contains(names, name) {
		return true
	}
	if slices.Contains(never, name) || strings.HasSuffix(name, "_ENTRYPOINT") ||
		strings.HasSuffix(name, "_SESSION_ID") || strings.Contains(name, "_MESSAGING_") {
		return false
	}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// EnvFrom returns the variables that a child may inherit from an environment (NAME=value entries), plus extra.
// The caller owns the map.
func EnvFrom(inherited []string, extra map[string]string) map[string]string {
	env := map[string]string{}
	for _, entry := range inherited {
		if name, value, ok := strings.Cut(entry, "="); ok && EnvAllowed(name) {
			env[name] = value
		}
	}
	maps.Copy(env, extra)
	return env
}

// EnvList renders an environment as sorted NAME=value entries.
func EnvList(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// ConfigDir returns the directory in which a CLI with this environment and working directory keeps its
// sessions; empty if that cannot be determined.
func ConfigDir(env []string, cwd string) string {
	if dir := EnvLookup(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		return dir
	}
	home := EnvLookup(env, "HOME")
	if home == "" {
		me, err := user.Current()
		if err != nil {
			return ""
		}
		home = me.HomeDir
	}
	return filepath.Join(home, ".claude")
}

// EnvLookup finds a variable in an environment; empty if it is not there.
func EnvLookup(env []string, name string) string {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// EnvWithout returns an environment without some variables.
func EnvWithout(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// ownGroup makes pgid == pid, with Setsid (which a pty needs) or without. The kernel refuses both together
// (EPERM).
func ownGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}
