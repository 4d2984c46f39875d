package evidence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// waitTimeout is how long a test waits before it fails.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	if sandbox.IsScratch(os.Args) {
		fmt.Fprintln(os.Stderr, sandbox.RunScratch(os.Args))
		os.Exit(1)
	}
	release, err := proctree.BecomeSubreaper()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	release()
	os.Exit(code)
}

// bench is a collector with a run and a directory of its own.
type bench struct {
	*Collector
	t   testing.TB
	run string
	cwd string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{Collector: New(), t: t, run: fmt.Sprintf("evidence-%d-%s", os.Getpid(), filepath.Base(t.Name())),
		cwd: t.TempDir()}
	t.Cleanup(func() { proctree.Sweep(b.run, "") })
	return b
}

// check runs a command that must be able to run, and checks that none of its processes is left.
func (b *bench) check(p bridge.CheckParams) bridge.CheckResult {
	b.t.Helper()
	if p.CWD == "" {
		p.CWD = b.cwd
	}
	r, err := b.Check(b.t.Context(), bridge.Owner{Run: b.run}, p)
	testkit.Need(b.t, err == nil, "%s: %v", p.Command, err)
	b.checkNoProcesses()
	return r
}

func (b *bench) checkNoProcesses() {
	b.t.Helper()
	testkit.Empty(b.t, "left", proctree.Survivors(b.run))
}

// limited runs a check that reaches its time limit. If the limit comes before the command has begun what the test is
// about, as on a busy machine, it runs it again with a longer one.
func limited(c bridge.CheckParams, check func(bridge.CheckParams) bridge.CheckResult,
	begun func(bridge.CheckResult) bool) bridge.CheckResult {
	for c.TimeoutMS = 200; ; c.TimeoutMS *= 4 {
		if r := check(c); begun(r) || c.TimeoutMS > int(waitTimeout.Milliseconds()) {
			return r
		}
	}
}

// up waits for a file that a command creates when it is ready for the test.
func (b *bench) up(name string) {
	b.t.Helper()
	testkit.Await(b.t, name, func() bool { return b.there(name) })
}

// start runs a check in the background.
func (b *bench) start(ctx context.Context, p bridge.CheckParams) <-chan error {
	over := make(chan error, 1)
	p.CWD = b.cwd
	go func() {
		_, err := b.Check(ctx, bridge.Owner{Run: b.run}, p)
		over <- err
	}()
	return over
}

func (b *bench) ended(over <-chan error) error {
	b.t.Helper()
	return testkit.Receive(b.t, "the end of the check", over)
}

// gone checks that the process whose pid is in the file does not live any more.
func (b *bench) gone(name string) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.cwd, name))
	if err != nil {
		b.t.Errorf("it never stood: %v", err)
		return
	}
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
	testkit.Check(b.t, err != nil || strings.Contains(string(stat), ") Z "), "%s lives: %s", name, stat)
}

func (b *bench) there(name string) bool {
	_, err := os.Stat(filepath.Join(b.cwd, name))
	return err == nil
}

func (b *bench) touch(name string) {
	b.t.Helper()
	testkit.OK(b.t, os.WriteFile(filepath.Join(b.cwd, name), nil, 0o644))
}
