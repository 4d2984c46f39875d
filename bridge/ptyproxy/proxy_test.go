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
	defer func(before time.Duration) { grace = before }(grace)
	grace = 50 * time.Millisecond
	done := make(chan error)
	go func() {
		_, err := Run(ctx, cmd, slave)
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

func TestKeyIsFound(t *testing.T) {
	for typed, want := range map[string]string{ // the part that the child receives
		"\x1d":                         "",
		"abc\x1ddef":                   "abc",
		"\x1b\x1d":                     "",
		"\x1b[93;5u":                   "",
		"x\x1b[93;5uy":                 "x",
		"\x1b[93;5:1u":                 "",
		"\x1b[93:125;5:2;29u":          "",
		"\x1b[93;197u":                 "",
		"\x1b[27;5;93~":                "",
		"\x1b[A\x1b[27;5;93~":          "\x1b[A",
		"\x1b[200~a\x1db\x1b[201~\x1d": "\x1b[200~a\x1db\x1b[201~",
	} {
		k := keyWatch{letter: ']'}
		got, pressed := k.look([]byte(typed))
		testkit.Check(t, pressed && string(got) == want, "%q: %q is the child's, pressed %v, want %q", typed, got,
			pressed, want)
		// Byte by byte the key is found as well; the beginning of its sequence has already been passed on.
		k = keyWatch{letter: ']'}
		var passed strings.Builder
		for i := range len(typed) {
			part, found := k.look([]byte(typed[i : i+1]))
			passed.Write(part)
			if found {
				break
			}
			testkit.Check(t, i != len(typed)-1, "%q byte by byte is not found", typed)
		}
		testkit.Check(t, strings.HasPrefix(typed, passed.String()),
			"%q byte by byte: %q is the child's", typed, passed.String())
	}
}

func TestOtherKeysAreTheChilds(t *testing.T) {
	for _, typed := range []string{
		"", "]", "text ]", "\x1b", "\x1b]", "\x1b[", "\x1b[A", "\x1bOP", "\x1b[93u", "\x1b[93;3u", "\x1b[93;5:3u",
		"\x1b[93;6u", "\x1b[92;5u", "\x1b[27;5;92~", "\x1b[27;5~", "\x1b[5;93~", "\x1b[<0;93;5M",
		"\x1b[200~\x1b[93;5u \x1d\x1b[201~", "\x1b[?1;2c", "\x1b[;u", "\x1b[" + strings.Repeat("9", 100) + "u",
		"\x1b[x;5u", "世界\x9d",
	} {
		k := keyWatch{letter: ']'}
		got, pressed := k.look([]byte(typed))
		testkit.Check(t, !pressed && string(got) == typed, "%q: %q is the child's, pressed %v", typed, got, pressed)
	}
}

func FuzzKey(f *testing.F) {
	f.Add("a\x1b[93;5u", 2)
	f.Add("\x1b[200~\x1d", 1)
	f.Fuzz(func(t *testing.T, typed string, cut int) {
		k := keyWatch{letter: ']'}
		rest, passed := typed, ""
		for rest != "" {
			n := min(max(cut, 1), len(rest))
			part, pressed := k.look([]byte(rest[:n]))
			passed += string(part)
			if pressed {
				return
			}
			if string(part) != rest[:n] {
				t.Fatalf("%q became %q", rest[:n], part)
			}
			rest = rest[n:]
		}
		testkit.Check(t, passed == typed && len(k.seq) <= longestSeq, "%q passes as %q", typed, passed)
	})
}

func TestTerminalModesAreUndone(t *testing.T) {
	for sent, want := range map[string]string{
		"":                     "",
		"text":                 "\x1b[m",
		"\x1b[?1049h\x1b[?25l": "\x1b[m\x1b[?1049l\x1b[?25h",
		"\x1b[?1049h\x1b[?25l\x1b[?25h\x1b[?1049l": "\x1b[m",
		"\x1b[?1000;1006h":                         "\x1b[m\x1b[?1006l\x1b[?1000l",
		"\x1b[?7l":                                 "\x1b[m\x1b[?7h",
		"\x1b[>1u\x1b[>5u\x1b[<u":                  "\x1b[<1u\x1b[m",
		"\x1b[>1u\x1b[<9u":                         "\x1b[m",
		"\x1b[=5;1u":                               "\x1b[=0u\x1b[m",
		"\x1b[>4;2m":                               "\x1b[>4;0m\x1b[m",
		"\x1b[>4;2m\x1b[>4m":                       "\x1b[m",
		"\x1b=":                                    "\x1b>\x1b[m",
		"\x1b=\x1b>":                               "\x1b[m",
		"\x1b[5 q":                                 "\x1b[0 q\x1b[m",
		"\x1b[5 q\x1b[ q":                          "\x1b[m",
		"\x1b[?1049h\x1bc":                         "\x1b[m",
		"\x1b]2;half a title":                      "\x18\x1b\\\x1b[m",
		"\x1b]2;title\x07\x1b]8;;\x1b\\":           "\x1b[m",
		"\x1b]2;\x1b[?1049h\x07":                   "\x1b[m", // text of a title
		"\x1bP+q\x1b[?1049h\x1b\\":                 "\x1b[m",
		"\x1b[?10":                                 "\x18\x1b\\\x1b[m",
		"\x1b(B\x1b[?2004h":                        "\x1b[m\x1b[?2004l",
		"\x1b[38;2;1;2;3m\x1b[4m\x1b[u\x1b[6n":     "\x1b[m",
		"\x1b[" + strings.Repeat("1;", 200) + "m\x1b[?5h": "\x1b[m\x1b[?5l",
	} {
		var whole modes
		whole.look([]byte(sent))
		testkit.Same(t, fmt.Sprintf("%q is undone by", sent), want, whole.undo())
	}
}

// FuzzTerminalModesUndone: how the bytes are split makes no difference, and undoing twice changes nothing more.
func FuzzTerminalModesUndone(f *testing.F) {
	f.Add("\x1b[?1049h\x1b[?25l\x1b[>1u\x1b=\x1b[5 qtext\x1b]2;t", 3)
	f.Add("\x1b\x1b[[\x1b]\x1b\x18\x1b[?7l", 1)
	f.Fuzz(func(t *testing.T, sent string, cut int) {
		var whole, parts, again modes
		whole.look([]byte(sent))
		for rest := sent; rest != ""; {
			n := min(max(cut, 1), len(rest))
			parts.look([]byte(rest[:n]))
			rest = rest[n:]
		}
		undo := whole.undo()
		got := parts.undo()
		testkit.Check(t, got == undo, "%q in parts of %d is undone by %q, whole by %q", sent, cut, got, undo)
		again.look([]byte(sent + undo))
		got = again.undo()
		testkit.Check(t, got == "" || got == "\x1b[m", "%q and %q leave %q", sent, undo, got)
	})
}
