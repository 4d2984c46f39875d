// Package command has what all commands of the program share: standard streams, errors with an exit code, signals,
// the directories and files that flags name, and suggestions for a wrong invocation.
package command
