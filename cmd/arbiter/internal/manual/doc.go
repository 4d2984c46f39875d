// Package manual tells people and their shells how the program is called: the help of each
// command, the manual page, what completes a half-typed line, and what was meant by a word
// that is none. All of it is read from the table of commands and flags that the program
// itself runs on, so none of it can say anything else than what is.
//
// One word names what a flag or an argument takes, in backquotes in the usage of a
// flag, in ArgsUsage of a command: RUN, DIR, FILE, or the choices themselves, on|auto|off.
// A line is completed by it.
//
// The package is pure: it knows no runs, no files and no terminal.
package manual
