// Package attendants has goroutines that wait for the loop of a run in the name of others, and are waited for in turn.
package attendants
