package runloop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Failures that scripts/chaos found, without randomness.

// overtaken is a bridge on which a kill arrives before the start that it has to undo.
type overtaken struct{ *fakePort }

func (o overtaken) Kill(_ context.Context, p bridge.KillParams) error {
	o.mu.Lock()
	_, lives := o.live[p.ID]
	o.mu.Unlock()
	if !lives {
		return &bridge.RPCError{Code: bridge.CodeUnknownAgent, Message: "there is no agent"}
	}
	o.end(p.AgentRef)
	return nil
}

// TestAKillOvertakesTheStart: an agent that is released while it is being started ends, although the first kill
// found no process.
func TestAKillOvertakesTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := silentPort()
		n := newLiveRun(t, &fakeJournal{}, port)
		n.beginOn(overtaken{port}, func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.loop.Put(input.Command{Channel: input.ChannelStdin,
			Command: contract.Command{Ref: "f", Body: contract.ForceAgent{Mode: "developer"}}})
		synctest.Wait() // its start takes 300 ms
		n.loop.Put(input.Command{Channel: input.ChannelStdin,
			Command: contract.Command{Ref: "k", Body: contract.Kill{ID: "orch-1"}}})
		time.Sleep(5 * time.Second)
		if a, _ := n.loop.Snapshot().Agent("orch-1"); a.Status != supervisor.AgentEnded || port.alive() != 1 {
			t.Errorf("it is %s, and %d processes are alive", a.Status, port.alive())
		}
		if len(n.loop.starts) > 1 {
			t.Errorf("%d starts are remembered", len(n.loop.starts))
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		n.over()
	})
}
