package terminal

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
