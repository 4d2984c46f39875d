package host

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
)

var _ HaltedElsewhere = (*Bridges)(nil)

// Halt makes the bridges of all hosts stop everything, and then closes them. A host that does not answer is left to
// its lease, and its agents are reported as alive.
func (b *Bridges) Halt(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range b.all() {
		if !h.alive() {
			continue
		}
		h.halted.Store(true)
		all.Go(func() {
			if _, err := h.client.Shutdown(ctx, bridge.ShutdownParams{GraceMS: GraceMS}); err != nil {
				b.run.Log.Warn("a host did not stop its agents", "host", h.host.Name, "err", err)
			}
			b.run.Input.Go(func() { _ = h.client.Close() }) // watchHost reports how it ended
		})
	}
	all.Wait()
}

// Agents returns the agents on other hosts that have a process, as far as the run knows.
func (b *Bridges) Agents() (alive []string) {
	for _, a := range b.run.Loop.Snapshot().Agents {
		if a.Host != supervisor.LifecycleHere && a.HasProcess() && !b.stopped(a.Host) {
			alive = append(alive, a.ID+" @"+a.Host)
		}
	}
	return alive
}

// Lost returns the agents on lost hosts whose processes may not have ended yet.
func (b *Bridges) Lost() (lost []string) {
	s := b.run.Loop.Snapshot()
	for _, a := range s.Agents {
		if a.Host == supervisor.LifecycleHere {
			continue
		}
		if until := s.Lifecycle.Bridge(a.Host).Until; a.Alive() && !a.HasProcess() && time.Now().Before(until) {
			lost = append(lost, fmt.Sprintf("%s @%s (its host is out of reach; its lease ends at %s)", a.ID, a.Host,
				until.Local().Format("15:04:05")))
		}
	}
	return lost
}

// stopped reports whether it is certain that no process runs on a host.
func (b *Bridges) stopped(host string) bool {
	h := b.of(host)
	if h == nil {
		return true
	}
	_, certain := h.client.Stopped()
	return certain
}
