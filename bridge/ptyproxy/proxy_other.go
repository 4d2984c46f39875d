//go:build !linux && !darwin

package ptyproxy

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// Run says that it cannot be done here.
func Run(context.Context, *exec.Cmd, *os.File) (int, error) {
	return -1, errors.ErrUnsupported
}

// Run says that it cannot be done here.
func (Proxy) Run(context.Context, *exec.Cmd, *os.File) (int, error) {
	return -1, errors.ErrUnsupported
}

// Join says that it cannot be done here.
func (Proxy) Join(context.Context, *os.File, Remote) error { return errors.ErrUnsupported }

// Size says that it cannot be done here.
func Size(*os.File) (cols, rows int, err error) { return 0, 0, errors.ErrUnsupported }
