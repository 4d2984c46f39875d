package host

import (
	"context"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// bridges has the bridges of a run: one on this machine, and one for each other host.
type bridges struct {
	here    hereBridge
	sandbox confinement // of the agents here
	others  *Bridges
}

// drop closes the bridge of a host. The goroutine that watches it reports its end.
func (b *bridges) drop(host string) {
	if host == supervisor.LifecycleHere {
		_ = b.here.Client().Close()
		return
	}
	b.others.Drop(host)
}

// close closes all bridges and waits until their ends were reported to the loop.
func (b *bridges) close() error {
	b.others.Close()
	client := b.here.Client()
	if client == nil {
		return nil
	}
	err := client.Close()
	b.others.watch.Wait()
	b.here.watch.Wait()
	return err
}

func (r *hostedRun) openOn(ctx context.Context, host string) (runloop.Opened, *input.BridgeFailed) {
	if host != supervisor.LifecycleHere {
		return r.bridges.others.Open(ctx, host)
	}
	swept, err := r.bridges.here.end(r.choices.Options.Run)
	if err != nil {
		r.diagnostics.log.Warn("bridge", "error", err)
	}
	port, claude, failed := r.openBridge(ctx)
	return runloop.Opened{Port: port, Claude: claude, Swept: swept}, failed
}

// openBridge starts a bridge on this machine, and tries the sandbox of its agents.
func (r *hostedRun) openBridge(ctx context.Context) (runloop.Port, bridge.ClaudeInfo, *input.BridgeFailed) {
	b, f, o := &r.bridges, &r.frontends, &r.choices.Options
	start := BridgeStart{
		Run: o.Run, CWD: o.CWD, Claude: r.choices.Claude, Debug: r.choices.Debug, PIDNS: r.choices.PIDNS,
		Stage: r.stage, Lock: r.storage.journal.LockFile(), Handler: f.terminals.Tap(r.loop), Log: r.diagnostics.log,
	}
	note := runstore.BridgeNote{Run: o.Run}
	for _, h := range o.Hosts {
		note.Hosts, note.Lease = append(note.Hosts, h.Name), o.Lease
	}
	client, claude, failed := b.here.start(ctx, start, note)
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	o.StandIn = claude.StandIn
	unsandboxed, failed := b.sandbox.try(ctx, client, wantedBy(r.choices), *o, r.diagnostics.log)
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	if unsandboxed != "" {
		r.notice.add("not confined: %s", unsandboxed)
	} else if cfg := b.sandbox.config(); cfg != nil {
		r.notice.add("sandbox: %s", settings.Confines(*cfg, b.sandbox.hosts))
	}
	b.here.Keep(client, true)
	return Port{Client: client, Terminals: &f.terminals, Hooks: f.hooks.Path(), Options: *o,
		Telemetry: r.diagnostics.telemetry}, claude, nil
}
