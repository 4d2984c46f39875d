package eventview

import (
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxSubagents is how many subagents are remembered; of one that is forgotten the parent is
// taken to be the agent itself.
const maxSubagents = 4096

// Subagents remembers which subagent was started by which. One goroutine adds; any may ask.
type Subagents struct {
	mu      sync.Mutex
	parents map[string]string
	order   []string // of adding; a ring once it is full
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

// Become takes over what another one knows. Nothing adds to that one any more.
func (k *Subagents) Become(other *Subagents) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parents, k.order, k.next = other.parents, other.order, other.next
}

// Parent is the subagent that started a subagent; empty: an agent itself did.
func (k *Subagents) Parent(subagent string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.parents[subagent]
}
