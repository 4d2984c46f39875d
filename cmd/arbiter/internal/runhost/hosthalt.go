package runhost

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hostlink"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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

// fenceHosts runs the `end` commands of hosts on which an earlier process of arbiter may have left something running,
// and returns the hosts on which all of it has ended. It runs before anything is started elsewhere. On others the lease
// is waited for.
func (r *runtimeRun) fenceHosts(ctx context.Context) (fenced []string) {
	if r.resumed == nil {
		return nil
	}
	if e := r.resumed.Ending; e != nil && e.Said && e.Status == contract.StatusComplete {
		return nil // everything has ended before it was said
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, name := range r.resumed.Lifecycle.MayStillRun() {
		host, known := r.choices.Hosts.Find(name)
		if !known {
			continue
		}
		all.Go(func() {
			ended, err := hostlink.End(ctx, host, r.choices.Options.Run)
			if err != nil {
				r.log.Warn("ending what runs on a host failed", "host", name, "err", err)
			}
			if ended {
				mu.Lock()
				defer mu.Unlock()
				fenced = append(fenced, name)
			}
		})
	}
	all.Wait()
	slices.Sort(fenced)
	return fenced
}
