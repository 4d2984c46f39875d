package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Env is what a command reads and writes.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Error ends the program with a code. An empty text says nothing more: it
// was said already.
type Error struct {
	Code  contract.Exit
	Text  string
	Cause error // for callers that act on it; may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// Usagef is the error of a wrong invocation: exit code 2.
func Usagef(format string, args ...any) *Error {
	return &Error{Code: contract.ExitUsage, Text: fmt.Sprintf(format, args...)}
}

// Unclassified is the error for what a command returned as it was: a file that could not be read or written (exit code
// 5), or what urfave/cli refuses, which is how the program was called (exit code 2).
func Unclassified(err error) *Error {
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return Environmentf("%v", err)
	}
	return Usagef("%v", err)
}

// StateDirProblem is the error of a state directory that cannot be used.
func StateDirProblem(err error) *Error {
	return Environmentf("the state directory cannot be used: %v; name another with --state-dir", err)
}

// Environmentf is the error of what is wrong around the program: exit code 5.
func Environmentf(format string, args ...any) *Error {
	return &Error{Code: contract.ExitEnvironment, Text: fmt.Sprintf(format, args...)}
}
