package proctree

import "time"

// Usage is the resource usage of a child's tree.
type Usage struct {
	// CPU is the time that its living processes have used so far, with the children they
	// waited for. It can fall when one of them ends.
	CPU       time.Duration
	RSS       int64 // bytes; pages that processes share count for each
	Processes int
	Stopped   bool // the child itself is stopped (SIGSTOP)
}
