package proctree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func init() {
	roles["tree"] = tree
	roles["flood"] = flood
	roles["starved"] = starved
	roles["no namespaces"] = func([]string) { // which may create none
		verdict(container(os.WriteFile("/proc/sys/user/max_pid_namespaces", []byte("0"), 0)))
	}
	roles["no proc"] = func([]string) { // at all
		verdict(container(unix.Mount("nothing", "/proc", "tmpfs", 0, "")))
	}
	roles["masked"] = masked
	roles["fine"] = func([]string) {
		_, err := EnterNamespace()
		verdict(err)
	}
	roles["family"] = func([]string) { // deaf, with one in a session of its own
		below("deaf", &syscall.SysProcAttr{Setsid: true}, nil)
		syscall.Exec(os.Args[0], []string{os.Args[0], roleArg, "deaf"}, os.Environ())
	}
}

// tree is a process with two children: one that ends at once, and below it a tree that is one level less
// deep, in a session of its own. All hold each of the pipes. All ignore TERM, as they do when the subreaper
// is killed.
func tree(args []string) {
	signal.Ignore(syscall.SIGTERM)
	depth, _ := strconv.Atoi(args[0])
	if depth == 0 {
		fmt.Println("up", os.Getpid())
		hang()
	}
	cmd := exec.Command(os.Args[0], roleArg, "tree", strconv.Itoa(depth-1))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if len(args) == 1 { // fork once more
		cmd.Args = []string{os.Args[0], roleArg, "tree", args[0], "between"}
	}
	if err := cmd.Start(); err != nil {
		fmt.Println("failed", err)
	}
	if len(args) == 1 {
		hang()
	}
}

// flood starts short processes in sessions of their own and does not wait for them: when it ends, another
// process inherits them as zombies.
func flood(args []string) {
	n, _ := strconv.Atoi(args[0])
	for range n {
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
	}
}

// TestDeepTreeThatKeepsThePipes: a process that escapes by forking twice into a new session is found, and
// output that others hold open does not delay the end.
func TestDeepTreeThatKeepsThePipes(t *testing.T) {
	for _, leader := range []string{"killed", "ended on its own"} {
		t.Run(leader, func(t *testing.T) {
			out, w, err := os.Pipe()
			testkit.OK(t, err)
			defer out.Close()
			cmd := again(os.Args[0], "tree", "5")
			cmd.Stdout = struct{ *os.File }{w} // no *os.File for os/exec: it copies, and Wait waits for that
			c := testkit.Must(Start(cmd, Mark{Run: testkit.Run(t)}))(t)
			t.Cleanup(func() { kill(t, c); w.Close() })
			testkit.Must(bufio.NewReader(out).ReadString('\n'))(t)
			stand := func() bool { return len(Survivors(testkit.Run(t))) == 6 }
			testkit.OK(t, until("those between have ended", stand))
			if leader != "killed" {
				testkit.OK(t, unix.Kill(c.PID(), unix.SIGKILL))
				err := c.Wait()
				testkit.Check(t, errors.Is(err, exec.ErrWaitDelay) || !c.State().Success(), "wait: %v", err)
			}
			testkit.Same(t, "others killed", 5, kill(t, c))
			testkit.Empty(t, "left", Survivors(testkit.Run(t)))
		})
	}
}

// TestHoppingProcess: a process that has another pid at each scan, because it starts its successor and
// ends.
func TestHoppingProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hop")
	testkit.OK(t, os.WriteFile(file, []byte("#!/bin/sh\nsetsid \"$0\" &\n"), 0o755))
	cmd := exec.Command(file)
	cmd.Env = []string{"PATH=/bin:/usr/bin"}
	c := testkit.Must(Start(cmd, Mark{Run: testkit.Run(t)}))(t)
	t.Cleanup(func() { Sweep(testkit.Run(t), "") })
	<-c.Done() // it hops now
	begun := time.Now()
	kill(t, c)
	t.Logf("caught after %v", time.Since(begun))
	for range 200 { // one of many scans finds a process that escaped
		left := Survivors(testkit.Run(t))
		testkit.Need(t, len(left) == 0, "%v hop on", left)
	}
}

// TestZombieFlood: dead orphans are reaped, and meanwhile os/exec loses no exit status.
func TestZombieFlood(t *testing.T) {
	many := 200
	if testkit.AtNight() {
		many = 1000
	}
	c := testkit.Must(Start(again(os.Args[0], "flood", strconv.Itoa(many)), Mark{Run: testkit.Run(t)}))(t)
	t.Cleanup(func() { kill(t, c) })
	for over := false; !over; {
		select {
		case <-c.Done():
			over = true
		default:
		}
		own := exec.Command("/bin/sh", "-c", "exit 7")
		own.Env = []string{}
		ours := testkit.Must(Start(own, Mark{}))(t)
		if _ = ours.Wait(); ours.State().ExitCode() != 7 {
			t.Fatalf("a child of the test: %v", ours.State())
		}
		plain := exec.Command("/bin/sh", "-c", "exit 8")
		err := plain.Run()
		testkit.Need(t, err != nil && plain.ProcessState.ExitCode() == 8, "a child that is not in the registry: %v", err)
	}
	testkit.Need(t, c.State().Success(), "the flood: %v", c.State())
	begun := time.Now()
	testkit.OK(t, until("no zombie is left", func() bool { return zombies() == 0 }))
	t.Logf("%d zombies were gone %v after their parent", many, time.Since(begun))
}

// starved starts a child while a resource is exhausted: nothing may be left over, and the next start works.
func starved(args []string) {
	verdict(func() error {
		resource, limit, want := unix.RLIMIT_NOFILE, uint64(openFiles()), error(syscall.EMFILE)
		if args[0] == "nproc" {
			if os.Getuid() == 0 {
				return errors.New("root has no such limit")
			}
			spareThreads()
			resource, limit, want = unix.RLIMIT_NPROC, 1, syscall.EAGAIN
		}
		start := func() (*Child, error) {
			cmd := exec.Command("/bin/true")
			cmd.Env = []string{}
			return Start(cmd, Mark{Run: "r"})
		}
		if c, err := start(); err != nil || c.Wait() != nil { // this creates the poller and the like
			return fmt.Errorf("a first start: %w", err)
		}
		files, goroutines := openFiles(), runtime.NumGoroutine()
		var err error
		if lerr := limited(resource, limit, func() { _, err = start() }); lerr != nil {
			return lerr
		}
		if !errors.Is(err, want) {
			return fmt.Errorf("start with too little: %v, want %v", err, want)
		}
		if n := len(children.pids); n != 0 {
			return fmt.Errorf("%d children are registered", n)
		}
		if err := until("the goroutine that starts has ended",
			func() bool { return runtime.NumGoroutine() <= goroutines }); err != nil {
			return err
		}
		if f := openFiles(); f > files {
			return fmt.Errorf("%d files, before there were %d", f, files)
		}
		c, err := start()
		if err != nil {
			return err
		}
		return c.Wait()
	}())
}

// spareThreads makes the runtime create threads that will be idle later: the runtime crashes if it needs a
// thread and gets none.
func spareThreads() {
	const threads = 32
	var ready, done sync.WaitGroup
	ready.Add(threads)
	for range threads {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
		})
	}
	done.Wait()
}

func TestForkFails(t *testing.T) {
	t.Run("no descriptors", func(t *testing.T) { judged(t, again(os.Args[0], "starved", "nofile")) })
	t.Run("no processes", func(t *testing.T) { judged(t, unprivileged(t, "starved", "nproc")) })
}

// TestChildOutlivesTheThreadThatStartedIt: Linux sends the parent death signal when the thread that started
// the child ends, not the process.
func TestChildOutlivesTheThreadThatStartedIt(t *testing.T) {
	var c *Child
	var thread int
	for c == nil {
		started := make(chan error, 1)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
			if thread = unix.Gettid(); thread == os.Getpid() {
				started <- nil // that thread stays
				return
			}
			cmd := again(os.Args[0], "sleeper")
			var err error
			c, err = Start(cmd, Mark{Run: testkit.Run(t)})
			started <- err
		}()
		testkit.OK(t, <-started)
	}
	t.Cleanup(func() { kill(t, c) })
	testkit.OK(t, until("the thread is gone", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", thread))
		return errors.Is(err, os.ErrNotExist)
	}))
	testkit.Check(t, c.State() == nil && alive(c.PID()), "the child ended: %v", c.State())
}

// TestStopOfTwenty: deaf children with escaped processes, all ended at once.
func TestStopOfTwenty(t *testing.T) {
	var twenty []*Child
	for i := range 20 {
		c, _, _ := begin(t, "family", Mark{Run: testkit.Run(t), Agent: fmt.Sprintf("orch-%d.1", i)})
		twenty = append(twenty, c)
	}
	begun := time.Now()
	var kills sync.WaitGroup
	for _, c := range twenty {
		kills.Go(func() {
			testkit.Same(t, "others killed", 1, kill(t, c))
		})
	}
	kills.Wait()
	t.Logf("20 children and 20 escaped were gone after %v", time.Since(begun))
	testkit.Empty(t, "left", Survivors(testkit.Run(t)))
}

// TestHundredStartAndStopTogether also starts the next generation of each while the last one is killed,
// which must not affect the next.
func TestHundredStartAndStopTogether(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	start := func(i, generation int) (*Child, error) {
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.Env = []string{}
		return Start(cmd, Mark{Run: testkit.Run(t), Agent: fmt.Sprintf("orch-%d.%d", i, generation)})
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			old, err := start(i, 1)
			if err != nil {
				t.Error(err)
				return
			}
			killed := make(chan error, 1)
			go func() { _, err := old.Kill(ctx); killed <- err }()
			young, err := start(i, 10) // a mark with the other as its prefix
			if err := errors.Join(err, <-killed); err != nil {
				t.Error(err)
				return
			}
			if young.State() != nil || !alive(young.PID()) {
				t.Errorf("orch-%d.10 was killed with orch-%d.1: %v", i, i, young.State())
			}
			testkit.Works(t, "Kill", testkit.Err(young.Kill(ctx)))
		})
	}
	all.Wait()
	testkit.Empty(t, "left", Survivors(testkit.Run(t)))
	testkit.OK(t, until("all goroutines have ended",
		func() bool { return runtime.NumGoroutine() <= goroutines }))
}

// fallsBack checks that a command that cannot be isolated still runs.
func fallsBack(cmd *exec.Cmd, got Isolation) error {
	if got.Kind != NoNamespace || got.Why == "" {
		return fmt.Errorf("made %v", got)
	}
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), "ok") {
		return fmt.Errorf("without one: %w: %s", err, out)
	}
	return nil
}

// scene ends a role whose container cannot be simulated here.
func scene(err error) {
	if err != nil {
		fmt.Println("skip: no container can be played here:", err)
		os.Exit(0)
	}
}

// container runs a command in a container, which err says if it cannot be simulated.
func container(err error) error {
	scene(err)
	cmd := again(os.Args[0], "fine")
	return fallsBack(cmd, Isolate(context.Background(), cmd, ModeAlways))
}

// masked has a /proc with something mounted over a part of it, as in containers.
func masked([]string) {
	verdict(func() error {
		scene(unix.Mount("nothing", "/proc/tty", "tmpfs", 0, ""))
		cmd := again(os.Args[0], "fine")
		err := probe(context.Background(), cmd, UserNamespace)
		if err == nil || !strings.Contains(err.Error(), "mount /proc") {
			return fmt.Errorf("the probe says %v", err)
		}
		return fallsBack(cmd, Isolation{NoNamespace, err.Error()})
	}())
}

// TestFallsBack: where there is no namespace, nothing fails.
func TestFallsBack(t *testing.T) {
	t.Run("never", func(t *testing.T) {
		cmd := again(os.Args[0], "fine")
		testkit.OK(t, fallsBack(cmd, Isolate(t.Context(), cmd, ModeNever)))
	})
	t.Run("a program that knows nothing of it", func(t *testing.T) {
		cmd := exec.Command("/bin/echo", "ok")
		testkit.OK(t, fallsBack(cmd, Isolate(t.Context(), cmd, ModeAlways)))
	})
	for _, name := range []string{"no namespaces", "masked", "no proc"} {
		t.Run(name, func(t *testing.T) {
			if !userNamespaces() {
				t.Skip("no user namespaces here to play a container in")
			}
			cmd := again(os.Args[0], name)
			cmd.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
			}
			judged(t, cmd)
		})
	}
}

// userNamespaces reports whether user namespaces can be created.
func userNamespaces() bool {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS}
	return cmd.Run() == nil
}

// monitored starts a monitor, and returns what it and its processes write.
func monitored(t *testing.T, cmd *exec.Cmd) (*Child, *os.File) {
	t.Helper()
	out, theirs, err := os.Pipe()
	testkit.OK(t, err)
	t.Cleanup(func() { out.Close() })
	defer theirs.Close()
	cmd.Env, cmd.Stdout = []string{"PATH=/usr/bin:/bin"}, theirs
	c := testkit.Must(StartMonitored(cmd, Mark{Run: testkit.Run(t)}))(t)
	t.Cleanup(func() { kill(t, c) })
	return c, out
}

// TestMonitored: a signal does not go to the monitor but to the process that it waits for, which ends in
// its own time; the monitor exits with the code of that process.
func TestMonitored(t *testing.T) {
	// TERM ends the monitor, like bubblewrap.
	script := `sh -c 'trap "echo heard; exit 7" TERM; echo ready; while :; do sleep 0.01; done'; exit $?`
	cmd := exec.Command("sh", "-c", script)
	c, out := monitored(t, cmd)
	output := bufio.NewReader(out)
	testkit.Same(t, "line", "ready\n", testkit.Must(output.ReadString('\n'))(t))
	pid := c.Confined()
	testkit.Check(t, pid != 0 && pid != c.PID(), "confined is %d, the monitor %d", pid, c.PID())
	testkit.OK(t, c.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(output)
	testkit.Check(t, err == nil && strings.Contains(string(rest), "heard"), "said %q, %v", rest, err)
	testkit.Receive(t, "its end", c.Done())
	code := c.State().ExitCode()
	testkit.Check(t, code == 7 && c.Confines(), "exit code %d: the monitor was ended itself", code)
}

// TestMonitoredInANamespace: the first process of a PID namespace is not the confined one, signals do not end it, and
// nothing outlives it.
func TestMonitoredInANamespace(t *testing.T) {
	cmd := exec.Command("bwrap", "--bind", "/", "/", "--proc", "/proc", "--unshare-user", "--unshare-pid", "--",
		"sh", "-c", `trap "exit 7" TERM; setsid env -i sleep 98763 & echo ready; while :; do sleep 0.01; done`)
	if cmd.Err != nil {
		t.Skip(cmd.Err)
	}
	c, out := monitored(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Skipf("bubblewrap may not be used here: %q, %v", line, err)
	}
	confined := c.Confined()
	p, err := procAt(confined)
	testkit.Check(t, err == nil && p.name == "sh", "confined is %d: %+v, %v", confined, p, err)
	u := c.Usage()
	testkit.Check(t, u.Processes >= 3 && !u.Stopped, "usage: %+v", u)
	testkit.OK(t, c.Signal(syscall.SIGTERM))
	testkit.OK(t, testkit.Err(io.ReadAll(out))) // the end: nobody holds the pipe any more
	<-c.Done()
	testkit.Same(t, "exit code", 7, c.State().ExitCode())
}

// TestBridgesOfOneRun: an orphan is found by its mark. Two bridges on one machine have agents of the same names: the
// end of an agent, or of a bridge, ends its own processes, and leaves all others alone.
func TestBridgesOfOneRun(t *testing.T) {
	run := testkit.Run(t)
	first := Mark{Run: run, Bridge: "box", Agent: "orch-1.1"}
	c, orphan, stdin := begin(t, "parent", first)
	_, other, _ := begin(t, "sleeper", Mark{Run: run, Bridge: "box-2", Agent: "orch-1.1"})
	_, second, _ := begin(t, "sleeper", Mark{Run: run, Bridge: "box", Agent: "orch-2.1"})
	stdin.Close()
	<-c.Done()
	testkit.Same(t, "survivors", 3, len(Survivors(run)))
	for _, step := range []struct {
		name  string
		sweep func() int
		want  int
		ends  int
	}{
		{"the end of an agent", func() int { return kill(t, c) }, 1, orphan},
		{"the sweep of another run", func() int { return Sweep("another run", "") }, 0, 0},
		{"the sweep of another agent", func() int { return Sweep(run, "orch-3.1") }, 0, 0},
		{"the sweep of an agent", func() int { return Sweep(run, "orch-2.1") }, 1, second},
	} {
		testkit.Same(t, step.name+" killed others", step.want, step.sweep())
		if step.ends != 0 {
			gone(t, step.ends)
		}
		testkit.Check(t, alive(other), "%s ended the other bridge's agent", step.name)
	}
	_, third, _ := begin(t, "sleeper", first)
	if n := SweepMarked(Mark{Run: run, Bridge: "box"}); n != 1 || !alive(other) {
		t.Errorf("the sweep of a bridge killed %d, and the other bridge's agent is alive: %v", n, alive(other))
	}
	gone(t, third)
	left := SurvivorsMarked(Mark{Run: run, Bridge: "box-2"})
	testkit.Check(t, len(left) == 1 && left[0].PID == other, "survivors of the other bridge: %v", left)
	testkit.Same(t, "the sweep of the whole run killed", 1, Sweep(run, ""))
	gone(t, other)
}

// TestKeep: a process that another owner waits for, such as the ssh of a host, is not an orphan for a
// sweep.
func TestKeep(t *testing.T) {
	t.Run("kept", func(t *testing.T) { testKeep(t, Keep) })
	t.Run("tied", func(t *testing.T) { testKeep(t, Tie) })
}

func testKeep(t *testing.T, begin func(*exec.Cmd) (func(), error)) {
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env, cmd.Stdout = []string{}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ended := testkit.Must(begin(cmd))(t)
	n := Sweep(testkit.Run(t), "")
	testkit.Check(t, n == 0 && alive(cmd.Process.Pid), "the sweep killed %d", n)
	testkit.OK(t, cmd.Process.Kill())
	testkit.Fails(t, "it was not killed", cmd.Wait())
	ended()
	testkit.Check(t, !children.has(cmd.Process.Pid), "it is kept after its end")
	_, err := begin(exec.Command("/no/such/program"))
	testkit.Check(t, err != nil, "no error for a program that is not there")
}
