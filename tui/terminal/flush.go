package terminal

import (
	"os"
	"time"

	"github.com/gdamore/tcell/v2"
	"golang.org/x/sys/unix"
)

// readBy is how long a terminal gets to read what it was sent last.
const readBy = 50 * time.Millisecond

// noFlush keeps what the terminal is sent last, when it is left. Once its settings are
// the shell's again, a Ctrl+C – a second one, typed in impatience – has the kernel throw
// away all output that was not read yet, and with it what switches the alternate screen
// and the mouse off (seen on Linux 6.18, on a pseudo terminal). Nobody can ask it whether
// something is left; so for a moment nothing may be thrown away.
type noFlush struct {
	tcell.Tty
	line func() (*os.File, error) // the terminal, to be closed
	was  *unix.Termios            // its settings before, while they are others
}

func keep(tty tcell.Tty) *noFlush {
	return &noFlush{Tty: tty, line: func() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }}
}

// Start implements tcell.Tty. The library takes the settings that it finds for those to
// go back to.
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
	k.set(func(now *unix.Termios) { now.Lflag &^= unix.NOFLSH })
	k.was = nil
	return err
}

// set changes the settings. A terminal that cannot be asked stays as it is: it is left
// as any program leaves it.
func (k *noFlush) set(change func(*unix.Termios)) {
	f, err := k.line()
	if err != nil {
		return
	}
	defer f.Close()
	now, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		return
	}
	change(now)
	_ = unix.IoctlSetTermios(int(f.Fd()), setTermios, now)
}
