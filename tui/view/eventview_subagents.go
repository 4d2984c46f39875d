package view

import (
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxSubagents is how many subagents are remembered; a forgotten one counts as started by the agent itself.
const maxSubagents = 4096

// Subagents records which subagent started which. One goroutine adds; any may read.
type Subagents struct {
	mu      sync.Mutex
	parents map[string]string
	order   []string // in the order of adding; a ring once it is full
	next    int
}

// Add learns from an event whether a subagent was started by another.
func (k *Subagents) Add(e contract.Event) {
	use, ok := e.Body.(contract.ToolUse)
	if !ok || use.Subagent == "" || use.ToolUse == "" || use.Tool != "Agent" && use.Tool != "Task" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.parents == nil {
		k.parents = map[string]string{}
	}
	if _, known := k.parents[use.ToolUse]; known {
		return
	}
	k.parents[use.ToolUse] = use.Subagent
	if len(k.order) < maxSubagents {
		k.order = append(k.order, use.ToolUse)
		return
	}
	delete(k.parents, k.order[k.next])
	k.order[k.next] = use.ToolUse
	k.next = (k.next + 1) % maxSubagents
}

// Become takes over the records of another one, to which nothing may be added any more.
func (k *Subagents) Become(other *Subagents) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parents, k.order, k.next = other.parents, other.order, other.next
}

// Parent returns the subagent that started a subagent; empty: an agent itself did.
func (k *Subagents) Parent(subagent string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.parents[subagent]
}
