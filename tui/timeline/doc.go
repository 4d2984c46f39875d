// Package timeline shows when the agents of a run did what: a lane for each of them, with its turns,
// its calls, what it waited for, what it handed on and what it has cost.
//
// A [Timeline] is folded from the events of a run, by one goroutine, and drawn by another. It keeps
// a bounded number of spans: when there are more, neighbours that lie close together become one. To
// draw a run of a million events therefore costs no more than to draw a short one. The events
// themselves are in the history, which a screen asks with the time of a span.
//
// Time in which no process played the run is left out of the axis ([Axis]).
//
// All texts that are returned are fit for a screen.
package timeline
