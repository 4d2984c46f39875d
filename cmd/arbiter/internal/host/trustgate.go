package host

// This file checks before each start of an agent whether the settings in its directory are trusted.

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// TrustGate checks the workspace before each start of an agent in it.
type TrustGate struct {
	place, state, run string

	// inventory reads the settings in a directory on another host. [bridge.ErrClosed] says that the host is lost.
	inventory func(ctx context.Context, host, dir string) (bridge.InventoryResult, error)

	mu   sync.Mutex
	seen map[string]trust.Listing // by host and hash: what was trusted, or found instead
}

// seenAs returns the key of a listing in [TrustGate.seen].
func seenAs(host, hash string) string { return host + "\x00" + hash }

// NewTrustGate makes the gate of a run that works in place. seen is the state of the workspace before the run.
func NewTrustGate(
	place, state, run string, seen settings.TrustState,
	inventory func(ctx context.Context, host, dir string) (bridge.InventoryResult, error),
) *TrustGate {
	return &TrustGate{
		place: place, state: state, run: run, inventory: inventory,
		seen: map[string]trust.Listing{seenAs(supervisor.LifecycleHere, seen.Listing.Hash): seen.Listing,
			seenAs(supervisor.LifecycleHere, seen.Was.Hash): seen.Was},
	}
}

// Check is a runloop.Gate.
func (w *TrustGate) Check(ctx context.Context, p bridge.SpawnParams, pinned runloop.Pinned) error {
	if pinned.Host != supervisor.LifecycleHere {
		return w.gateElsewhere(ctx, p.Config.CWD, pinned)
	}
	now, err := trust.Inventory(w.place, settings.OwnConfiguration()...)
	if err != nil {
		return err
	}
	if now.Hash == pinned.Workspace {
		return w.ownGate(p.Config.CWD, now)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	text := "the workspace has changed since it was trusted"
	if was, ok := w.seen[seenAs(supervisor.LifecycleHere, pinned.Workspace)]; ok {
		text += ": " + sanitize.Line(trust.Summary(trust.Diff(was, now), settings.MaxListedChanges), 600)
	}
	w.seen[seenAs(supervisor.LifecycleHere, now.Hash)] = now
	return &runloop.Untrusted{Message: text, Hash: now.Hash}
}

// ownGate refuses an agent whose own directory (a worktree or a clone) has settings that the trusted workspace does
// not have, because another agent has changed them. Missing settings are allowed.
func (w *TrustGate) ownGate(dir string, trusted trust.Listing) error {
	if dir == w.place {
		return nil
	}
	own, err := trust.Inventory(dir, settings.OwnConfiguration()...)
	if err != nil {
		return err
	}
	// Settings that are also read from the user's work tree are those that were trusted.
	return untrusted(dir, trust.News(trusted, own, trusted.Root+string(filepath.Separator)))
}

// gateElsewhere lets an agent start on another host if its directory there has no settings that the trusted
// workspace lacks, or if a human has trusted its settings on that host. The host's report is compared with what was
// trusted here: a host can hide settings, but cannot make others trusted.
func (w *TrustGate) gateElsewhere(ctx context.Context, dir string, pinned runloop.Pinned) error {
	w.mu.Lock()
	trusted, known := w.seen[seenAs(supervisor.LifecycleHere, pinned.Workspace)]
	w.mu.Unlock()
	if !known {
		return fmt.Errorf("%s: the trusted settings are no longer known", dir)
	}
	r, err := w.inventory(ctx, pinned.Host, dir)
	if err != nil {
		return fmt.Errorf("host %s: the settings in %s cannot be read: %w", pinned.Host, dir, err)
	}
	items := make([]trust.Item, len(r.Items))
	for i, item := range r.Items {
		items[i] = trust.Item(item)
	}
	there := trust.Listed(r.Dir, r.Root, items)
	changes := trust.News(trusted, there, "")
	if len(changes) == 0 || there.Hash == pinned.There {
		return nil
	}
	store, err := trust.Open(w.state)
	if err != nil {
		return err
	}
	if kept, ok, err := store.On(pinned.Host).Trusted(w.place); err == nil && ok && kept.Hash == there.Hash {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[seenAs(pinned.Host, there.Hash)] = there
	return &runloop.Untrusted{Hash: there.Hash, Message: fmt.Sprintf("host %s: %s has settings that are not trusted: %s",
		pinned.Host, dir, sanitize.Line(trust.Summary(changes, settings.MaxListedChanges), 600))}
}

// untrusted returns an error about the untrusted settings in a directory.
func untrusted(dir string, changes []trust.Change) error {
	if len(changes) == 0 {
		return nil
	}
	return fmt.Errorf("%s has settings that are not trusted (%s): have them taken out there, or land them and trust "+
		"the workspace",
		dir, sanitize.Line(trust.Summary(changes, settings.MaxListedChanges), 600))
}

// Record stores that the human has trusted settings in the run, if they are still known.
func (w *TrustGate) Record(_ context.Context, host, hash string) error {
	w.mu.Lock()
	l, ok := w.seen[seenAs(host, hash)]
	w.mu.Unlock()
	if !ok {
		return fmt.Errorf("the trusted settings are no longer known")
	}
	store, err := trust.Open(w.state)
	if err != nil {
		return err
	}
	return store.On(host).Trust(w.place, l, "a choice in run "+w.run, time.Now())
}
