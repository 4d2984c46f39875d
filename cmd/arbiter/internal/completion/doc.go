// Package completion is the command that prints a shell's completion script, and the answers to the questions of
// such a script.
package completion
