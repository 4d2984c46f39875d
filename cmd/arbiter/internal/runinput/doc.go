// Package runinput puts inputs into the loop of a run for callers that do not wait until the loop has received
// them: clients of the control socket, terminals, and the process itself.
package runinput
