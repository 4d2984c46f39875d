package host

import (
	"context"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

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
	heeded := h.halter.Ended(p) && h.halter.Heeded()
	h.loop.Put(input.BridgeLost{Message: message, Halted: halted, Heeded: heeded})
}
