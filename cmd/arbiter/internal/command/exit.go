package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Env has the standard streams of a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Error ends the program with an exit code. With an empty text nothing is printed, because the error was reported
// already.
type Error struct {
	Code  contract.Exit
	Text  string
	Cause error // for callers that act on it; may be nil
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Cause }

// Usagef returns the error for a wrong invocation: exit code 2.
func Usagef(format string, args ...any) *Error {
	return &Error{Code: contract.ExitUsage, Text: fmt.Sprintf(format, args...)}
}

// Unclassified converts an error without an exit code: a file that could not be read or written gets code 5,
// anything else, such as a rejection by urfave/cli, is a wrong invocation (exit code 2).
func Unclassified(err error) *Error {
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return Environmentf("%v", err)
	}
	return Usagef("%v", err)
}

// StateDirProblem returns the error for a state directory that cannot be used.
func StateDirProblem(err error) *Error {
	return Environmentf("the state directory cannot be used: %v; name another with --state-dir", err)
}

// Environmentf returns the error for a problem in the program's environment: exit code 5.
func Environmentf(format string, args ...any) *Error {
	return &Error{Code: contract.ExitEnvironment, Text: fmt.Sprintf(format, args...)}
}
