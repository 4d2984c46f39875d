package runhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hostlink"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// The bridges of other hosts: how they are opened, what is reported about their end, how they are ended.

// hostBridges are the bridges of other hosts, by their names. The zero value has none.
type hostBridges struct {
	mu      sync.Mutex
	present map[string]*hostBridge
	changed chan struct{} // closed at the next change; nil: nothing waits
}

// hostBridge is the bridge of another host: from the start of its process on, so that it can be closed.
type hostBridge struct {
	host   hosts.Host
	client *bridge.Client
	info   bridge.RemoteInfo // of one that is open
	open   bool
	works  map[string]bridge.WorkResult // directories of agents there
	halted atomic.Bool                  // it was ended in order to stop everything
}

// set makes a bridge the present one of a host.
func (b *hostBridges) set(host string, h *hostBridge) {
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

// of returns the bridge of a host; nil: it was never started.
func (b *hostBridges) of(host string) *hostBridge {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present[host]
}

// await returns the bridge of a host once it is open.
func (b *hostBridges) await(ctx context.Context, host string) (*hostBridge, error) {
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

// errParked is why a host is not waited for.
var errParked = errors.New("it is parked until a person has it tried again")

// untilParked is a context that ends when a host is parked, or is parked already: others wait for what needs that host,
// such as the merges behind one. The caller releases it.
func (r *runtimeRun) untilParked(ctx context.Context, host string) (usable context.Context, release func()) {
	usable, cancel := context.WithCancelCause(ctx)
	news := r.board.Subscribe(func(e contract.Event) bool {
		b, ok := e.Body.(contract.Host)
		return ok && b.Name == host
	})
	var watch sync.WaitGroup
	watch.Go(func() {
		for !r.loop.Snapshot().Lifecycle.Bridge(host).Parked {
			select {
			case <-news.News():
			case <-usable.Done():
				return
			}
		}
		cancel(errParked)
	})
	return usable, func() {
		cancel(nil)
		news.Close()
		watch.Wait()
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

// closeAll ends the bridges of all other hosts, and waits for the processes that carry them.
func (b *hostBridges) closeAll() {
	b.mu.Lock()
	var all sync.WaitGroup
	for _, h := range b.present {
		all.Go(func() { _ = h.client.Close() }) // watchHost reports how it ended
	}
	b.mu.Unlock()
	all.Wait()
}

// openOn is a runloop.Opener.
func (r *runtimeRun) openOn(ctx context.Context, host string) (runloop.Opened, *input.BridgeFailed) {
	if host == lifecycle.Here {
		return r.reopen(ctx)
	}
	return r.openHost(ctx, host)
}

// dropOn ends the bridge of a host. What watches it reports its end.
func (r *runtimeRun) dropOn(host string) {
	if host == lifecycle.Here {
		_ = r.bridge().Close()
	} else if h := r.hosts.of(host); h != nil {
		_ = h.client.Close()
	}
}

// openHost starts the bridge of another host. It takes as long as a queue of that host takes.
func (r *runtimeRun) openHost(ctx context.Context, name string) (runloop.Opened, *input.BridgeFailed) {
	host, ok := r.choices.Hosts.Find(name)
	if !ok {
		return runloop.Opened{}, &input.BridgeFailed{Category: bridge.CatHost,
			Message: "it is not configured any more: arbiter hosts add " + name}
	}
	if old := r.hosts.of(name); old != nil {
		_ = old.client.Close()
	}
	o := hostlink.Opening{
		Host: host, Run: r.choices.Options.Run, Version: command.Version(), Lease: r.choices.Options.Lease,
		Debug: r.choices.Debug, Handler: r.terminals.Tap(r.loop.Handler(name)), Log: r.log,
	}
	h := &hostBridge{host: host, works: map[string]bridge.WorkResult{}}
	client, init, err := o.Open(ctx, func(c *bridge.Client) {
		r.hosts.set(name, &hostBridge{host: host, client: c})
	})
	if err == nil && init.Remote == nil {
		err = errors.New("the bridge there says nothing of its host")
	}
	if err != nil {
		if started := r.hosts.of(name); started != nil {
			_ = started.client.Close()
		}
		failed := &input.BridgeFailed{Category: bridge.CatCrash, Message: err.Error()}
		var f *hostlink.Failure
		if errors.As(err, &f) {
			failed.Category = f.Category
		}
		return runloop.Opened{}, failed
	}
	if failed := r.confineOn(ctx, name, client, *init.Remote); failed != nil {
		_ = client.Close()
		return runloop.Opened{}, failed
	}
	h.client, h.info, h.open = client, *init.Remote, true
	r.hosts.set(name, h)
	r.watch.Go(func() { r.watchHost(name, h) })
	r.log.Info("bridge", "host", name, "arbiter", init.Version, "claude", init.Claude.Version, "path", init.Claude.Path,
		"dir", h.info.Dir, "namespace", h.info.Namespace)
	return runloop.Opened{
		Port:   hostPort{port{client, &r.terminals, "", r.choices.Options, r.telemetry}, h, &r.hosts},
		Claude: init.Claude, Dir: h.info.Dir, Swept: h.info.Ended,
	}, nil
}

// watchHost tells the loop when the bridge of a host has gone, and by when all that it started has ended.
func (r *runtimeRun) watchHost(name string, h *hostBridge) {
	<-h.client.Done()
	until, fenced := h.client.Stopped()
	if !fenced {
		var err error
		if fenced, err = hostlink.End(context.Background(), h.host, r.choices.Options.Run); err != nil {
			r.log.Warn("ending what runs on a host failed", "host", name, "err", err)
		}
	}
	if fenced {
		until = time.Time{}
	}
	message := "the connection ended"
	err := h.client.Err()
	if err != nil {
		message = err.Error()
	}
	r.loop.Put(input.BridgeLost{Host: name, Message: message, Until: until, Halted: h.halted.Load(),
		Heeded: r.loop.Snapshot().Halts > int(r.haltsBefore.Load())})
	var violation *bridge.ViolationError
	if errors.As(err, &violation) {
		r.loop.Put(input.BridgeFailed{Host: name, Category: bridge.CatHost, Message: message})
	}
}

// inventory asks the bridge of a host what a directory there brings along.
func (b *hostBridges) inventory(ctx context.Context, host, dir string) (bridge.InventoryResult, error) {
	h := b.of(host)
	if h == nil || !h.open {
		return bridge.InventoryResult{}, bridge.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	return h.client.Inventory(ctx, bridge.InventoryParams{Dir: dir})
}

// inventoryTimeout bounds one look at what a directory on a host brings along.
const inventoryTimeout = 30 * time.Second

// worksIn notes the directory of an agent.
func (b *hostBridges) worksIn(h *hostBridge, agent string, work bridge.WorkResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.works[agent] = work
}

// workOf is the directory of an agent.
func (b *hostBridges) workOf(h *hostBridge, agent string) bridge.WorkResult {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h.works[agent]
}
