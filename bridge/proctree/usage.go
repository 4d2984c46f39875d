package proctree

import "time"

// Usage is the resource usage of a child's tree.
type Usage struct {
	// CPU is the time that its running processes have used so far, including that of the children they
	// waited for. It can fall when one of them ends.
	CPU       time.Duration
	RSS       int64 // in bytes; shared pages count for each process
	Processes int
	Stopped   bool // the child itself is stopped (SIGSTOP)
}
