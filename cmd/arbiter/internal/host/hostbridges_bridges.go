package host

// This part of the package has the bridges of a run on other hosts: it opens and watches them, tries their
// sandboxes, moves the work of agents between them and the repository of the run, and ends the processes
// there.

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// RemoteLoop is the part of a run's loop that the bridges need. *runloop.Loop implements it.
type RemoteLoop interface {
	InputLoop
	Handler(host string) bridge.Handler // for the bridge of a host
}

// RemoteRun is the run that the bridges belong to.
type RemoteRun struct {
	Hosts     hosts.Config
	Debug     bool
	Options   func() runconfig.Options // current ones, with the sandbox of agents and the secrets of --env
	Loop      RemoteLoop
	Input     *Sender
	Board     *Board
	Terminals *Terminals
	Telemetry *Exporter   // nil: no spans
	Heeded    func() bool // the loop has taken part in the last halt
	Log       *slog.Logger
}

// Bridges has the bridges on other hosts, by host name. It is safe for concurrent use.
type Bridges struct {
	run   RemoteRun
	watch sync.WaitGroup // waits for the goroutines that watch bridges

	mu      sync.Mutex
	present map[string]*hostBridge
	changed chan struct{} // closed at the next change; nil: no goroutine waits
}

// hostBridge is the bridge on another host. It exists as soon as its process starts, so that it can be closed.
type hostBridge struct {
	host   hosts.Host
	client *bridge.Client
	info   bridge.RemoteInfo // set once it is open
	open   bool
	works  map[string]bridge.WorkResult // working directories of agents there
	halted atomic.Bool                  // a halt ended it
}

// NewBridges makes the bridges of a run. None is open.
func NewBridges(run RemoteRun) *Bridges { return &Bridges{run: run} }

// set makes a bridge the current one of a host.
func (b *Bridges) set(host string, h *hostBridge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.present == nil {
		b.present = map[string]*hostBridge{}
	}
	b.present[host] = h
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// of returns the bridge of a host; nil: none was started.
func (b *Bridges) of(host string) *hostBridge {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present[host]
}

// all returns the current bridges.
func (b *Bridges) all() []*hostBridge {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.present))
}

// await returns the bridge of a host once it is open.
func (b *Bridges) await(ctx context.Context, host string) (*hostBridge, error) {
	for {
		b.mu.Lock()
		h := b.present[host]
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if h != nil && h.open && h.alive() {
			return h, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("host %s is out of reach: %w", host, context.Cause(ctx))
		}
	}
}

func (h *hostBridge) alive() bool {
	select {
	case <-h.client.Done():
		return false
	default:
		return true
	}
}

// Drop closes the bridge of a host, if there is one. watchHost reports its end.
func (b *Bridges) Drop(host string) {
	if h := b.of(host); h != nil {
		_ = h.client.Close()
	}
}

// Close closes the bridges of all hosts, and waits for the processes that carry them.
func (b *Bridges) Close() {
	var all sync.WaitGroup
	for _, h := range b.all() {
		all.Go(func() { _ = h.client.Close() }) // watchHost reports how it ended
	}
	all.Wait()
}

// Wait returns when the end of every bridge was reported to the loop. Call it after [Bridges.Close].
func (b *Bridges) Wait() { b.watch.Wait() }

// inventoryTimeout bounds reading the inventory of a directory on a host.
const inventoryTimeout = 30 * time.Second

// Inventory asks the bridge of a host for the inventory of a directory there.
func (b *Bridges) Inventory(ctx context.Context, host, dir string) (bridge.InventoryResult, error) {
	h := b.of(host)
	if h == nil || !h.open {
		return bridge.InventoryResult{}, bridge.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	return h.client.Inventory(ctx, bridge.InventoryParams{Dir: dir})
}

// worksIn stores the working directory of an agent.
func (b *Bridges) worksIn(h *hostBridge, agent string, work bridge.WorkResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.works[agent] = work
}

// workOf returns the working directory of an agent.
func (b *Bridges) workOf(h *hostBridge, agent string) bridge.WorkResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h.works[agent]
}
