// Package runhooks serves `arbiter hook` for a run: it finds the agent of a session, and passes the reports of
// hooks to the loop as if a bridge had seen them.
package runhooks
