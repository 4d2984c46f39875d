package render

import (
	"fmt"
	"os"
	"testing"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"
)

// openLine opens a pseudo terminal, and returns its name.
func openLine(t *testing.T) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
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
		f, err := line()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		now := func() *unix.Termios {
			s, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if before {
			s := now()
			s.Lflag |= unix.NOFLSH
			if err := unix.IoctlSetTermios(int(f.Fd()), setTermios, s); err != nil {
				t.Fatal(err)
			}
		}
		was := *now()
		inner := &lineTty{keeps: func() bool { return now().Lflag&unix.NOFLSH != 0 }}
		k := &noFlush{Tty: inner, line: line}
		for range 2 { // suspended, and resumed
			inner.start, inner.stop = false, false
			if err := k.Start(); err != nil {
				t.Fatal(err)
			}
			if err := k.Stop(); err != nil {
				t.Fatal(err)
			}
			if !inner.start || !inner.stop || *now() != was {
				t.Errorf("kept at the start %v, at the end %v; the terminal is as before: %v", inner.start, inner.stop,
					*now() == was)
			}
		}
	}
}
