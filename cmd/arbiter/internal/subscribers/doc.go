// Package subscribers sends the events of a run to the clients that subscribe to it: events in order, changes of
// the state, and finally how the run ended. Each client reads at its own pace, in the goroutine of its request.
package subscribers
