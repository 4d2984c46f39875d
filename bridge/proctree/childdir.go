package proctree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

// CheckDir fails if the directory that a command is to run in is gone: the error of a start would name the
// program as missing. Errors wrap fs.ErrNotExist.
func CheckDir(cmd *exec.Cmd) error {
	if cmd.Dir == "" {
		return nil
	}
	if _, err := os.Stat(cmd.Dir); errors.Is(err, fs.ErrNotExist) {
		return goneError(cmd.Dir)
	}
	return nil
}

type goneError string

func (e goneError) Error() string {
	return fmt.Sprintf("the directory %s does not exist any more: put it back, and try again", string(e))
}

func (goneError) Unwrap() error { return fs.ErrNotExist }
