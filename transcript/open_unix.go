//go:build unix

package transcript

import (
	"errors"
	"syscall"
)

// openFlags: opening a FIFO without a writer must not block, and the last element of the path must not be a
// link.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func isLink(err error) bool { return errors.Is(err, syscall.ELOOP) }
