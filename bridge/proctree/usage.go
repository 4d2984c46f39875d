package proctree

import "time"

// Usage is what a child's tree uses.
type Usage struct {
	// CPU is what its living processes have used so far, with the children they
	// waited for. It can fall when one of them ends.
	CPU       time.Duration
	RSS       int64 // bytes; pages that processes share count for each
	Processes int
	Stopped   bool // the child itself is stopped (SIGSTOP)
}
