package render

import (
	"os"
	"time"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"
)

// readBy is how long a terminal has to read the last output.
const readBy = 50 * time.Millisecond

// noFlush protects the last output to the terminal when it is left. Once the shell's settings are restored,
// a Ctrl+C (often typed twice) makes the kernel discard all output that was not read yet, including the
// sequences that switch off the alternate screen and the mouse (seen on Linux 6.18, on a pseudo terminal).
// It is not possible to find out whether unread output is left, so for a moment nothing may be discarded.
type noFlush struct {
	tcell.Tty
	line func() (*os.File, error) // the terminal; the caller closes it
	was  *unix.Termios            // its original settings, while they are changed

	// answers reports whether the terminal may still answer what it was asked. The answer would be typed into the shell;
	// what has arrived by the end is then discarded. nil: it was asked nothing.
	answers func() bool
}

// Start implements tcell.Tty. The library restores the settings that it finds now.
func (k *noFlush) Start() error {
	k.set(func(now *unix.Termios) {
		was := *now
		k.was = &was
		now.Lflag |= unix.NOFLSH
	})
	return k.Tty.Start()
}

// Stop implements tcell.Tty.
func (k *noFlush) Stop() error {
	err := k.Tty.Stop()
	if k.was == nil || k.was.Lflag&unix.NOFLSH != 0 {
		return err
	}
	time.Sleep(readBy)
	if k.answers != nil && k.answers() {
		k.on(discardInput)
	}
	k.set(func(now *unix.Termios) { now.Lflag &^= unix.NOFLSH })
	k.was = nil
	return err
}

// set changes the settings. If they cannot be read, nothing is changed: the terminal is then left without
// this protection, as by other programs.
func (k *noFlush) set(change func(*unix.Termios)) {
	k.on(func(fd int) {
		now, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return
		}
		change(now)
		_ = unix.IoctlSetTermios(fd, setTermios, now)
	})
}

func (k *noFlush) on(do func(fd int)) {
	f, err := k.line()
	if err != nil {
		return
	}
	defer f.Close()
	do(int(f.Fd()))
}
