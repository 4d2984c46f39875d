package gittest

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	operationVariable = "GITTEST_OPERATION"
	killVariable      = "GITTEST_KILL_AT"
)

// Operations are what a test binary can do in a process of its own, by name. They receive the step hook to
// use, and the arguments of [Killed].
type Operations map[string]func(step func(string), args []string) error

// Main is the TestMain of packages whose tests call [Killed].
func Main(m *testing.M, operations Operations) {
	name := os.Getenv(operationVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	at, _ := strconv.Atoi(os.Getenv(killVariable))
	step := func(string) {
		if at--; at == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until it arrives
		}
	}
	if err := operations[name](step, os.Args[1:]); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// Stride returns the increment between the steps after which a test kills an operation: some for each
// change, or one if ARBITER_LONG is set, as by scripts/nightly.
func Stride(some int) int {
	if testkit.AtNight() {
		return 1
	}
	return some
}

// Killed runs an operation in a process that kills itself after so many steps. It reports whether the process got that
// far: if not, the operation is complete.
func Killed(t testing.TB, operation string, after int, args ...string) bool {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), operationVariable+"="+operation, killVariable+"="+strconv.Itoa(after))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status, ok := exit.Sys().(syscall.WaitStatus)
		if ok && status.Signal() == syscall.SIGKILL {
			return true
		}
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", operation, err, out)
	}
	return false
}
