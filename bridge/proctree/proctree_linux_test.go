package proctree

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// waitTimeout is how long a test waits before it fails.
const waitTimeout = 2 * time.Minute

// roleArg makes the test binary a child whose role determines how it behaves. Each child writes a line when
// it is ready for the test.
const roleArg = "proctree-test-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == roleArg {
		role(os.Args[2], os.Args[3:])
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	release, err := BecomeSubreaper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer release()
	return m.Run()
}

// roles are added by the test files that use them.
var roles = map[string]func(args []string){}

func role(name string, args []string) {
	if play, ok := roles[name]; ok {
		play(args)
		return
	}
	switch name {
	case "sleeper":
		fmt.Println("up", os.Getpid())
		hang()
	case "deaf": // to every signal that can be ignored
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("up", os.Getpid())
		hang()
	case "spinner": // deaf, and busy
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("up", os.Getpid())
		for n := uint(1); n != 0; n |= 1 { // busy forever
		}
	case "parent": // of a child in a session of its own; ends on input
		below("sleeper", &syscall.SysProcAttr{Setsid: true}, nil)
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "hider": // like parent, but the child bears no mark
		below("sleeper", &syscall.SysProcAttr{Setsid: true}, []string{"HIDDEN=1"})
		_, _ = os.Stdin.Read(make([]byte, 1))
	case "storm": // forks faster than one scan of /proc takes
		fmt.Println("up", os.Getpid())
		for {
			cmd := exec.Command("/bin/sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			_ = cmd.Start()
		}
	case "subreaper": // holds a child that reads nothing, and would not notice its parent's end
		cmd := exec.Command(os.Args[0], roleArg, "sleeper")
		cmd.Env, cmd.Stdout = []string{"HIDDEN=1"}, os.Stdout // it prints when it is ready
		if _, err := Start(cmd, Mark{}); err != nil {
			fmt.Println("failed", err)
		}
		hang()
	case "litter": // leaves a dead orphan
		below("nothing", &syscall.SysProcAttr{Setsid: true}, nil)
	}
}

// hang blocks forever. An empty select would be reported as a deadlock.
func hang() {
	for {
		_ = unix.Pause()
	}
}

// below starts one more role and prints its line.
func below(name string, attr *syscall.SysProcAttr, env []string) {
	cmd := exec.Command(os.Args[0], roleArg, name)
	cmd.SysProcAttr, cmd.Env = attr, env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line == "" { // it ended: it stays a zombie until this process ends, too
		line = fmt.Sprintln("up", cmd.Process.Pid)
	}
	fmt.Print(line)
}

// begin starts a child in a role and returns the pid that it printed.
func begin(t *testing.T, name string, mark Mark) (c *Child, named int, stdin *os.File) {
	t.Helper()
	cmd := exec.Command(os.Args[0], roleArg, name)
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	inR, inW, err := os.Pipe()
	testkit.OK(t, err)
	outR, outW, err := os.Pipe()
	testkit.OK(t, err)
	cmd.Stdin, cmd.Stdout = inR, outW
	c, err = Start(cmd, mark)
	inR.Close()
	outW.Close()
	testkit.OK(t, err)
	t.Cleanup(func() {
		kill(t, c)
		Sweep(mark.Run, "")
		inW.Close()
		outR.Close()
	})
	testkit.OK(t, outR.SetReadDeadline(time.Now().Add(waitTimeout)))
	line, err := bufio.NewReader(outR).ReadString('\n')
	testkit.Need(t, err == nil, "%s did not come up: %v", name, err)
	named, err = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "up")))
	testkit.Need(t, err == nil, "%s said %q", name, line)
	return c, named, inW
}

func kill(t *testing.T, c *Child) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	n, err := c.Kill(ctx)
	testkit.Check(t, err == nil, "kill: %v", err)
	return n
}

// gone waits until pid does not exist, not even as a zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("the end of process %d", pid), func() bool { return unix.Kill(pid, 0) != nil })
}

func alive(pid int) bool {
	p, err := procAt(pid)
	return err == nil && !p.zombie()
}

// TestEndsWithTheSubreaper: after any end of the subreaper, its children get a TERM, although no process is
// left to find them and they bear no mark.
func TestEndsWithTheSubreaper(t *testing.T) {
	c, child, _ := begin(t, "subreaper", Mark{Run: testkit.Run(t)})
	testkit.Need(t, child != c.PID() && alive(child), "the child is %d, its subreaper %d", child, c.PID())
	testkit.OK(t, syscall.Kill(c.PID(), syscall.SIGKILL))
	gone(t, child)
}

func TestSignalReachesTheGroup(t *testing.T) {
	c, pid, _ := begin(t, "sleeper", Mark{Run: testkit.Run(t)})
	testkit.Check(t, pid == c.PID() && c.State() == nil, "pid %d, want %d; state %v", pid, c.PID(), c.State())
	testkit.OK(t, c.Signal(syscall.SIGTERM))
	err := c.Wait()
	testkit.Check(t, err != nil && c.State() != nil, "wait: %v, state %v", err, c.State())
	testkit.Works(t, "signal after the end", c.Signal(syscall.SIGTERM))
}

func TestKillReachesOtherSessions(t *testing.T) {
	c, grandchild, _ := begin(t, "parent", Mark{Run: testkit.Run(t), Agent: "a.1"})
	testkit.Same(t, "others killed", 1, kill(t, c))
	gone(t, grandchild)
	testkit.Same(t, "others killed the second time", 0, kill(t, c))
}

func TestKillIgnoresIgnoredSignalsAndStops(t *testing.T) {
	for _, name := range []string{"deaf", "spinner"} {
		for _, stopped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stopped: %v", name, stopped), func(t *testing.T) {
				c, _, _ := begin(t, name, Mark{Run: testkit.Run(t)})
				sig := syscall.SIGTERM
				if stopped {
					sig = syscall.SIGSTOP
				}
				testkit.OK(t, c.Signal(sig))
				kill(t, c)
				ws := c.State().Sys().(syscall.WaitStatus)
				testkit.Check(t, ws.Signal() == syscall.SIGKILL, "ended by %v", ws)
			})
		}
	}
}

// A stopped process receives TERM only after CONT.
func TestStoppedChildEndsByTermAndCont(t *testing.T) {
	c, _, _ := begin(t, "sleeper", Mark{Run: testkit.Run(t)})
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGCONT} {
		testkit.OK(t, c.Signal(sig))
	}
	testkit.Receive(t, "its end", c.Done())
	ws := c.State().Sys().(syscall.WaitStatus)
	testkit.Check(t, ws.Signal() == syscall.SIGTERM, "ended by %v", ws)
}

func TestOrphanWithoutAMark(t *testing.T) {
	t.Run("remembered", func(t *testing.T) {
		c, orphan, stdin := begin(t, "hider", Mark{Run: testkit.Run(t), Agent: "a.1"})
		c.Remember()
		stdin.Close()
		<-c.Done()
		testkit.Same(t, "others killed", 1, kill(t, c))
		gone(t, orphan)
	})
	t.Run("adopted", func(t *testing.T) {
		c, orphan, stdin := begin(t, "hider", Mark{Run: testkit.Run(t), Agent: "a.1"})
		stdin.Close()
		<-c.Done()
		n := kill(t, c)
		testkit.Check(t, n == 0 && alive(orphan), "%d others killed, and whose they were was not known", n)
		testkit.Same(t, "the run's sweep killed", 1, Sweep(testkit.Run(t), ""))
		gone(t, orphan)
	})
}

func TestForkStorm(t *testing.T) {
	c, _, _ := begin(t, "storm", Mark{Run: testkit.Run(t)})
	for deadline := time.Now().Add(waitTimeout); len(Survivors(testkit.Run(t))) < 100; {
		testkit.Need(t, c.State() == nil && !time.Now().After(deadline), "the storm did not rise")
	}
	n := kill(t, c)
	testkit.Check(t, n >= 50, "%d others killed", n)
	left := Survivors(testkit.Run(t))
	testkit.Check(t, len(left) == 0, "%d survivors", len(left))
}

func TestOrphansAreReaped(t *testing.T) {
	c, orphan, _ := begin(t, "litter", Mark{Run: testkit.Run(t)})
	<-c.Done()
	gone(t, orphan)
}

func TestStartRefuses(t *testing.T) {
	testkit.Fails(t, "started with an inherited environment", testkit.Err(Start(exec.Command("/bin/true"), Mark{})))
	cmd := exec.Command("/no/such/program")
	cmd.Env = []string{}
	testkit.Fails(t, "started nothing", testkit.Err(Start(cmd, Mark{})))
	gone := exec.Command("/bin/true")
	gone.Dir, gone.Env = filepath.Join(t.TempDir(), "gone"), []string{}
	_, err := Start(gone, Mark{})
	_, kept := Keep(gone)
	for _, err := range []error{err, kept} {
		testkit.Fails(t, "in a directory that is gone", err, gone.Dir+" does not exist any more")
	}
}

func TestRecycledPidIsNotHit(t *testing.T) {
	c, pid, _ := begin(t, "sleeper", Mark{Run: testkit.Run(t)})
	p := testkit.Must(procAt(pid))(t)
	p.start++ // another process had this pid
	err := p.signal(unix.SIGKILL)
	testkit.Check(t, err == unix.ESRCH && c.State() == nil, "signal: %v, state %v", err, c.State())
}

func TestParseStat(t *testing.T) {
	p, err := parseStat(42, []byte("42 (a) b (c)) S 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 987654 0 0\n"))
	testkit.Check(t, err == nil && p == (proc{pid: 42, ppid: 1, pgrp: 40, start: 987654, state: 'S', name: "a) b (c)"}),
		"got %+v, %v", p, err)
	for _, bad := range []string{"", "42", "42 (x", "42 (x) S 1", "42 (x) S a b c d e f g h i j k l m n o p q r s t"} {
		testkit.Fails(t, fmt.Sprintf("%q was accepted", bad), testkit.Err(parseStat(42, []byte(bad))))
	}
}

func TestOwnAncestorsAreSpared(t *testing.T) {
	s := scan()
	for pid := os.Getpid(); pid > 1; pid = s.byPID[pid].ppid {
		testkit.Check(t, !s.killable(s.byPID[pid]), "process %d above us may be killed", pid)
	}
}

// TestUsageBesideTheSweep: Usage works while another goroutine searches for descendants and ends them.
func TestUsageBesideTheSweep(t *testing.T) {
	c, _, _ := begin(t, "hider", Mark{Run: testkit.Run(t)})
	u := c.Usage()
	testkit.Check(t, u.Processes == 2 && u.RSS != 0, "usage: %+v", u)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				c.Usage()
				c.Remember()
			}
		})
	}
	kill(t, c)
	all.Wait()
	testkit.Same(t, "without processes", Usage{}, c.Usage())
}

// For the tests outside of the package, which share this test binary.
var (
	Roles        = roles
	Again        = again
	Unprivileged = unprivileged
	Publicly     = publicly
	Until        = until
	Insiders     = insiders
	NamespaceOf  = namespaceOf
)

const (
	RoleArg     = roleArg
	WaitTimeout = waitTimeout
	Nobody      = nobody
)

// Exists reports whether pid is a process, including zombies.
func Exists(pid int) bool {
	_, err := procAt(pid)
	return err == nil
}

// Environ returns the environment with which pid was started, with a NUL after each entry.
func Environ(pid int) string { return string(environ(pid)) }

// TestLineage: the line leads from a process through this one to the first, with the marks on the way.
func TestLineage(t *testing.T) {
	child := amid(t, EnvAgent+"=orch-1", EnvRun+"=two")
	line := testkit.Must(Lineage(child.PID()))(t)
	first, last := line[0], line[len(line)-1]
	testkit.Check(t, first.PID == child.PID() && slices.Equal(first.Runs, []string{"two"}) &&
		slices.Equal(first.Agents, []string{"orch-1"}) && !first.Unreadable && first.Name == "sleep",
		"the process itself: %+v", first)
	testkit.Check(t, line[1].PID == os.Getpid() && (last.PID == 1 || len(line) >= 2), "its line: %+v", line)
	for i := 1; i < len(line); i++ {
		if line[i].Start > line[i-1].Start {
			t.Errorf("%d is younger than its child", line[i].PID)
		}
	}
	testkit.Same(t, "several marks", []string{"one", "two"},
		entriesOf([]byte(EnvRun+"=one\x00X=\x00"+EnvRun+"=two\x00"), EnvRun))
	testkit.Fails(t, "an unknown process has a lineage", testkit.Err(Lineage(1<<30)))
}

// TestEndHitsNoOtherProcess: a pid that now belongs to another process is not killed.
func TestEndHitsNoOtherProcess(t *testing.T) {
	child := amid(t)
	line := testkit.Must(Lineage(child.PID()))(t)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	testkit.Fails(t, "a recycled number", End(ctx, child.PID(), line[0].Start+1), ErrEnded)
	testkit.Need(t, child.State() == nil, "it was killed")
	testkit.Works(t, "the process itself", End(ctx, child.PID(), line[0].Start))
	<-child.Done()
	testkit.Fails(t, "one that has ended", End(ctx, child.PID(), line[0].Start), ErrEnded)
}

func init() {
	roles["locked"] = func([]string) { // holds the file that it inherited, and starts one more process
		if err := HoldInheritedLock(); err != nil {
			fmt.Println("failed", err)
			return
		}
		if value, there := os.LookupEnv(EnvLock); there {
			fmt.Println("failed", EnvLock, value)
			return
		}
		cmd := exec.Command("/bin/sleep", "1000")
		if err := cmd.Start(); err != nil {
			fmt.Println("failed", err)
			return
		}
		fmt.Println("up", cmd.Process.Pid)
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
}

// take opens file and locks it; if another process holds the lock, the error is unix.EWOULDBLOCK.
func take(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// TestLockIsHeldByBoth: the lock stays held after its owner has released it, until the process that
// inherited it ends; a child of that process does not prolong it.
func TestLockIsHeldByBoth(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lock")
	lock := testkit.Must(take(file))(t)
	defer lock.Close()
	other, err := os.Open(os.DevNull) // the descriptor's number is also right if others precede it
	testkit.OK(t, err)
	defer other.Close()
	cmd := again(os.Args[0], "locked")
	cmd.ExtraFiles = []*os.File{other}
	InheritLock(cmd, lock)
	stdin := testkit.Must(cmd.StdinPipe())(t)
	out, w, err := os.Pipe()
	testkit.OK(t, err)
	defer out.Close()
	cmd.Stdout = w
	c, err := Start(cmd, Mark{Run: testkit.Run(t)})
	w.Close()
	testkit.OK(t, err)
	t.Cleanup(func() { kill(t, c) })
	line, err := bufio.NewReader(out).ReadString('\n')
	testkit.Need(t, err == nil && strings.HasPrefix(line, "up"), "it said %q, %v", line, err)
	lock.Close()
	testkit.Fails(t, "the lock can be taken while the other lives", testkit.Err(take(file)), unix.EWOULDBLOCK)
	stdin.Close()
	<-c.Done()
	testkit.Check(t, len(Survivors(testkit.Run(t))) != 0, "no process outlived it: the test could not fail")
	again, err := take(file)
	testkit.OK(t, err)
	again.Close()
}

func TestHoldInheritedRefuses(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer r.Close()
	defer w.Close()
	for _, value := range []string{"", "x", "1", "-3", "99999", fmt.Sprint(r.Fd())} {
		t.Setenv(EnvLock, value)
		testkit.Fails(t, fmt.Sprintf("%q was held", value), HoldInheritedLock())
		testkit.Works(t, "without the variable", HoldInheritedLock())
	}
}
