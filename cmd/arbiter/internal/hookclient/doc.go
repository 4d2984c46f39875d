// Package hookclient is `arbiter hook`: it answers one event of a session that a person opened in a terminal, by
// asking the run's server (package hooksocket) over a Unix socket. A session never waits long: the client gives up
// after [Deadline], and prints nothing on any error.
//
// Importing the package makes the program answer: if its arguments are those of `arbiter hook`, it answers while its
// packages are initialized, and exits. [Answers] says which arguments those are.
package hookclient
