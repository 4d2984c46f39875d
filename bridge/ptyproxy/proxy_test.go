package ptyproxy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

var (
	size = terminal.Size{Columns: 80, Rows: 24}
	// small is for floods: the emulator's cost to scroll a line grows with the number of cells.
	small = terminal.Size{Columns: 24, Rows: 4}
)

// waitTimeout ends a test that hangs. No test measures it.
const waitTimeout = 2 * time.Minute

// tenancy is a terminal in which a proxy runs a program.
type tenancy struct {
	*terminal.Terminal
	t      *testing.T
	ctx    context.Context
	result string // file to which the proxy writes its result
}

// proxyTo starts a proxy whose program plays a part.
func proxyTo(t *testing.T, part string, env ...string) *tenancy {
	t.Helper()
	return proxyIn(t, size, part, env...)
}

// proxyIn is proxyTo in a terminal of that size.
func proxyIn(t *testing.T, size terminal.Size, part string, env ...string) *tenancy {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	t.Cleanup(cancel)
	l := &tenancy{t: t, ctx: ctx, result: filepath.Join(t.TempDir(), "result")}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0", roleEnv + "=proxy",
		partEnv + "=" + part, resultEnv + "=" + l.result}, env...)
	term := testkit.Must(terminal.Start(cmd, size))(t)
	t.Cleanup(term.Close)
	l.Terminal = term
	return l
}

func (l *tenancy) await(texts ...string) terminal.Screen {
	l.t.Helper()
	s := testkit.Must(l.Wait(l.ctx, terminal.Shows(texts...)))(l.t)
	return s
}

// end waits for the proxy's result, and checks that the terminal is as it was.
func (l *tenancy) end(want string) {
	l.t.Helper()
	s := l.await("proxy: ")
	line := testkit.Must(l.Line())(l.t)
	testkit.Check(l.t, line == l.Before(), "the terminal has\n%v\nand had\n%v", line, l.Before())
	left := s.Leftovers()
	testkit.Check(l.t, left == nil, "left behind: %q", left)
	// Input now goes to the proxy.
	l.Type("over\n")
	l.await("proxy was told over")
	testkit.Must(l.Exit(l.ctx))(l.t)
	testkit.Same(l.t, "the proxy reports", want, l.report())
}

func (l *tenancy) report() string {
	text := testkit.Must(os.ReadFile(l.result))(l.t)
	return string(text)
}

func TestLine(t *testing.T) {
	l := proxyTo(t, "line")
	l.await("size 80x24", "name?")
	l.Type("Pythia\n")
	l.await("hail Pythia")
	l.end("exit 7 <nil>")
}

// TestKeysAreTheChilds: keys that interrupt, stop or end a program are passed on like any other byte.
func TestKeysAreTheChilds(t *testing.T) {
	l := proxyTo(t, "raw")
	l.await("ready")
	for key, want := range map[string]string{"Ctrl+C": "03", "Ctrl+Z": "1a", "Ctrl+\\": "1c", "Ctrl+D": "04",
		"Ctrl+S": "13", "é": "c3a9", "Up": "1b5b41"} {
		testkit.OK(t, l.Press(key))
		l.await("got " + want)
	}
	l.Type("q")
	l.end("exit 0 <nil>")
}

func TestSizeFollows(t *testing.T) {
	l := proxyTo(t, "sizes")
	l.await("size 80x24")
	for _, s := range []terminal.Size{{Columns: 100, Rows: 30}, {Columns: 20, Rows: 5}, {Columns: 300, Rows: 90}} {
		testkit.OK(t, l.Resize(s))
		l.await(fmt.Sprintf("size %dx%d", s.Columns, s.Rows))
	}
	l.Type("q\n")
	l.end("exit 0 <nil>")
}

// TestTakenBack: the user gets the terminal back from a program that hangs, in every encoding that a
// terminal uses for the key, and the modes that the program left on are off.
func TestTakenBack(t *testing.T) {
	for name, key := range map[string]string{
		"control character":  "\x1d",
		"extended keyboard":  "\x1b[93;5u",
		"with caps lock":     "\x1b[93;69u",
		"modifyOtherKeys":    "\x1b[27;5;93~",
		"after an escape":    "\x1b\x1d",
		"in a paste, alone":  "",
		"behind other bytes": "abc\x1d",
	} {
		t.Run(name, func(t *testing.T) {
			l := proxyTo(t, "hang", graceEnv+"=50ms")
			s := l.await("I stay")
			testkit.Need(t, s.Alt() && s.Mouse() && !s.Cursor.Visible && s.Keyboard != 0,
				"the borrower's modes did not arrive: %+v", s.Modes)
			if key == "" {
				l.Send("\x1b[200~text")
				l.await("heard 10")
				key = "\x1d"
			}
			l.Send(key)
			l.end("exit 137 " + ErrDetached.Error())
		})
	}
}

func TestAnotherKeyTakesBack(t *testing.T) {
	l := proxyTo(t, "raw", keyEnv+"=^")
	l.await("ready")
	l.Send("\x1d")
	l.await("got 1d")
	l.Send("\x1e")
	l.end("exit 129 " + ErrDetached.Error())
}

// TestEndsInOrder: the first signal is SIGHUP, as from a terminal that hangs up.
func TestEndsInOrder(t *testing.T) {
	l := proxyTo(t, "farewell")
	l.await("ready")
	l.Send("\x1d")
	l.await("farewell")
	l.end("exit 3 " + ErrDetached.Error())
}

func TestEndsWithItsContext(t *testing.T) {
	l := proxyTo(t, "raw", timeoutEnv+"=300ms")
	l.end("exit 129 context deadline exceeded")
}

// TestAllOutputArrives: also the output directly before the end.
func TestAllOutputArrives(t *testing.T) {
	l := proxyIn(t, small, "flood")
	l.end("exit 0 <nil>")
	out := string(l.Output())
	for i := range floodLines {
		line := fmt.Sprintf("line %06d.", i)
		at := strings.Index(out, line)
		testkit.Need(t, at >= 0, "%s is missing", line)
		out = out[at+len(line):]
	}
}

// TestLargePaste: a program that reads slowly still gets all of a large paste.
func TestLargePaste(t *testing.T) {
	l := proxyTo(t, "count")
	l.await("ready")
	l.Send(strings.Repeat("x", 3<<20) + "q")
	l.await(fmt.Sprintf("read %d", 3<<20+1))
	l.end("exit 0 <nil>")
}

// TestTakenBackFromUnresponsiveProgram: earlier input that was never read does not keep the key from being recognized.
func TestTakenBackFromUnresponsiveProgram(t *testing.T) {
	l := proxyTo(t, "deaf", graceEnv+"=50ms")
	l.await("ready")
	l.Send(strings.Repeat("x", 500<<10) + "\x1d")
	l.end("exit 137 " + ErrDetached.Error())
}

func TestTerminalVanishes(t *testing.T) {
	l := proxyTo(t, "hang", graceEnv+"=50ms", "ARBITER_TEST_DEAF=1")
	l.await("I stay")
	l.HangUp()
	testkit.Must(l.Exit(l.ctx))(t)
	testkit.Includes(t, fmt.Sprintf("the proxy reports, want %q", ErrGone), l.report(), ErrGone.Error())
}

// TestOneLeftBehind: a process that the program leaves behind keeps its terminal open, but not the user's.
func TestOneLeftBehind(t *testing.T) {
	l := proxyTo(t, "leave")
	l.await("gone")
	l.end("exit 0 <nil>")
}

// TestStalledTerminal: a terminal that accepts no output does not keep the proxy from ending.
func TestStalledTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	testkit.OK(t, err)
	defer master.Close()
	defer slave.Close()
	before := testkit.Must(unix.IoctlGetTermios(int(slave.Fd()), getTermios))(t)
	fd, err := reopen(int(slave.Fd()))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("a terminal cannot be opened again here")
	} else if err != nil {
		t.Fatal(err)
	}
	for err == nil { // until it is full
		_, err = unix.Write(fd, []byte("full "))
	}
	unix.Close(fd)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	started := filepath.Join(t.TempDir(), "started")
	testkit.OK(t, unix.Mkfifo(started, 0o600))
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{roleEnv + "=borrower", partEnv + "=endless", resultEnv + "=" + started}
	done := make(chan error)
	go func() {
		_, err := Proxy{Grace: 50 * time.Millisecond}.Run(ctx, cmd, slave)
		done <- err
	}()
	testkit.OK(t, testkit.Err(os.ReadFile(started))) // it sends now
	cancel(why)
	testkit.Fails(t, "it ended", testkit.Receive(t, "the end of the proxy", done), why)
	after := testkit.Must(unix.IoctlGetTermios(int(slave.Fd()), getTermios))(t)
	testkit.Check(t, *after == *before, "the terminal has %+v and had %+v", after, before)
}

func TestRefusals(t *testing.T) {
	file := testkit.Must(os.Create(filepath.Join(t.TempDir(), "file")))(t)
	defer file.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{}
	testkit.Fails(t, "a file was lent", testkit.Err(Run(t.Context(), cmd, file)), unix.ENOTTY)
	master, slave, err := pty.Open()
	testkit.OK(t, err)
	defer master.Close()
	defer slave.Close()
	before, _ := unix.IoctlGetTermios(int(slave.Fd()), getTermios)
	for name, cmd := range map[string]*exec.Cmd{
		"no program":     {Path: "/nowhere/claude", Env: []string{}},
		"no environment": {Path: os.Args[0]},
	} {
		exit, err := Run(t.Context(), cmd, slave)
		testkit.Check(t, err != nil && exit == -1, "%s: %d, %v", name, exit, err)
	}
	after, _ := unix.IoctlGetTermios(int(slave.Fd()), getTermios)
	testkit.Check(t, *after == *before, "the terminal was changed")
}
