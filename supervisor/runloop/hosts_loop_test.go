package runloop

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// placing gives every agent a directory.
type placing struct{}

func (placing) Record(_ context.Context, r input.ChangeRecord) input.ChangeRecorded {
	return input.ChangeRecorded{Serial: r.Serial}
}

func (placing) Place(context.Context, runconfig.Place) (runconfig.Worktree, map[string]string, error) {
	return runconfig.Worktree{Branch: "b"}, nil, nil
}

func (placing) Merge(_ context.Context, m input.IsolationMerge) input.IsolationMerged {
	return input.IsolationMerged{Serial: m.Serial, Status: input.StatusMerged}
}

func (placing) Revert(_ context.Context, r input.Revert) input.ChangeReverted {
	return input.ChangeReverted{Serial: r.Serial}
}

// onTwoHosts plays a run with an Orchestrator on another host, and returns that host's bridge.
func onTwoHosts(t *testing.T) (*liveRun, *fakePort) {
	t.Helper()
	n := newLiveRun(t, &fakeJournal{}, silentPort())
	far := n.spare(silentPort())
	far.host = "box"
	n.loop.Files(placing{})
	n.loop.OnBridgeLost(func(_ context.Context, host string) (Opened, *input.BridgeFailed) {
		testkit.Same(t, "opens", "box", host)
		time.Sleep(5 * time.Second) // in a queue
		return Opened{Port: far, Dir: "/far"}, nil
	}, nil)
	n.begin(func(o *runconfig.Options) {
		o.Task, o.Hosts = "build", []runconfig.Host{{Name: "box", Slots: 1}}
		o.Workspace = runconfig.Workspace{Root: "/w", Base: "b", Own: "/own"}
	})
	time.Sleep(time.Second)
	r, err := n.loop.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
		Tool: "spawn_orchestrator", Input: json.RawMessage(`{"prompt":"work","host":"box"}`)})
	if err != nil || r.IsError {
		t.Fatal(r, err)
	}
	time.Sleep(10 * time.Second)
	return n, far
}

// TestEffectsGoToTheHostOfTheirAgent: the bridge there is opened when it is needed, and starts only that agent.
func TestEffectsGoToTheHostOfTheirAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, far := onTwoHosts(t)
		if !slices.Equal(far.starts(), []string{"orch-1#1"}) || !slices.Equal(n.port.starts(), []string{"arbiter#1"}) {
			t.Errorf("there: %v, here: %v", far.starts(), n.port.starts())
		}
		if a, _ := n.loop.Snapshot().Agent("orch-1"); a.Status != supervisor.AgentBusy {
			t.Errorf("it is %s", a.Status)
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		testkit.Same(t, "exit", contract.ExitInterrupted, n.over())
	})
}

// TestAHostSpeaksForItsOwnAgentsAlone: what another host reports about an agent is dropped, and reported once.
func TestAHostSpeaksForItsOwnAgentsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _ := onTwoHosts(t)
		arbiter := bridge.AgentRef{ID: "arbiter", Generation: 1}
		there := n.loop.Handler("box")
		verdict := json.RawMessage(`{"decision":"COMPLETE","message":"done","reason":"r","summary":"s"}`)
		for range 3 {
			there.Event(bridge.Event{AgentRef: arbiter, Body: bridge.Turn{Outcome: bridge.TurnDone, Verdict: verdict,
				MessageIDs: n.loop.Snapshot().Agents[0].Turn}})
		}
		r, _ := there.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: arbiter, Tool: "status"})
		p, _ := there.Permission(t.Context(), bridge.PermissionParams{AgentRef: arbiter, Request: "p1", Tool: "Read",
			Input: json.RawMessage(`{}`)})
		j, _ := there.Judge(t.Context(), bridge.JudgeParams{AgentRef: arbiter, Tool: "Read", Input: json.RawMessage(`{}`)})
		if !r.IsError || p.Behavior != bridge.Deny || j.Behavior != bridge.Deny {
			t.Errorf("tool %+v, permission %+v, judged %+v", r, p, j)
		}
		time.Sleep(time.Second)
		if s := n.loop.Snapshot(); s.Ending != nil || s.Agents[0].Status != supervisor.AgentBusy {
			t.Errorf("the Arbiter is %s, ending %+v", s.Agents[0].Status, s.Ending)
		}
		told := 0
		for _, e := range hearing[contract.Error](n) {
			if strings.Contains(e.Message, "it runs on host here, but the input came from host box") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times", told)
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		n.over()
	})
}
