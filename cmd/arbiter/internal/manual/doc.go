// Package manual documents the command line for people and shells: the help of each
// command, the manual page, completion of a line, and suggestions for misspelt words. It reads
// the table of commands and flags that the program itself uses, so it cannot differ from it.
//
// One word names the value of a flag or an argument, in backquotes in the usage of a
// flag, in ArgsUsage of a command: RUN, DIR, FILE, or the choices themselves, on|auto|off.
// A line is completed by it.
//
// The package is pure: it knows no runs, no files and no terminal.
package manual
