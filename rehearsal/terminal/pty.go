package terminal

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/ptypair"
)

// Line holds the terminal settings (termios). Two values are equal if no setting differs.
type Line struct{ settings unix.Termios }

func line(file *os.File) (Line, error) {
	var l Line
	err := ptypair.Control(file, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		if err == nil {
			l.settings = *t
		}
		return err
	})
	if err != nil {
		return Line{}, fmt.Errorf("read line settings: %w", err)
	}
	return l, nil
}

func (l Line) String() string {
	t := l.settings
	return fmt.Sprintf("iflag %#x oflag %#x cflag %#x lflag %#x cc %v", t.Iflag, t.Oflag, t.Cflag, t.Lflag, t.Cc)
}
