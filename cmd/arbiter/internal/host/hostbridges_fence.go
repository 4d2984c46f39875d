package host

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// FenceHost runs the `end` commands of the hosts on which an earlier process of a run may have left processes, and
// returns the hosts on which all of them have ended. resumed is the state of the run; nil: it is new. Call it
// before starting anything on other hosts. For the remaining hosts, the run waits until the lease ends.
func FenceHost(
	ctx context.Context, known hosts.Config, run string, resumed *supervisor.State, log *slog.Logger,
) (fenced []string) {
	if resumed == nil {
		return nil
	}
	if e := resumed.Ending; e != nil && e.Said && e.Status == contract.StatusComplete {
		return nil // a complete run ends all processes before it reports that
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, name := range resumed.Lifecycle.MayStillRun() {
		host, ok := known.Find(name)
		if !ok {
			continue
		}
		all.Go(func() {
			ended, err := EndBridge(ctx, host, run)
			if err != nil {
				log.Warn("ending what runs on a host failed", "host", name, "err", err)
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
