package runloop

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// goneBridge starts nothing any more.
type goneBridge struct{ *fakePort }

func (g *goneBridge) Spawn(ctx context.Context, p bridge.SpawnParams) (bridge.SpawnResult, error) {
	_, err := g.fakePort.Spawn(ctx, p)
	return bridge.SpawnResult{}, errors.Join(err, bridge.ErrClosed)
}

// spare is another bridge for the same loop.
func (n *liveRun) spare(f *fakePort) *fakePort {
	f.loop, f.live = n.loop, map[string]bridge.AgentRef{}
	return f
}

func opens(p Port) (Opened, *input.BridgeFailed) { return Opened{Port: p}, nil }

// TestStartOfALostBridgeIsNotRepeated: the disk was slow, and the bridge was lost before a start was carried
// out. The next bridge must not get that start: the agent would be started twice.
func TestStartOfALostBridgeIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{wait: -1}
		n := newLiveRun(t, recorded, silentPort())
		first, next := &goneBridge{n.port}, n.spare(silentPort())
		n.loop.OnBridgeLost(func(context.Context, string) (Opened, *input.BridgeFailed) {
			return opens(next)
		}, nil)
		n.beginOn(first, nil)
		synctest.Wait() // the start waits for the disk
		n.loop.Put(input.BridgeLost{Message: "killed"})
		synctest.Wait()
		n.loop.next.Store(supervisor.LifecycleHere, next)
		n.loop.Put(input.BridgeBack{})
		synctest.Wait()
		recorded.takes(0)
		recorded.sync()
		time.Sleep(time.Minute)
		if len(first.starts()) != 1 || !slices.Equal(next.starts(), []string{"arbiter#2"}) {
			t.Errorf("the first was asked for %v, the second for %v", first.starts(), next.starts())
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		n.over()
	})
}

// TestABridgeThatIsGoneBeforeItWasTold: it started, answered, and ended while the report of its start was on
// the way to the loop, so that its loss is reported first.
func TestABridgeThatIsGoneBeforeItWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLiveRun(t, &fakeJournal{}, silentPort())
		dead, good := &goneBridge{n.spare(silentPort())}, n.spare(silentPort())
		var opened atomic.Int64
		n.loop.OnBridgeLost(func(context.Context, string) (Opened, *input.BridgeFailed) {
			if opened.Add(1) == 1 {
				n.loop.Put(input.BridgeLost{Message: "signal: killed"})
				time.Sleep(time.Second)
				return opens(dead)
			}
			return opens(good)
		}, nil)
		n.begin(func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.loop.Put(input.BridgeLost{Message: "signal: killed"})
		time.Sleep(20 * time.Second)
		if a := n.loop.Snapshot().Agents[0]; a.Status != supervisor.AgentBusy || opened.Load() != 2 ||
			len(dead.starts()) != 0 {
			t.Errorf("the Arbiter is %s, %d bridges were opened, the dead one was asked for %v", a.Status,
				opened.Load(), dead.starts())
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		if exit := n.over(); exit != contract.ExitInterrupted {
			t.Errorf("exit %d", exit)
		}
	})
}

// TestTheEndWhileABridgeIsOpened: the end of a run does not wait for the bridge.
func TestTheEndWhileABridgeIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLiveRun(t, &fakeJournal{}, silentPort())
		n.loop.OnBridgeLost(func(ctx context.Context, _ string) (Opened, *input.BridgeFailed) {
			<-ctx.Done()
			return Opened{}, &input.BridgeFailed{Category: bridge.CatInternal, Message: "cancelled"}
		}, nil)
		n.begin(func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.loop.Put(input.BridgeLost{Message: "signal: killed"})
		time.Sleep(time.Minute)
		began := time.Now()
		n.loop.Put(input.Signal{Signal: "INT"})
		if exit := n.over(); exit != contract.ExitInterrupted || time.Since(began) > time.Minute {
			t.Errorf("exit %d after %s", exit, time.Since(began))
		}
		if r := hearing[contract.Result](n); len(r) != 1 || r[0].Status != contract.StatusInterrupted {
			t.Errorf("results %v", r)
		}
	})
}
