package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
)

// onAnotherHost reports whether an agent runs on another host.
func (r *runtimeRun) onAnotherHost(id string) bool { return hostWork{r}.Lives(id) }

// agentsElsewhere names the agents on other hosts that have a process, as far as the run knows.
func (r *runtimeRun) agentsElsewhere() (alive []string) {
	for _, a := range r.loop.Snapshot().Agents {
		if a.Host != lifecycle.Here && a.HasProcess() && !r.hosts.stopped(a.Host) {
			alive = append(alive, a.ID+" @"+a.Host)
		}
	}
	return alive
}

// lostElsewhere names the agents on lost hosts whose processes may not have ended yet.
func (r *runtimeRun) lostElsewhere() (lost []string) {
	s := r.loop.Snapshot()
	for _, a := range s.Agents {
		if a.Host == lifecycle.Here {
			continue
		}
		if until := s.Lifecycle.Bridge(a.Host).Until; a.Alive() && !a.HasProcess() && time.Now().Before(until) {
			lost = append(lost, fmt.Sprintf("%s @%s (its host is out of reach; its lease ends at %s)", a.ID, a.Host,
				until.Local().Format("15:04:05")))
		}
	}
	return lost
}

// stopped reports whether it is certain that nothing runs on a host.
func (b *hostBridges) stopped(host string) bool {
	h := b.of(host)
	if h == nil {
		return true
	}
	_, certain := h.client.Stopped()
	return certain
}

// haltElsewhere has the bridges of all other hosts stop everything, and then end. A host that does not answer is left
// to its lease, and its agents are named as alive.
func (r *runtimeRun) haltElsewhere(ctx context.Context) {
	r.hosts.mu.Lock()
	present := slices.Collect(maps.Values(r.hosts.present))
	r.hosts.mu.Unlock()
	var all sync.WaitGroup
	for _, h := range present {
		if !h.alive() {
			continue
		}
		h.halted.Store(true)
		all.Go(func() {
			if _, err := h.client.Shutdown(ctx, bridge.ShutdownParams{GraceMS: haltGrace}); err != nil {
				r.log.Warn("a host did not stop its agents", "host", h.host.Name, "err", err)
			}
			r.attached.Go(func() { _ = h.client.Close() }) // watchHost reports how it ended
		})
	}
	all.Wait()
}
