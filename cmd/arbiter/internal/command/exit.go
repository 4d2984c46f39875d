package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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

// LikeCommand reports whether the first of several arguments looks like a misspelled command rather than like a
// file.
func LikeCommand(c *cli.Context) bool {
	word := c.Args().First()
	_, err := os.Stat(word)
	return err != nil && !strings.ContainsAny(word, "./") && !strings.HasPrefix(word, "-")
}

// NoSuchWord returns an error for a first argument that is not a file: it was probably meant as a command, a flag, or
// a task.
func NoSuchWord(c *cli.Context, word string) error {
	hint := Meant(word, names(c.App.Commands))
	if slices.ContainsFunc(c.App.Flags, func(f cli.Flag) bool { return f.Names()[0] == word }) {
		hint = "did you mean --" + word + "?"
	}
	if hint != "" {
		return Usagef("%q is neither a command nor a requirements file; %s", word, hint)
	}
	return Usagef("%q is neither a command nor a requirements file: give a task with --task", word)
}

// NoSuchCommand returns an error for an unknown subcommand.
func NoSuchCommand(c *cli.Command, word string) error {
	known := names(c.Subcommands)
	mark, hint := ":", "use one of "+strings.Join(known, ", ")
	if c.HelpName == c.Name { // the program itself has too many to list
		mark, hint = ";", c.Name+" --help lists the commands"
	}
	return Usagef("%s has no command %q%s %s", c.Name, word, mark, cmp.Or(Meant(word, known), hint))
}

// CheckArguments is the Before of every command: it refuses arguments of a command that takes none, a second one
// of a command that takes one, and subcommands that do not exist.
func CheckArguments(c *cli.Context) error {
	first := c.Args().First()
	name := strings.TrimPrefix(c.Command.HelpName, "arbiter ")
	single := regexp.MustCompile(`^\[([A-Z]+)(\|-)?\]$`).FindStringSubmatch(c.Command.ArgsUsage)
	switch cmd := c.Command; {
	case c.NArg() > 1 && single != nil:
		return Usagef("%s: give at most one %s", name, single[1])
	case c.NArg() == 0 || cmd.ArgsUsage != "" || cmd.Command(first) != nil:
		return nil
	case len(cmd.Subcommands) > 0:
		return NoSuchCommand(cmd, first)
	default:
		hint := ""
		if slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return f.Names()[0] == "cwd" }) {
			hint = " (name a workspace with --cwd)"
		}
		return Usagef("%s takes no argument: leave out %s%s", name, first, hint)
	}
}

func names(commands []*cli.Command) (list []string) {
	for _, c := range commands {
		list = append(list, c.Name)
	}
	return list
}
