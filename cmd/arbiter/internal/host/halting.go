package host

// This file stops all agents of a run, even if the run's loop or its bridge does not answer: it asks the
// loop, then the bridges, and finally kills the processes that have the mark of the run.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

const (
	// haltByLoop is how long the run's loop has to stop its agents, and haltByBridge how long the bridge has after
	// that. Then every process with the run's mark is killed.
	haltByLoop   = 1500 * time.Millisecond
	haltByBridge = 3 * time.Second
	haltLook     = 25 * time.Millisecond
)

// GraceMS is how long a bridge waits for agents that it stops for a halt, in milliseconds.
const GraceMS = 200

// Halter halts a run. It is safe for concurrent use.
type Halter struct {
	run HaltRun

	turn      sync.Mutex                    // one halt at a time
	bridgePID atomic.Int64                  // of the current bridge
	ended     atomic.Pointer[bridge.Client] // the bridge that the last halt ended
	before    atomic.Int64                  // the run's Halts when that halt began
}

// HaltRun is what a halter stops.
type HaltRun struct {
	ID        string
	Loop      InputLoop
	Input     *Sender
	Bridge    func() *bridge.Client // of this machine; nil while there is none
	Elsewhere HaltedElsewhere
	Log       *slog.Logger
}

// HaltedElsewhere stops and lists the agents of a run on other hosts.
type HaltedElsewhere interface {
	Halt(ctx context.Context) // asks the bridges there to stop everything
	Agents() []string         // agents that have a process, as far as the run knows
	Lost() []string           // agents on lost hosts that may still have a process
}

// NewHalter makes a halter for a run.
func NewHalter(run HaltRun) *Halter { return &Halter{run: run} }

// BridgeStarted stores the PID of the bridge on this machine.
func (h *Halter) BridgeStarted(pid int) { h.bridgePID.Store(int64(pid)) }

// Ended reports whether a halt ended this bridge of this machine.
func (h *Halter) Ended(c *bridge.Client) bool { return h.ended.Load() == c }

// HaltApplied reports whether the run's loop has applied the last halt.
func (h *Halter) HaltApplied() bool { return h.run.Loop.Snapshot().Halts > int(h.before.Load()) }

// Halt stops every agent. It returns within about ten seconds. The run remains live, and `continue` starts the
// agents again.
func (h *Halter) Halt(channel string) control.HaltResult {
	return h.HaltAs(contract.Command{Ref: h.run.Input.NewRef(), Body: contract.Halt{}}, channel)
}

// HaltAs is like Halt, for a command that the run answers.
func (h *Halter) HaltAs(c contract.Command, channel string) control.HaltResult {
	h.turn.Lock()
	defer h.turn.Unlock()
	loop := h.run.Loop
	before := loop.Snapshot().Halts
	h.before.Store(int64(before))
	queued := h.run.Input.Later(input.Command{Command: c, Channel: channel})
	result := control.HaltResult{How: "loop"}
	ctx, cancel := context.WithTimeout(context.Background(), haltByLoop)
	defer cancel()
	continued := func() bool { // a client has continued the run in the meantime
		s := loop.Snapshot()
		return s.Halts > before && !s.Halted
	}
	halted := func() bool { return loop.Snapshot().Halted && len(h.run.Elsewhere.Agents()) == 0 }
	if !h.awaitStill(ctx, halted, continued) && !continued() {
		result.How, result.Swept = h.haltBridge()
	}
	select {
	case <-queued:
	case <-time.After(haltLook):
	}
	result.Halted = loop.Snapshot().Halted
	result.Left = slices.Concat(h.aliveHere(), h.run.Elsewhere.Agents(), h.run.Elsewhere.Lost())
	h.run.Log.Warn("halted", "by", channel, "how", result.How, "swept", result.Swept, "left", result.Left, "told",
		result.Halted)
	return result
}

// OnStdin halts the run for a command `halt` on stdin, without waiting for a loop that may be stuck. It returns
// false for any other command, and after the end of the run.
func (h *Halter) OnStdin(c contract.Command) bool {
	if _, ok := c.Body.(contract.Halt); !ok {
		return false
	}
	select {
	case <-h.run.Loop.Done():
		return false // nothing is left to stop
	default:
	}
	h.run.Input.Go(func() { h.HaltAs(c, input.ChannelStdin) })
	return true
}

// haltBridge makes the bridge stop everything, and kills it if it does not. After a halt, a bridge starts nothing
// any more, so it is ended as well, and a new bridge follows.
func (h *Halter) haltBridge() (how string, swept int) {
	ctx, cancel := context.WithTimeout(context.Background(), haltByBridge)
	defer cancel()
	var elsewhere sync.WaitGroup
	elsewhere.Go(func() { h.run.Elsewhere.Halt(ctx) })
	defer elsewhere.Wait()
	client := h.run.Bridge()
	switch {
	case h.run.Loop.Snapshot().Halted && len(h.aliveHere()) == 0:
		return "loop", 0 // only other hosts are still awaited
	case client == nil:
		return "bridge", 0
	}
	h.ended.Store(client)
	_, err := client.Shutdown(ctx, bridge.ShutdownParams{GraceMS: GraceMS})
	if err == nil && h.awaitStill(ctx, func() bool { return true }, func() bool { return false }) {
		h.run.Input.Go(func() { _ = client.Close() }) // the watch of the bridge reports how it ended
		return "bridge", 0
	}
	// The bridge has the mark, too. Processes on other hosts are stopped by the bridges there.
	swept = proctree.SweepMarked(proctree.Mark{Run: h.run.ID, Bridge: LocalBridge})
	h.run.Input.Go(func() { _ = client.Close() })
	return "killed", swept
}

// awaitStill waits until no agent has a process here and the condition `and` holds. It gives up when ctx ends or
// when unwanted returns true.
func (h *Halter) awaitStill(ctx context.Context, and, unwanted func() bool) bool {
	for {
		switch {
		case and() && len(h.aliveHere()) == 0:
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

// aliveHere returns the run's processes on this host, except the bridge.
func (h *Halter) aliveHere() (alive []string) {
	for _, p := range proctree.SurvivorsMarked(proctree.Mark{Run: h.run.ID, Bridge: LocalBridge}) {
		if int64(p.PID) != h.bridgePID.Load() {
			alive = append(alive, fmt.Sprintf("%s (%d)", p.Name, p.PID))
		}
	}
	return alive
}
