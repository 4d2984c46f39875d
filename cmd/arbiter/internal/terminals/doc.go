// Package terminals knows who has which session of an agent in a terminal: one at a time.
package terminals
