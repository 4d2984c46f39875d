//go:build !linux && !darwin

package ptyproxy

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// Run is not supported here.
func Run(context.Context, *exec.Cmd, *os.File) (int, error) {
	return -1, errors.ErrUnsupported
}

// Run is not supported here.
func (Proxy) Run(context.Context, *exec.Cmd, *os.File) (int, error) {
	return -1, errors.ErrUnsupported
}

// Join is not supported here.
func (Proxy) Join(context.Context, *os.File, Remote) error { return errors.ErrUnsupported }

// Size is not supported here.
func Size(*os.File) (cols, rows int, err error) { return 0, 0, errors.ErrUnsupported }
