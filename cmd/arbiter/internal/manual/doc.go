// Package manual documents the command line for people and shells: the help of each command, the manual page,
// completion, and suggestions for misspelled words. It reads the table of commands and flags that the program
// itself uses, so the documentation always matches the program. It also reads whole command lines, because flags may
// stand anywhere on them, and the library's parser stops at the first argument.
//
// The value of a flag or an argument has a one-word name, in backquotes in the usage of a flag, and in the
// ArgsUsage of a command: RUN, DIR, FILE, or the choices themselves, such as on|auto|off. Completion uses that
// name.
//
// The package is pure: it does not access runs, files or the terminal.
package manual
