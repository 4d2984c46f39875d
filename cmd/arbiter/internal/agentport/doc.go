// Package agentport is a bridge as the loop of a run uses it: requests that start processes get the secrets that the
// journal does not hold, the place of their spans in a trace, and the size of the terminal that shows them.
package agentport
