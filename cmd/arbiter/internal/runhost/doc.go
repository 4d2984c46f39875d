// Package runhost is the process that hosts a run: it opens a run or takes it up again, plays it with its bridges,
// serves the clients of its control socket, and ends it in order. arbiter host and arbiter --json are that process.
//
// The package has one struct for the process run of a run. Its parts with a state of their own are packages beside this
// one: terminals, eventboard, attendants, trustgate, daybudget, askmodel, localbridge.
package runhost
