package view

import (
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxSubagents is how many subagents are remembered; a further one counts as started by the agent itself.
const maxSubagents = 1 << 16

// Subagents records which subagent started which. One goroutine adds; any may read.
type Subagents struct {
	mu      sync.Mutex
	parents map[string]string
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
	if _, known := k.parents[use.ToolUse]; !known && len(k.parents) < maxSubagents {
		k.parents[strings.Clone(use.ToolUse)] = strings.Clone(use.Subagent)
	}
}

// Become takes over the records of another one, to which nothing may be added any more.
func (k *Subagents) Become(other *Subagents) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parents = other.parents
}

// Parent returns the subagent that started a subagent; empty: an agent itself did.
func (k *Subagents) Parent(subagent string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.parents[subagent]
}
