//go:build unix

package transcript

import (
	"errors"
	"syscall"
)

// openFlags: a FIFO without a writer must not hang the open, and the last
// element of the path must be the file itself.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func isLink(err error) bool { return errors.Is(err, syscall.ELOOP) }
