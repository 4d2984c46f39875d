// Package driver is what the drivers of agents share: the pipes of a process, its stderr, how its start is recorded,
// the request to end it, its way to the network, and how Arbiter's tools are served to it. Each driver owns its process
// and its goroutines; this package starts none.
package driver
