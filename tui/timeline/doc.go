// Package timeline shows what the agents of a run did at which time: a lane for each of them, with its
// turns, its calls, what it waited for, what it handed on and what it has cost.
//
// A [Timeline] is built from the events of a run, by one goroutine, and drawn by another. It keeps a
// bounded number of spans: when there are more, neighbours that are close together are joined. So drawing a
// run of a million events costs no more than drawing a short one. The events themselves are in the history,
// which a screen queries with the time of a span.
//
// The axis omits time in which no process played the run ([Axis]).
//
// All texts that are returned are fit for a screen.
package timeline
