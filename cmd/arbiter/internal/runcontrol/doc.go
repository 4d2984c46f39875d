// Package runcontrol serves the control socket of a run: it answers clients from the run's snapshots, and passes
// their requests on to its loop, terminals, subscribers and halter.
package runcontrol
