// Package terminals tracks which client has the session of an agent in a terminal: one client at a time.
package terminals
