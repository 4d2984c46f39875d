// Package agentport adapts a bridge to the interface that the loop of a run uses. It adds to requests that start
// processes: the secrets that the journal does not hold, the parent span of the trace, and the size of the
// terminal.
package agentport
