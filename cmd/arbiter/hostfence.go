package main

import (
	"context"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hostlink"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
