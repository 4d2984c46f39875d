// Package liveruns has the commands that talk to a live run over its control socket: list the live runs, show one,
// follow its events, send it messages, answer its requests, and stop or halt it. One more command prints the
// settings with which the hooks of a person's own session ask a live run.
package liveruns
