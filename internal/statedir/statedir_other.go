//go:build !unix

package statedir

import (
	"errors"
	"io/fs"
	"os"
)

const nonblock = 0

// owned returns false, because it cannot be determined here: every directory is refused, and nothing is
// kept.
func owned(fs.FileInfo) bool { return false }

func names(fs.FileInfo) int { return 0 }

func tryLock(*os.File) error { return errors.ErrUnsupported }

var errHeld = errors.New("another process holds it")
