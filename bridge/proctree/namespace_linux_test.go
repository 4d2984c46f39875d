package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func init() {
	roles["holder"] = holder
	roles["inside"] = func(args []string) { verdict(inside(Kind(args[0]))) }
	roles["asks"] = asks
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
	if n := insiders(namespace); n != held+1 {
		t.Fatalf("%d processes stand in the namespace, want %d", n, held+1)
	}
	testkit.OK(t, unix.Kill(c.PID(), unix.SIGKILL))
	_ = c.Wait()
	if n := insiders(namespace); n != 0 {
		t.Errorf("%d processes outlived the subreaper", n)
	}
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
	if got, err := EnterNamespace(); err == nil || got.Kind != NoNamespace {
		t.Errorf("entered %v, %v", got, err)
	}
	if got, err := EnterNamespace(); err != nil || got.Kind != NoNamespace {
		t.Errorf("not asked, entered %v, %v", got, err)
	}
}
