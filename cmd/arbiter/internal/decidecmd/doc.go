// Package decidecmd has the commands that ask a decider outside of a run: decide, and replay --decisions.
package decidecmd
