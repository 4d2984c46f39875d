// Package command has what all commands of the program share: standard streams, errors with an exit code, signals,
// the directories and files that flags name; help, manual page, completion and suggestions for a wrong invocation,
// which it reads from the table of commands.
package command
