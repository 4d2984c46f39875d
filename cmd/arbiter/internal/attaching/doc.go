// Package attaching is the command that opens a live run, or the session of an agent, in a terminal.
package attaching
