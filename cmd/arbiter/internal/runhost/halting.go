package runhost

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/bridgenote"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/localbridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

const (
	// haltByLoop is how long the run itself has to stop its agents, haltByBridge the bridge
	// after that. Then everything that bears the run's mark is killed.
	haltByLoop   = 1500 * time.Millisecond
	haltByBridge = 3 * time.Second
	haltGrace    = 200 // ms of the bridge's
	haltLook     = 25 * time.Millisecond
)

// noteBridge writes down which process the bridge is, for a halt that this process does
// not answer to.
func (r *runtimeRun) noteBridge(pid int) {
	r.bridgePID.Store(int64(pid))
	note := bridgenote.Note{Run: r.choices.Options.Run, PID: pid}
	for _, h := range r.choices.Options.Hosts {
		note.Hosts, note.Lease = append(note.Hosts, h.Name), r.choices.Options.Lease
	}
	if err := note.Write(r.journal.Dir()); err != nil {
		r.log.Warn("the bridge's process is not noted down", "error", err)
	}
}

// halt stops every agent, whether or not the loop takes part: it asks the loop, then the
// bridge, and at last kills whatever bears the run's mark. It returns within about ten
// seconds. The run stays, and `continue` starts the agents again.
func (r *runtimeRun) halt(channel string) control.HaltResult {
	return r.haltAs(contract.Command{Ref: r.newRef(), Body: contract.Halt{}}, channel)
}

// haltAs is halt by a command, which the run answers.
func (r *runtimeRun) haltAs(c contract.Command, channel string) control.HaltResult {
	r.halting.Lock()
	defer r.halting.Unlock()
	before := r.loop.Snapshot().Halts
	r.haltsBefore.Store(int64(before))
	told := make(chan struct{})
	r.attached.Go(func() { // until the loop takes it, or is over
		r.loop.Put(input.Command{Command: c, Channel: channel})
		close(told)
	})
	result := control.HaltResult{How: "loop"}
	ctx, cancel := context.WithTimeout(context.Background(), haltByLoop)
	defer cancel()
	goesOn := func() bool { s := r.loop.Snapshot(); return s.Halts > before && !s.Halted } // somebody said so since
	halted := func() bool { return r.loop.Snapshot().Halted && len(r.agentsElsewhere()) == 0 }
	if !r.awaitStill(ctx, halted, goesOn) && !goesOn() {
		result.How, result.Swept = r.haltBridge()
	}
	select {
	case <-told:
	case <-time.After(haltLook):
	}
	result.Halted = r.loop.Snapshot().Halted
	result.Left = slices.Concat(r.aliveHere(), r.agentsElsewhere(), r.lostElsewhere())
	r.log.Warn("halted", "by", channel, "how", result.How, "swept", result.Swept, "left", result.Left, "told",
		result.Halted)
	return result
}

// haltBridge has the bridge stop everything, and kills it if it does not. A bridge that has
// stopped everything starts nothing any more, so that it ends, too, and another follows.
func (r *runtimeRun) haltBridge() (how string, swept int) {
	ctx, cancel := context.WithTimeout(context.Background(), haltByBridge)
	defer cancel()
	var elsewhere sync.WaitGroup
	elsewhere.Go(func() { r.haltElsewhere(ctx) })
	defer elsewhere.Wait()
	client := r.bridge()
	switch {
	case r.loop.Snapshot().Halted && len(r.aliveHere()) == 0:
		return "loop", 0 // other hosts are what is waited for
	case client == nil:
		return "bridge", 0
	}
	r.endedByHalt.Store(client)
	_, err := client.Shutdown(ctx, bridge.ShutdownParams{GraceMS: haltGrace})
	if err == nil && r.awaitStill(ctx, func() bool { return true }, func() bool { return false }) {
		r.attached.Go(func() { _ = client.Close() }) // watchBridge reports how it ended
		return "bridge", 0
	}
	// The bridge bears the mark, too. What runs on other hosts is their bridges' to stop.
	swept = proctree.SweepMarked(proctree.Mark{Run: r.choices.Options.Run, Bridge: localbridge.Name})
	r.attached.Go(func() { _ = client.Close() })
	return "killed", swept
}

// awaitStill waits until no agent has a process here, and so. It gives up with ctx, or as soon
// as nobody wants it any more.
func (r *runtimeRun) awaitStill(ctx context.Context, and, unwanted func() bool) bool {
	for {
		switch {
		case and() && len(r.aliveHere()) == 0:
			return true
		case unwanted():
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(haltLook):
		}
	}
}

// aliveHere names the run's processes on this host but for the bridge itself.
func (r *runtimeRun) aliveHere() (alive []string) {
	for _, p := range proctree.SurvivorsMarked(proctree.Mark{Run: r.choices.Options.Run, Bridge: localbridge.Name}) {
		if int64(p.PID) != r.bridgePID.Load() {
			alive = append(alive, fmt.Sprintf("%s (%d)", p.Name, p.PID))
		}
	}
	return alive
}

// haltOnStdin has the command `halt` not wait for the loop: it may be stuck.
func (r *runtimeRun) haltOnStdin(c contract.Command) bool {
	if _, ok := c.Body.(contract.Halt); !ok {
		return false
	}
	select {
	case <-r.loop.Done():
		return false // nothing is left to be stopped
	default:
	}
	r.attached.Go(func() { r.haltAs(c, input.ChannelStdin) })
	return true
}
