package host

import (
	"context"
	"errors"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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

// hereBridge is the bridge of a run on this machine, with the goroutines that watch it.
type hereBridge struct {
	BridgePresent
	watch sync.WaitGroup // one per bridge: reports its end

	// The following members are set in [hostedRun.ready].
	dir    string // of the run
	loop   InputLoop
	input  *Sender
	halter *Halter
}

// start starts a bridge and a goroutine that reports its end to the loop. With the note, another process can end
// the bridge.
func (h *hereBridge) start(
	ctx context.Context, start BridgeStart, note runstore.BridgeNote,
) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
	start.Started = func(pid int) {
		h.halter.BridgeStarted(pid)
		note.PID = pid
		if err := note.Write(h.dir); err != nil {
			start.Log.Warn("the bridge's process could not be recorded", "error", err)
		}
	}
	client, claude, failed := start.Open(ctx, func(c *bridge.Client) { h.Keep(c, false) })
	if failed == nil {
		h.watch.Go(func() { h.report(client) })
	}
	return client, claude, failed
}

// end ends a lost bridge and its remaining processes. swept is the number of these processes.
func (h *hereBridge) end(run string) (swept int, err error) {
	err = h.Client().Close()
	return proctree.SweepMarked(proctree.Mark{Run: run, Bridge: LocalBridge}), err
}

// report reports the end of a bridge to the loop.
func (h *hereBridge) report(p *bridge.Client) {
	<-p.Done()
	halted := h.halter.Ended(p)
	if runstore.TakeHalted(h.dir) {
		halted = true
		h.loop.Put(input.Command{Command: contract.Command{Ref: h.input.NewRef(), Body: contract.Halt{}},
			Channel: input.ChannelSocket})
	}
	message := "it ended"
	if err := p.Err(); err != nil {
		message = err.Error()
	}
	haltApplied := h.halter.Ended(p) && h.halter.HaltApplied()
	h.loop.Put(input.BridgeLost{Message: message, Halted: halted, HaltApplied: haltApplied})
}

// reopen locks a run, whose last bridge may still be ending its agents, and restores its state.
func (s *storage) reopen(run string) (*supervisor.State, error) {
	var resumed *supervisor.State
	restore := func(found *journal.Recovered) ([]byte, error) {
		state, snapshot, err := supervisor.Restore(found, supervisor.LogItems)
		resumed = &state
		return snapshot, err
	}
	opened, recovery, err := s.store.Open(run, lockTimeout, s.options, restore)
	var held *journal.HeldError
	if errors.As(err, &held) && held.Gone {
		// Its arbiter is dead, and its bridge has not ended in time.
		if n := proctree.Sweep(run, ""); n > 0 {
			s.notices.add("ended processes that still held the run's lock: %s", words.Count(n, "process"))
		}
		opened, recovery, err = s.store.Open(run, lockTimeout, s.options, restore)
	}
	var version *journal.VersionError
	var state *supervisor.VersionError
	switch {
	case errors.As(err, &held):
		return nil, runstore.PlayedElsewhere(run, held.PID)
	case errors.As(err, &version), errors.As(err, &state):
		return nil, command.Environmentf("run %s was written by another version of arbiter: %v; it was not changed",
			command.ShortID(run), err)
	case err != nil:
		return nil, command.Environmentf("run %s cannot be resumed: %v (its journal was not changed)",
			command.ShortID(run), err)
	}
	s.journal = opened
	crashpoint.Here("resume.locked")
	// The last bridge may have held the run until just now. In that case it was spared when the strays of dead runs
	// were ended.
	if n := proctree.Sweep(run, ""); n > 0 {
		s.notices.add("ended processes that the previous process of this run left behind: %s", words.Count(n, "process"))
	}
	s.reportDamage(recovery)
	return resumed, nil
}

// reportDamage adds a notice about lost parts of the journal.
func (s *storage) reportDamage(recovery journal.Recovery) {
	for _, d := range recovery.Damage {
		if !d.Torn && !d.Mended { // a crash leaves a torn end, which has no accepted input
			s.notices.add("the journal was damaged: %s; the rest (%d bytes, %d whole records) was moved to %s", d.Reason,
				d.Bytes, d.Readable, s.journal.Dir())
		}
	}
	if recovery.MetaLost != "" {
		s.notices.add("the run's description was lost (%s) and created again", recovery.MetaLost)
	}
}
