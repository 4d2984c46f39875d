// Package liveruns has the commands that talk to a live run over its control socket: list the live runs, show one,
// follow its events, send it messages, answer its requests, and stop or halt it. One more
// prints the settings with which a session that a person opened asks a live run.
package liveruns
