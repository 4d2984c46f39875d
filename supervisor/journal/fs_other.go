//go:build !linux && !darwin

package journal

import "errors"

var errLocked = errors.New("locked")

func openRoot(path string) (directory, error) {
	return nil, fsError("open", path, errors.ErrUnsupported)
}

func alive(int) bool { return false }

func segmentSpent(error) bool { return false }
