//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package render

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA

// discardInput discards what was received and not read.
func discardInput(fd int) {
	const read = 1 // FREAD
	_ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, read)
}
