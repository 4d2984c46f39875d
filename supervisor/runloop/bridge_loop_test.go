package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
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
		n.loop.Open = func(context.Context, string) (Opened, *input.BridgeFailed) {
			return opens(next)
		}
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
		testkit.Check(t, len(first.starts()) == 1 && slices.Equal(next.starts(), []string{"arbiter#2"}),
			"the first was asked for %v, the second for %v", first.starts(), next.starts())
		n.stop()
	})
}

// TestABridgeThatIsGoneBeforeItWasTold: it started, answered, and ended while the report of its start was on
// the way to the loop, so that its loss is reported first.
func TestABridgeThatIsGoneBeforeItWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLiveRun(t, &fakeJournal{}, silentPort())
		dead, good := &goneBridge{n.spare(silentPort())}, n.spare(silentPort())
		var opened atomic.Int64
		n.loop.Open = func(context.Context, string) (Opened, *input.BridgeFailed) {
			if opened.Add(1) == 1 {
				n.loop.Put(input.BridgeLost{Message: "signal: killed"})
				time.Sleep(time.Second)
				return opens(dead)
			}
			return opens(good)
		}
		n.begin(func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.loop.Put(input.BridgeLost{Message: "signal: killed"})
		time.Sleep(20 * time.Second)
		a := n.loop.Snapshot().Agents[0]
		testkit.Check(t, a.Status == supervisor.AgentBusy && opened.Load() == 2 && len(dead.starts()) == 0,
			"the Arbiter is %s, %d bridges were opened, the dead one was asked for %v", a.Status, opened.Load(),
			dead.starts())
		testkit.Same(t, "exit", contract.ExitInterrupted, n.stop())
	})
}

// TestTheEndWhileABridgeIsOpened: the end of a run does not wait for the bridge.
func TestTheEndWhileABridgeIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLiveRun(t, &fakeJournal{}, silentPort())
		n.loop.Open = func(ctx context.Context, _ string) (Opened, *input.BridgeFailed) {
			<-ctx.Done()
			return Opened{}, &input.BridgeFailed{Category: bridge.CatInternal, Message: "cancelled"}
		}
		n.begin(func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.loop.Put(input.BridgeLost{Message: "signal: killed"})
		time.Sleep(time.Minute)
		began := time.Now()
		exit := n.stop()
		testkit.Check(t, exit == contract.ExitInterrupted && time.Since(began) <= time.Minute, "exit %d after %s", exit,
			time.Since(began))
		r := hearing[contract.Result](n)
		testkit.Check(t, len(r) == 1 && r[0].Status == contract.StatusInterrupted, "results %v", r)
	})
}

// placing gives every agent a directory.
type placing struct{}

func (placing) Record(_ context.Context, r input.ChangeRecord) input.SnapshotTaken {
	return input.SnapshotTaken{Serial: r.Serial}
}

func (placing) Place(context.Context, runconfig.Place) (runconfig.Worktree, map[string]string, error) {
	return runconfig.Worktree{Branch: "b"}, nil, nil
}

func (placing) Merge(_ context.Context, m input.IsolationMerge) input.Merged {
	return input.Merged{Serial: m.Serial, Status: input.StatusMerged}
}

func (placing) Revert(_ context.Context, r input.Revert) input.Reverted {
	return input.Reverted{Serial: r.Serial}
}

// TestAHostSpeaksForItsOwnAgentsAlone: the effects of an agent go to the bridge of its host, which is opened when it is
// needed, and starts only that agent. What another host reports about an agent is dropped, and reported once.
func TestAHostSpeaksForItsOwnAgentsAlone(t *testing.T) { synctest.Test(t, onTwoHosts) }

func onTwoHosts(t *testing.T) {
	n := newLiveRun(t, &fakeJournal{}, silentPort())
	far := n.spare(silentPort())
	far.host = "box"
	n.loop.Files = placing{}
	n.loop.Open = func(_ context.Context, host string) (Opened, *input.BridgeFailed) {
		testkit.Same(t, "opens", "box", host)
		time.Sleep(5 * time.Second) // in a queue
		return Opened{Port: far, Dir: "/far"}, nil
	}
	n.begin(func(o *runconfig.Options) {
		o.Task, o.Hosts = "build", []runconfig.Host{{Name: "box", Slots: 1}}
		o.Workspace = runconfig.Workspace{Root: "/w", Base: "b", Own: "/own"}
	})
	time.Sleep(time.Second)
	arbiter, there := bridge.AgentRef{ID: "arbiter", Generation: 1}, n.loop.Handler("box")
	n.loop.call(t, arbiter, "spawn_orchestrator", `{"prompt":"work","host":"box"}`)
	time.Sleep(10 * time.Second)
	testkit.Same(t, "there", []string{"orch-1#1"}, far.starts())
	testkit.Same(t, "here", []string{"arbiter#1"}, n.port.starts())
	a, _ := n.loop.Snapshot().Agent("orch-1")
	testkit.Check(t, a.Status == supervisor.AgentBusy, "it is %s", a.Status)

	verdict := json.RawMessage(`{"decision":"COMPLETE","message":"done","reason":"r","summary":"s"}`)
	for range 3 {
		there.Event(bridge.Event{AgentRef: arbiter, Body: bridge.Turn{Outcome: bridge.TurnDone, Verdict: verdict,
			MessageIDs: n.loop.Snapshot().Agents[0].Turn}})
	}
	r, _ := there.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: arbiter, Tool: "status"})
	p, _ := there.Permission(t.Context(), bridge.PermissionParams{AgentRef: arbiter, Request: "p1", Tool: "Read",
		Input: json.RawMessage(`{}`)})
	j, _ := there.Judge(t.Context(), bridge.JudgeParams{AgentRef: arbiter, Tool: "Read", Input: json.RawMessage(`{}`)})
	testkit.Check(t, r.IsError && p.Behavior == bridge.Deny && j.Behavior == bridge.Deny,
		"tool %+v, permission %+v, judged %+v", r, p, j)
	time.Sleep(time.Second)
	s := n.loop.Snapshot()
	testkit.Check(t, s.Ending == nil && s.Agents[0].Status == supervisor.AgentBusy, "the Arbiter is %s, ending %+v",
		s.Agents[0].Status, s.Ending)
	told := 0
	for _, e := range hearing[contract.Error](n) {
		if strings.Contains(e.Message, "it runs on host here, but the input came from host box") {
			told++
		}
	}
	testkit.Same(t, "told times", 1, told)
	testkit.Same(t, "exit", contract.ExitInterrupted, n.stop())
}

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
		n.give("f", contract.ForceAgent{Mode: "developer"})
		synctest.Wait() // its start takes 300 ms
		n.give("k", contract.Kill{ID: "orch-1"})
		time.Sleep(5 * time.Second)
		if a, _ := n.loop.Snapshot().Agent("orch-1"); a.Status != supervisor.AgentEnded || port.alive() != 1 {
			t.Errorf("it is %s, and %d processes are alive", a.Status, port.alive())
		}
		testkit.Check(t, len(n.loop.starts) <= 1, "%d starts are remembered", len(n.loop.starts))
		n.stop()
	})
}

// slowPort has checks that end only when they are cancelled.
type slowPort struct {
	*fakePort
	begun, ended chan string
}

func (s *slowPort) Check(ctx context.Context, p bridge.CheckParams) (bridge.CheckResult, error) {
	s.begun <- p.Command
	<-ctx.Done()
	s.ended <- p.Command
	return bridge.CheckResult{}, ctx.Err()
}

// slowDecider ends only when it is cancelled.
type slowDecider struct{ *slowPort }

func (s slowDecider) Decide(ctx context.Context, _ decider.Input) (decider.Decision, error) {
	_, err := s.Check(ctx, bridge.CheckParams{Command: "decide"})
	return decider.Decision{}, err
}

// TestHaltCancelsChecksAndDeciders: a halt cancels running checks and deciders at once. Their results are not
// recorded, and a continue command requests them again.
func TestHaltCancelsChecksAndDeciders(t *testing.T) {
	for _, what := range []string{"true", "decide"} {
		synctest.Test(t, func(t *testing.T) {
			recorded := &fakeJournal{}
			port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
				if p.ID == contract.Arbiter {
					f.loop.call(t, p.AgentRef, "spawn_orchestrator", `{"prompt":"x"}`)
					f.ruled(p, ruling("CONTINUE", "Patience."))
					return
				}
				f.ruled(p, proven("done", "true"))
			}}
			n := newLiveRun(t, recorded, port)
			s := &slowPort{port, make(chan string, 9), make(chan string, 9)}
			n.loop.Decider = slowDecider{s}
			n.beginOn(s, func(o *runconfig.Options) {
				o.Task, o.CheckTimeout, o.Permissions = "build", time.Hour, "allow-all"
				if what == "decide" {
					o.Decider, o.DeciderTimeout = runconfig.DeciderStateless, time.Hour
				}
			})
			halt := func() {
				got := <-s.begun
				testkit.Need(t, got == what, "%s was begun", got)
				began := time.Now()
				n.give("r", contract.Halt{})
				<-s.ended
				took := time.Since(began)
				testkit.Check(t, took <= 0, "told after %s", took)
			}
			halt()
			synctest.Wait()
			testkit.Check(t, n.loop.Snapshot().Handoff.Documents != nil != (what == "decide"), "the document: %+v",
				n.loop.Snapshot().Handoff.Documents)
			n.give("c", contract.Continue{})
			halt()
			n.stop()
			for _, f := range recorded.inputs(t) {
				d, decided := f.(input.Decided)
				_, checked := f.(input.Checked)
				testkit.Check(t, !checked && (!decided || d.Serial <= 0), "recorded: %#v", f)
			}
			testkit.Check(t, len(n.loop.cancellables) <= 1, "kept: %d", len(n.loop.cancellables))
		})
	}
}
