package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var small = Size{Columns: 40, Rows: 6}

// makeRaw changes the line settings and does not restore them.
func makeRaw() {
	if _, err := term.MakeRaw(0); err != nil {
		panic(err)
	}
}

// show makes the program print a text, and waits until a mark after it is visible.
func show(t *testing.T, ctx context.Context, term *Terminal, text string) Screen {
	t.Helper()
	term.Type(fmt.Sprintf("%q\n", text+"\x1b]2;shown\a"))
	s := testkit.Must(term.Wait(ctx, func(s Screen) bool { return s.Title == "shown" }))(t)
	return s
}

// TestWaitAfterProgramEnded: a wait for something that can no longer happen fails at once, and reports the last
// screen.
func TestWaitAfterProgramEnded(t *testing.T) {
	term, ctx := start(t, small, "environment")
	_, err := term.Wait(ctx, Shows("never"))
	testkit.Check(t, errors.Is(err, ErrEnded) && strings.Contains(err.Error(), "xterm-256color"),
		"the wait ended with %v", err)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	term, ctx := start(t, small, "deaf")
	testkit.Must(term.Wait(ctx, Shows("ready")))(t)
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	_, err := term.Wait(short, Shows("never"))
	testkit.Check(t, errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "ready"),
		"the wait ended with %v", err)
	testkit.Fails(t, "the wait for its end ended with", testkit.Err(term.Exit(short)), context.DeadlineExceeded)
}

// TestIncompleteFrameIsNotSeen: between the beginning and the end of a synchronised update Wait sees no screen.
func TestIncompleteFrameIsNotSeen(t *testing.T) {
	term, ctx := start(t, small, "show")
	testkit.Must(term.Wait(ctx, Shows("ready")))(t)
	show(t, ctx, term, "\x1b[2J\x1b[H")
	term.Type(fmt.Sprintf("%q\n%q\n", "\x1b[?2026h\x1b[2J\x1b[Hnew", "\x1b[2J\x1b[Hnew, all\x1b[?2026l"))
	s := testkit.Must(term.Wait(ctx, func(s Screen) bool { return strings.HasPrefix(s.Row(0), "new") }))(t)
	testkit.Check(t, s.Row(0) == "new, all", "half a frame was seen: %q", s.Rows())
}

// TestClustersAreNotSplit: a character that arrives in two pieces is still one character.
func TestClustersAreNotSplit(t *testing.T) {
	term, ctx := start(t, small, "pieces")
	s := testkit.Must(term.Wait(ctx, Shows("end")))(t)
	testkit.Same(t, "row", "👩\u200d👧|世|end", s.Row(0))
	if x, _, _ := s.Find("end"); x != 6 || s.Cells[0][1].Width != 0 || s.Cells[0][0].Width != 2 {
		t.Errorf("the end is at column %d: %+v", x, s.Cells[0][:7])
	}
}

// TestOneLeftBehind: a process that still holds the terminal does not delay a wait for the program's end.
func TestOneLeftBehind(t *testing.T) {
	term, ctx := start(t, small, "leave")
	testkit.Must(term.Exit(ctx))(t)
	testkit.Same(t, "the screen has", "left", term.Screen().Text())
}

// TestUnrestored: settings that a program does not restore are visible.
func TestUnrestored(t *testing.T) {
	term, ctx := start(t, small, "raw")
	testkit.Must(term.Exit(ctx))(t)
	now := testkit.Must(term.Line())(t)
	testkit.Check(t, now != term.Before(), "a raw terminal passes for %v", now)
}

func TestRefusals(t *testing.T) {
	testkit.Fails(t, "nothing was started", testkit.Err(Start(exec.Command("/nowhere"), small)), os.ErrNotExist)
	term, _ := start(t, small, "show")
	for _, name := range []string{"", "Hyper+x", "Entr", "Ctrl+"} {
		err := term.Press(name)
		testkit.Check(t, err != nil, "%q is a key", name)
	}
	term.Close()
	term.Close()
}

// TestInputDependsOnModes: a paste has brackets only if the program requested them.
func TestInputDependsOnModes(t *testing.T) {
	term, ctx := start(t, Size{Columns: 60, Rows: 10}, "show")
	testkit.Must(term.Wait(ctx, Shows("ready")))(t)
	show(t, ctx, term, "\x1b[?2004h")
	term.Paste("two\nlines")
	// The line discipline echoes ESC as ^[.
	s := testkit.Must(term.Wait(ctx, Shows("^[[201~")))(t)
	text := strings.ReplaceAll(s.Text(), "\n", "")
	testkit.Check(t, strings.Contains(text, "^[[200~two"), "the program received\n%s", s.Text())
}

// playEnv selects what the test binary does when it is started again.
const playEnv = "ARBITER_TEST_PLAY"

func TestMain(m *testing.M) {
	if part := os.Getenv(playEnv); part != "" {
		os.Exit(play(part))
	}
	goleak.VerifyTestMain(m)
}

// start runs the test binary with that part in a terminal.
func start(t *testing.T, size Size, part string) (*Terminal, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{playEnv + "=" + part, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
	if part == "pieces" { // the second piece may be late on a busy machine
		clusterWait = time.Hour
		t.Cleanup(func() { clusterWait = 20 * time.Millisecond })
	}
	term := testkit.Must(Start(cmd, size))(t)
	t.Cleanup(term.Close)
	return term, ctx
}

func play(part string) int {
	stdin := bufio.NewReader(os.Stdin)
	line := func() string {
		s, err := stdin.ReadString('\n')
		if err != nil {
			os.Exit(9)
		}
		return strings.TrimSpace(s)
	}
	switch part {
	case "show": // prints its text, Go's escapes understood, until "end"
		fmt.Print("ready\r\n")
		for {
			var text string
			in := line()
			if in == "end" {
				return 4
			}
			if _, err := fmt.Sscanf(in, "%q", &text); err != nil {
				return 8
			}
			fmt.Print(text)
		}
	case "pieces": // a cluster in two writes
		fmt.Print("👩")
		fmt.Print("\u200d👧|世")
		fmt.Print("|end")
	case "environment":
		fmt.Print(os.Getenv("TERM"))
	case "raw":
		makeRaw()
	case "deaf":
		fmt.Print("ready")
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		signal.Ignore(syscall.SIGHUP, syscall.SIGTERM)
		<-never
	case "leave":
		cmd := exec.Command("sleep", "2")
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // otherwise the kernel's SIGHUP ends it
		if err := cmd.Start(); err != nil {
			return 8
		}
		fmt.Print("left")
	}
	return 0
}
