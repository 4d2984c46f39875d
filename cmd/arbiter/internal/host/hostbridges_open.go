package host

import (
	"context"
	"errors"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Open starts the bridge of a host. If the host has a queue, Open takes as long as the queue.
func (b *Bridges) Open(ctx context.Context, name string) (runloop.Opened, *input.BridgeFailed) {
	host, ok := b.run.Hosts.Find(name)
	if !ok {
		return runloop.Opened{}, &input.BridgeFailed{Category: bridge.CatHost,
			Message: "it is no longer configured: arbiter hosts add " + name}
	}
	b.Drop(name)
	options := b.run.Options()
	o := Opening{
		Host: host, Run: options.Run, Version: command.Version(), Lease: options.Lease, Debug: b.run.Debug,
		Handler: b.run.Terminals.Tap(b.run.Loop.Handler(name)), Log: b.run.Log,
	}
	client, init, err := o.Open(ctx, func(c *bridge.Client) {
		b.set(name, &hostBridge{host: host, client: c})
	})
	if err == nil && init.Remote == nil {
		err = errors.New("the bridge there does not report its host")
	}
	if err != nil {
		b.Drop(name)
		failed := &input.BridgeFailed{Category: bridge.CatCrash, Message: err.Error()}
		var f *LinkFailure
		if errors.As(err, &f) {
			failed.Category = f.Category
		}
		return runloop.Opened{}, failed
	}
	if failed := b.trySandbox(ctx, name, client, *init.Remote); failed != nil {
		_ = client.Close()
		return runloop.Opened{}, failed
	}
	h := &hostBridge{host: host, client: client, info: *init.Remote, open: true, works: map[string]bridge.WorkResult{}}
	b.set(name, h)
	b.watch.Go(func() { b.watchHost(name, h) })
	b.run.Log.Info("bridge", "host", name, "arbiter", init.Version, "claude", init.Claude.Version, "path",
		init.Claude.Path, "dir", h.info.Dir, "namespace", h.info.Namespace)
	port := Port{Client: client, Terminals: b.run.Terminals, Options: b.run.Options(),
		Telemetry: b.run.Telemetry}
	return runloop.Opened{
		Port: hostPort{port, h, b}, Claude: init.Claude, Dir: h.info.Dir, Swept: h.info.Ended,
	}, nil
}

// watchHost reports to the loop when the bridge of a host has ended, and by when all processes that it started have
// ended.
func (b *Bridges) watchHost(name string, h *hostBridge) {
	<-h.client.Done()
	until, fenced := h.client.Stopped()
	if !fenced {
		var err error
		if fenced, err = EndBridge(context.Background(), h.host, b.run.Options().Run); err != nil {
			b.run.Log.Warn("ending what runs on a host failed", "host", name, "err", err)
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
	b.run.Loop.Put(input.BridgeLost{Host: name, Message: message, Until: until, Halted: h.halted.Load(),
		Heeded: b.run.Heeded()})
	var violation *bridge.ViolationError
	if errors.As(err, &violation) {
		b.run.Loop.Put(input.BridgeFailed{Host: name, Category: bridge.CatHost, Message: message})
	}
}
