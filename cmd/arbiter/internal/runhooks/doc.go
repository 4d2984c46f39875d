// Package runhooks serves `arbiter hook` for a run: it finds the agent of a session, and passes what hooks report on
// to the loop, as if a bridge had seen it.
package runhooks
