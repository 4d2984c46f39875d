package runhost

import (
	"context"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/agentport"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/bridgenote"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hostbridges"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/localbridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// bridges is those of a run: one on this machine, and one for each other host.
type bridges struct {
	here    localbridge.Present
	watch   sync.WaitGroup // for the end of each that was here
	sandbox confinement    // of the agents here
	others  *hostbridges.Bridges
}

// close ends all bridges and waits until their ends are reported to the loop.
func (b *bridges) close() error {
	b.others.Close()
	client := b.here.Client()
	if client == nil {
		return nil
	}
	err := client.Close()
	b.others.Wait()
	b.watch.Wait()
	return err
}

// openOn is a runloop.Opener.
func (r *hostedRun) openOn(ctx context.Context, host string) (runloop.Opened, *input.BridgeFailed) {
	if host != lifecycle.Here {
		return r.bridges.others.Open(ctx, host)
	}
	// What the lost bridge could not end is ended first.
	if err := r.bridges.here.Client().Close(); err != nil {
		r.diagnostics.log.Warn("bridge", "error", err)
	}
	swept := proctree.SweepMarked(proctree.Mark{Run: r.choices.Options.Run, Bridge: localbridge.Name})
	port, claude, failed := r.openBridge(ctx)
	return runloop.Opened{Port: port, Claude: claude, Swept: swept}, failed
}

// dropOn ends the bridge of a host. What watches it reports its end.
func (r *hostedRun) dropOn(host string) {
	if host == lifecycle.Here {
		_ = r.bridges.here.Client().Close()
		return
	}
	r.bridges.others.Drop(host)
}

// openBridge starts a bridge on this machine, and tries the sandbox of its agents.
func (r *hostedRun) openBridge(ctx context.Context) (runloop.Port, bridge.ClaudeInfo, *input.BridgeFailed) {
	b, f, o := &r.bridges, &r.frontends, &r.choices.Options
	start := localbridge.Start{
		Run: o.Run, CWD: o.CWD, Claude: r.choices.Claude, Debug: r.choices.Debug, PIDNS: r.choices.PIDNS,
		Stage: r.stage, Lock: r.storage.journal.LockFile(), Handler: f.terminals.Tap(r.loop),
		Log: r.diagnostics.log, Started: r.noteBridge,
	}
	client, claude, failed := start.Open(ctx, func(c *bridge.Client) { b.here.Keep(c, false) })
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	o.StandIn = claude.StandIn
	b.watch.Go(func() { r.watchBridge(client) })
	unsandboxed, failed := b.sandbox.try(ctx, client, wantedBy(r.choices), *o, r.diagnostics.log)
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	if unsandboxed != "" {
		r.notice.add("agents run unsandboxed: %s", unsandboxed)
	}
	b.here.Keep(client, true)
	return agentport.Port{Client: client, Terminals: &f.terminals, Hooks: f.hooks.Path(), Options: *o,
		Telemetry: r.diagnostics.telemetry}, claude, nil
}

// noteBridge writes down which process the bridge is, for a halt that this process does
// not answer to.
func (r *hostedRun) noteBridge(pid int) {
	r.frontends.halter.BridgeStarted(pid)
	note := bridgenote.Note{Run: r.choices.Options.Run, PID: pid}
	for _, h := range r.choices.Options.Hosts {
		note.Hosts, note.Lease = append(note.Hosts, h.Name), r.choices.Options.Lease
	}
	if err := note.Write(r.storage.journal.Dir()); err != nil {
		r.diagnostics.log.Warn("the bridge's process is not noted down", "error", err)
	}
}

// watchBridge tells the loop when the bridge has gone. It ends with the client, which [bridges.close] closes.
func (r *hostedRun) watchBridge(p *bridge.Client) {
	<-p.Done()
	halter := r.frontends.halter
	halted := halter.Ended(p)
	if bridgenote.TakeHalted(r.storage.journal.Dir()) {
		halted = true
		r.loop.Put(input.Command{Command: contract.Command{Ref: r.frontends.input.NewRef(), Body: contract.Halt{}},
			Channel: input.ChannelSocket})
	}
	message := "it ended"
	if err := p.Err(); err != nil {
		message = err.Error()
	}
	heeded := halter.Ended(p) && halter.Heeded()
	r.loop.Put(input.BridgeLost{Message: message, Halted: halted, Heeded: heeded})
}
