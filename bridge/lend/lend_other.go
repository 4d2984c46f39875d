//go:build !linux && !darwin

package lend

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
func (Loan) Run(context.Context, *exec.Cmd, *os.File) (int, error) {
	return -1, errors.ErrUnsupported
}
