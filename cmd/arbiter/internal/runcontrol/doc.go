// Package runcontrol serves the control socket of a run: it answers clients from the run's snapshots, and passes what
// they ask for on to its loop, its terminals, its subscribers and its halter.
package runcontrol
