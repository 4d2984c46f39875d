package runhost

import (
	"context"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/askmodel"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/bridgenote"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/localbridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// open starts a bridge.
func (r *runtimeRun) open(ctx context.Context) (runloop.Port, bridge.ClaudeInfo, *input.BridgeFailed) {
	start := localbridge.Start{
		Run: r.choices.Options.Run, CWD: r.choices.Options.CWD, Claude: r.choices.Claude,
		Debug: r.choices.Debug, PIDNS: r.choices.PIDNS,
		Stage: r.stage, Lock: r.journal.LockFile(), Handler: r.terminals.Tap(r.loop),
		Log: r.log, Started: r.noteBridge,
	}
	client, claude, failed := start.Open(ctx, func(c *bridge.Client) { r.keep(c, false) })
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	r.choices.Options.StandIn = claude.StandIn
	r.watch.Go(func() { r.watchBridge(client) })
	if failed := r.confine(ctx, client); failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	r.keep(client, true)
	return port{client, &r.terminals, r.hookSocket(), r.choices.Options, r.telemetry}, claude, nil
}

// reopen is a supervisor.Opener: it ends what the lost bridge could not, and starts
// another.
func (r *runtimeRun) reopen(ctx context.Context) (runloop.Opened, *input.BridgeFailed) {
	if err := r.bridge().Close(); err != nil {
		r.log.Warn("bridge", "error", err)
	}
	swept := proctree.SweepMarked(proctree.Mark{Run: r.choices.Options.Run, Bridge: localbridge.Name})
	port, claude, failed := r.open(ctx)
	return runloop.Opened{Port: port, Claude: claude, Swept: swept}, failed
}

// keep has a bridge be the present one: from its start on, so that it can be closed.
func (r *runtimeRun) keep(c *bridge.Client, opened bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client, r.opened = c, opened
}

func (r *runtimeRun) bridge() *bridge.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client
}

// asked is the bridge for questions to a model; nil while none has been opened, and its
// sandbox tried.
func (r *runtimeRun) asked() askmodel.Querier {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil || !r.opened {
		return nil
	}
	if r.telemetry != nil {
		return tracedQuerier{r.client, r.telemetry}
	}
	return r.client
}

// watchBridge tells the loop when the bridge has gone. It ends with the
// client, which closeBridge closes.
func (r *runtimeRun) watchBridge(p *bridge.Client) {
	<-p.Done()
	halted := r.endedByHalt.Load() == p
	if bridgenote.TakeHalted(r.journal.Dir()) {
		halted = true
		r.loop.Put(input.Command{Command: contract.Command{Ref: r.newRef(), Body: contract.Halt{}},
			Channel: input.ChannelSocket})
	}
	message := "it ended"
	if err := p.Err(); err != nil {
		message = err.Error()
	}
	heeded := r.endedByHalt.Load() == p && r.loop.Snapshot().Halts > int(r.haltsBefore.Load())
	r.loop.Put(input.BridgeLost{Message: message, Halted: halted, Heeded: heeded})
}

// decider makes the one that decides in this run. Its model is settled when a process
// begins; a model changed later is for the agents.
func (r *runtimeRun) decider() (decider.Decider, error) {
	o := r.choices.Options
	if o.DecisionCache && r.cache == nil {
		var err error
		r.cache, err = askmodel.OpenCache(r.choices.StateDir, func(err error) { r.log.Warn("decision cache", "error", err) })
		if err != nil {
			return nil, err
		}
	}
	spent := func() float64 { return r.loop.Snapshot().Spent() }
	if !askmodel.OverHTTP(o) {
		return askmodel.Build(o, r.cache, askmodel.Asker{
			Options: o, Spent: spent, Bridge: r.asked,
			Confined: func() *bridge.SandboxConfig { return r.loop.Snapshot().Options.Sandbox },
		})
	}
	var err error
	if r.api, err = askmodel.OpenProvider(o, r.stage); err != nil {
		return nil, err
	}
	return askmodel.Build(o, r.cache, askmodel.HTTPAsker{Client: r.api, Options: o, Spent: spent})
}
