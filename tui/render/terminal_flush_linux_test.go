package render

import (
	"fmt"
	"os"
	"testing"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// openLine opens a pseudo terminal, and returns its name.
func openLine(t *testing.T) string {
	t.Helper()
	master := testkit.Must(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { master.Close() })
	testkit.OK(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := testkit.Must(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))(t)
	return fmt.Sprintf("/dev/pts/%d", n)
}

// lineTty reports whether the terminal may discard output when it is started and stopped.
type lineTty struct {
	tcell.Tty
	keeps       func() bool
	start, stop bool
}

func (l *lineTty) Start() error { l.start = l.keeps(); return nil }
func (l *lineTty) Stop() error  { l.stop = l.keeps(); return nil }

// TestNothingIsThrownAway: from before the settings are read until after they are restored, no key discards
// output; afterwards the terminal is as it was.
func TestNothingIsThrownAway(t *testing.T) {
	for _, before := range []bool{false, true} {
		name := openLine(t)
		line := func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0) }
		f := testkit.Must(line())(t)
		defer f.Close()
		now := func() *unix.Termios {
			s := testkit.Must(unix.IoctlGetTermios(int(f.Fd()), getTermios))(t)
			return s
		}
		if before {
			s := now()
			s.Lflag |= unix.NOFLSH
			testkit.OK(t, unix.IoctlSetTermios(int(f.Fd()), setTermios, s))
		}
		was := *now()
		inner := &lineTty{keeps: func() bool { return now().Lflag&unix.NOFLSH != 0 }}
		k := &noFlush{Tty: inner, line: line}
		for range 2 { // suspended, and resumed
			inner.start, inner.stop = false, false
			testkit.OK(t, k.Start())
			testkit.OK(t, k.Stop())
			testkit.Check(t, inner.start && inner.stop && *now() == was,
				"kept at the start %v, at the end %v; the terminal is as before: %v", inner.start, inner.stop,
				*now() == was)
		}
	}
}
