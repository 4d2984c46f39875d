package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func init() {
	roles["holder"] = holder
	roles["inside"] = func(args []string) { verdict(inside(Kind(args[0]))) }
	roles["asks"] = asks
	roles["attacked"] = func([]string) { verdict(first(attacked)) }
	roles["reuse"] = func([]string) { verdict(first(reuse)) }
	roles["above"] = func([]string) { verdict(above()) }
	roles["nested"] = func([]string) { verdict(nested()) }
}

// isolated makes cmd run in a PID namespace, or skips the test where none can be created.
func isolated(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	if got := Isolate(t.Context(), cmd, ModeAuto); got.Kind == NoNamespace {
		t.Skip(got)
	}
	return cmd
}

// held is the number of processes below a holder.
const held = 5

// heldBy returns the run whose mark they bear.
func heldBy(holder int) string { return fmt.Sprintf("held-%d", holder) }

// holder is a subreaper: of a tree, and of an orphan without a mark.
func holder([]string) {
	_, err := EnterNamespace()
	if err == nil {
		_, err = BecomeSubreaper()
	}
	if err == nil {
		err = hold()
	}
	if err != nil {
		fmt.Println("failed", err)
		return
	}
	fmt.Println("up", os.Getpid())
	hang()
}

func hold() error {
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := again(os.Args[0], "tree", "3")
	cmd.Stdout = w
	if _, err := Start(cmd, Mark{Run: heldBy(os.Getpid()), Agent: "a.1"}); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 100)); err != nil { // the deepest process is ready
		return err
	}
	c, err := startQuietly("hider")
	if err != nil {
		return err
	}
	_ = c.Wait() // without input it ends at once
	return until("those between have ended", func() bool { return ours() == held })
}

func startQuietly(name string, args ...string) (*Child, error) {
	cmd := again(os.Args[0], name, args...)
	return Start(cmd, Mark{Run: heldBy(os.Getpid()), Agent: "a.1"})
}

// TestNothingOutlivesTheFirstProcess: when the subreaper can be waited for, all processes below it have
// ended, with or without a mark.
func TestNothingOutlivesTheFirstProcess(t *testing.T) {
	out, w, err := os.Pipe()
	testkit.OK(t, err)
	defer out.Close()
	cmd := isolated(t, again(os.Args[0], "holder"))
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	c, err := Start(cmd, Mark{})
	w.Close()
	testkit.OK(t, err)
	t.Cleanup(func() { kill(t, c) })
	output := make([]byte, 100)
	if n, err := out.Read(output); err != nil || string(output[:n]) != "up 1\n" {
		t.Fatalf("the holder said %q, %v", output[:n], err)
	}
	namespace := testkit.Must(namespaceOf(c.PID()))(t)
	n := insiders(namespace)
	testkit.Need(t, n == held+1, "%d processes stand in the namespace, want %d", n, held+1)
	testkit.OK(t, unix.Kill(c.PID(), unix.SIGKILL))
	_ = c.Wait()
	testkit.Same(t, "processes outlived the subreaper", 0, insiders(namespace))
}

// inside checks what a namespace changes, and what it does not.
func inside(want Kind) error {
	got, err := EnterNamespace()
	if err != nil || got.Kind != want {
		return fmt.Errorf("entered %v, %w", got, err)
	}
	if _, there := os.LookupEnv(EnvNamespace); there {
		return fmt.Errorf("%s is left in the environment", EnvNamespace)
	}
	if want == UserNamespace && privileged() {
		return errors.New("what mounting took was kept")
	}
	release, err := BecomeSubreaper()
	if err != nil {
		return err
	}
	defer release()
	if n := len(scan().byPID); n != 1 {
		return fmt.Errorf("%d processes are seen", n)
	}
	c, err := startQuietly("hider")
	if err != nil {
		return err
	}
	if c.PID() < 100 {
		return fmt.Errorf("numbers start anew: %d", c.PID())
	}
	_ = c.Wait()
	if n := Sweep(heldBy(os.Getpid()), ""); n != 1 {
		return fmt.Errorf("%d swept, want the orphan", n)
	}
	return until("the orphan is reaped", func() bool { return len(scan().byPID) == 1 })
}

func TestInsideANamespace(t *testing.T) {
	judged(t, isolated(t, again(os.Args[0], "inside", string(PIDNamespace))))
}

// asks isolates a role, as an unprivileged arbiter would, and reports the role's verdict.
func asks(args []string) {
	cmd := again(os.Args[0], "inside", string(UserNamespace))
	if got := Isolate(context.Background(), cmd, ModeAuto); !privileged() && got.Kind != NoNamespace {
		verdict(fmt.Errorf("%s made %v", ModeAuto, got))
	}
	got := Isolate(context.Background(), cmd, ModeAlways)
	if got.Kind == NoNamespace {
		fmt.Println("skip:", got)
		return
	}
	if got.Kind != UserNamespace {
		verdict(fmt.Errorf("%s made %v", ModeAlways, got))
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		os.Exit(1)
	}
}

func TestInsideAUserNamespace(t *testing.T) {
	judged(t, unprivileged(t, "asks"))
}

// If the variable was set by hand, EnterNamespace fails, and the process keeps its /proc.
func TestEnterWithoutBeingFirst(t *testing.T) {
	t.Setenv(EnvNamespace, stageEnter+string(PIDNamespace))
	got, err := EnterNamespace()
	testkit.Check(t, err != nil && got.Kind == NoNamespace, "entered %v, %v", got, err)
	got, err = EnterNamespace()
	testkit.Check(t, err == nil && got.Kind == NoNamespace, "not asked, entered %v, %v", got, err)
}

// first plays the first process of a namespace, which is a subreaper.
func first(play func() error) error {
	if _, err := EnterNamespace(); err != nil {
		return err
	}
	release, err := BecomeSubreaper()
	if err != nil {
		return err
	}
	defer release()
	return play()
}

// attacked is a subreaper whose agent tries to kill it.
func attacked() error {
	sh := exec.Command("/bin/sh", "-c", "kill -9 $PPID; kill -9 1; kill -STOP 1; kill -9 -1")
	sh.Env = []string{}
	c, err := Start(sh, Mark{})
	if err != nil {
		return err
	}
	_ = c.Wait()
	return nil
}

// TestAgentCannotKillItsSubreaper: processes inside a namespace can neither kill nor stop its first
// process.
func TestAgentCannotKillItsSubreaper(t *testing.T) {
	judged(t, isolated(t, again(os.Args[0], "attacked")))
}

// reuse makes the kernel reuse a pid, for a child and not for a thread of this process, which would keep
// it.
func reuse() error {
	for {
		if err := reuseOne(); !errors.Is(err, errOurThread) {
			return err
		}
	}
}

var errOurThread = errors.New("a thread has the number")

func reuseOne() error {
	old, err := startQuietly("sleeper")
	if err != nil {
		return err
	}
	was, err := procAt(old.PID())
	if err != nil {
		return err
	}
	old.Remember()
	if err := unix.Kill(old.PID(), unix.SIGKILL); err != nil {
		return err
	}
	_ = old.Wait()
	young, err := sameNumber(was)
	if err != nil {
		return err
	}
	if err := was.signal(unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal by pid and start: %v", err)
	}
	if err := old.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	if n, err := old.Kill(context.Background()); n != 0 || err != nil {
		return fmt.Errorf("killing one that has ended: %d others, %w", n, err)
	}
	if young.State() != nil || !alive(young.PID()) {
		return errors.New("who got the number later was killed")
	}
	_, err = young.Kill(context.Background())
	return err
}

// sameNumber starts children until one has the pid of was with another start time.
func sameNumber(was proc) (*Child, error) {
	var young *Child
	var failed error
	err := until("the number is used again", func() bool {
		failed = os.WriteFile("/proc/sys/kernel/ns_last_pid", fmt.Append(nil, was.pid-1), 0)
		if failed != nil {
			return true
		}
		cmd := again(os.Args[0], "sleeper")
		if young, failed = Start(cmd, Mark{Run: "later", Agent: "a.1"}); failed != nil {
			return true
		}
		if is, err := procAt(young.PID()); err == nil && is.pid == was.pid && is.start != was.start {
			return true
		}
		if _, failed = young.Kill(context.Background()); failed != nil {
			return true
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", was.pid)); err == nil {
			failed = errOurThread
		}
		return failed != nil
	})
	return young, errors.Join(err, failed)
}

func TestPidReuse(t *testing.T) {
	judged(t, isolated(t, again(os.Args[0], "reuse")))
}

// above starts a subreaper as arbiter does without namespaces, and kills it.
func above() error {
	if err := AdoptOrphans(); err != nil {
		return err
	}
	cmd := again(os.Args[0], "holder")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := out.Read(make([]byte, 100)); err != nil {
		return err
	}
	if n := ours(); n != held+1 {
		return fmt.Errorf("%d stand, want %d", n, held+1)
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return fmt.Errorf("the subreaper's exit status was taken: %w", err)
	}
	if n := Sweep(heldBy(cmd.Process.Pid), ""); n != held {
		return fmt.Errorf("%d swept, want %d", n, held)
	}
	if n := ours(); n != 0 {
		return fmt.Errorf("%d are left", n)
	}
	return orphaned()
}

// orphaned checks that the end of one command reaps what another has left.
func orphaned() error {
	for _, line := range []string{"(setsid true &)", "true"} {
		cmd := exec.Command("sh", "-c", line)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		ended, err := Keep(cmd)
		if err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			return err
		}
		for left := true; line != "true" && left; { // until the orphan is dead, too
			left = ours() > 0
		}
		if line == "true" {
			ended()
		}
	}
	if anyZombie() {
		return errors.New("a dead orphan is left")
	}
	return nil
}

// ours counts the descendants of this process.
func ours() int {
	s := scan()
	me := s.byPID[os.Getpid()]
	return len(s.descendants(map[procKey]bool{me.key(): true}))
}

// TestKilledSubreaperIsSweptFromAbove: without a namespace, a process without a mark is found because it
// was adopted.
func TestKilledSubreaperIsSweptFromAbove(t *testing.T) {
	judged(t, again(os.Args[0], "above"))
}

// amid starts a sleeper with exactly the environment env, like a process that a program outside of the
// registry left behind.
func amid(t *testing.T, env ...string) *Child {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = append([]string{}, env...)
	c := testkit.Must(Start(cmd, Mark{}))(t)
	t.Cleanup(func() { kill(t, c) })
	if len(cmd.Env) > 0 {
		bears(t, c.PID())
	}
	return c
}

func TestSweepStrays(t *testing.T) {
	one, two, alive := testkit.Run(t)+" one", testkit.Run(t)+" two", testkit.Run(t)+" alive"
	c, orphan, stdin := begin(t, "parent", Mark{Run: one, Agent: "a.1"})
	stdin.Close()
	<-c.Done()
	_, hidden, _ := begin(t, "hider", Mark{Run: two})
	_, spared, _ := begin(t, "sleeper", Mark{Run: alive})
	unmarked := amid(t)

	asked := map[string]int{}
	dead := func(run string) bool { asked[run]++; return run == one || run == two }
	list := Strays(dead)
	testkit.Check(t, len(list[one]) == 1 && list[one][0].PID == orphan && len(list[two]) == 1 && len(list) == 2,
		"strays: %v", list)
	clear(asked)
	testkit.Same(t, "swept", map[string]int{one: 1, two: 2}, SweepStrays(dead))
	gone(t, orphan)
	gone(t, hidden) // found by descent
	p, err := procAt(spared)
	testkit.Check(t, err == nil && !p.zombie() && unmarked.State() == nil, "more was swept")
	for _, run := range []string{one, two, alive} {
		testkit.Same(t, fmt.Sprintf("asked times about %q", run), 1, asked[run])
	}
	again := SweepStrays(dead)
	testkit.Check(t, again == nil, "the second sweep found %v", again)
}

// bears waits until a new process shows its environment: the kernel lets the process that started it
// continue a moment earlier.
func bears(t *testing.T, pid int) {
	t.Helper()
	testkit.OK(t, until("an environment", func() bool { return len(environ(pid)) > 0 }))
}

// Two marks in one environment: os/exec keeps the last one, other programs keep both.
func TestStrayOfTwoRuns(t *testing.T) {
	outer, inner := testkit.Run(t)+" outer", testkit.Run(t)+" inner"
	cmd := exec.Command("/bin/sleep", "1000")
	cmd.Env = Mark{Run: outer}.Env()
	c := testkit.Must(Start(cmd, Mark{Run: inner}))(t)
	t.Cleanup(func() { kill(t, c) })
	bears(t, c.PID())
	testkit.Same(t, "a child bears, besides the mark of the inner run", []string{inner},
		entriesOf(environ(c.PID()), EnvRun))
	over := func(runs ...string) func(string) bool {
		return func(run string) bool { return slices.Contains(runs, run) }
	}
	list := Strays(over(outer))
	testkit.Check(t, len(list) == 0, "the outer run is over, and strays are %v", list)
	attr := &syscall.ProcAttr{Env: append(Mark{Run: outer}.Env(), Mark{Run: inner}.Env()...),
		Sys: &syscall.SysProcAttr{Setpgid: true}}
	children.mu.Lock() // so that it does not count as an orphan
	pid, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, attr)
	children.pids[pid] = true
	children.mu.Unlock()
	testkit.OK(t, err)
	t.Cleanup(func() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		children.forget(pid)
	})
	bears(t, pid)
	list = Strays(over(outer))
	testkit.Check(t, len(list) == 0, "the outer run of two is over, and strays are %v", list)
	if list := Strays(over(inner)); len(list[inner]) != 1 || list[inner][0].PID != c.PID() {
		t.Errorf("the inner run of two is over, and strays are %v", list)
	}
	list = Strays(over(outer, inner))
	testkit.Check(t, len(list[inner]) == 2 && len(list[outer]) == 0, "both are over, and strays are %v", list)
}

// nested is an arbiter in a shell of an agent of an outer run.
func nested() error {
	outer := os.Getenv(EnvRun)
	if outer == "" {
		return fmt.Errorf("no mark")
	}
	sibling := exec.Command("/bin/sleep", "1000") // it bears the mark, too
	if err := sibling.Start(); err != nil {
		return err
	}
	defer func() { _ = sibling.Process.Kill(); _ = sibling.Wait() }()
	if swept := SweepStrays(func(run string) bool { return run == outer }); len(swept) > 0 {
		return fmt.Errorf("swept %v of the run around us", swept)
	}
	if p, err := procAt(sibling.Process.Pid); err != nil || p.zombie() {
		return fmt.Errorf("what shares our shell was swept: %w", err)
	}
	return nil
}

// TestNestedRunSparesTheOuter: a run inside of another run never ends the outer run's processes, even if
// the outer run has ended.
func TestNestedRunSparesTheOuter(t *testing.T) {
	judged(t, again(os.Args[0], "nested"))
}
