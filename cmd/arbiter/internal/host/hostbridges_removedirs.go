package host

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// RemoveDirs removes the directories of Orchestrators on other hosts after a complete run, and returns a message
// for each directory that had to stay. No agent works in them any more, and the bridges are still open. Hosts are
// processed concurrently.
func (b *Bridges) RemoveDirs(ctx context.Context, files *runstore.Files) (messages []string) {
	s := b.run.Loop.Snapshot()
	dirs, agents := s.Dirs(), map[string][]string{}
	for _, a := range s.Agents {
		if a.Host != supervisor.LifecycleHere && a.Own.Branch != "" {
			agents[a.Host] = append(agents[a.Host], a.ID)
		}
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, host := range slices.Sorted(maps.Keys(agents)) {
		h := b.of(host)
		reachable := h != nil && h.open && h.alive()
		all.Go(func() {
			for _, agent := range agents[host] {
				text := ""
				where := fmt.Sprintf("in %s on host %s", dirs.Of(agent), host)
				if reachable {
					text = files.RemoveFar(ctx, agent, where)
				} else {
					text = fmt.Sprintf("the directory of %s was left %s, which is out of reach", agent, where)
				}
				if text != "" {
					mu.Lock()
					messages = append(messages, text)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	slices.Sort(messages)
	return messages
}
