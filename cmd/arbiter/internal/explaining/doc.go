// Package explaining tells from the event log of a run how its decisions were made: what was asked, by which prompt,
// who decided, and what followed.
package explaining
