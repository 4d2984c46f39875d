package supervisor

import (
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestForkFromASnapshot: the first decision that can be made again is the one after those of the oldest snapshot, if its
// question was not put before.
func TestForkFromASnapshot(t *testing.T) {
	for turn, want := range map[string]int{"": 37, "m-1": 38} {
		s := State{Rulings: RulingState{Decisions: 36}}
		s.Agents = []*Agent{{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}}}}
		if turn != "" {
			s.Agents[0].Turn = []string{turn}
		}
		raw, err := Snapshot{State: s}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		f := ForkFinder{Number: 5}
		if err := f.Take(journal.Record{Kind: journal.Snapshot, Seq: 900, Payload: raw}); err != nil {
			t.Fatal(err)
		}
		if f.First != want || f.Last() != 36 || f.Found {
			t.Errorf("turn %q: from %d to %d, want from %d", turn, f.First, f.Last(), want)
		}
	}
}

// TestForkedState: a fork has ids of its own in all texts, and directories of its own; what waits for processes of the
// other run is dropped. An agent on another host is refused.
func TestForkedState(t *testing.T) {
	old, run := uuid.NewString(), uuid.NewString()
	s := State{Options: runconfig.Options{Run: old, CWD: "/src",
		Workspace: runconfig.Workspace{Root: "/src", Base: "b", Own: "/state/runs/" + old + "/work"}}}
	s.Paused = true
	s.Changes.Last, s.Changes.Queue = "c", []input.ChangeTurn{{Agent: "orch-1"}, {Judge: true}}
	s.Budget.CostUSD = 1.5
	for _, id := range []string{"arbiter", "orch-1", "orch-2"} {
		a := &Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 2}, SessionID: uuid.NewString(),
			Role: RoleOrchestrator, Brief: "Work on arbiter/" + old[:8] + "/main of " + old}}
		if id == "arbiter" {
			a.Role = RoleArbiter
		}
		if id == "orch-2" {
			a.Make, a.MakeSession, a.HasHistory = "other", "its own", true
		}
		a.Turn = []string{"m-" + id}
		s.Agents = append(s.Agents, a)
	}
	f := ForkFinder{Number: 3, State: s}
	forked, err := f.Fork(run)
	if err != nil {
		t.Fatal(err)
	}
	now := &forked.State
	if now.Options.Run != run || now.Options.ForkedFrom.Run != old || now.Options.ForkedFrom.CostUSD != 1.5 ||
		now.Spent() != 1.5 || now.Paused || now.Ending == nil || !now.Options.Workspace.Isolated() {
		t.Errorf("%+v", now.Options)
	}
	if len(now.Changes.Queue) != 1 || !now.Changes.Queue[0].Judge || now.Changes.Last != "" {
		t.Errorf("%+v", now.Changes)
	}
	if a := now.Agents[1]; a.Brief != "Work on arbiter/"+run[:8]+"/main of "+run || a.Isolation == "" ||
		!strings.Contains(a.ReturnNotice, path.Join("/state/runs", run, "work", "orch-1")) {
		t.Errorf("%+v", a)
	}
	// A session of another make is not copied, and loading it would change the other run's.
	if a := now.Agents[2]; a.MakeSession != "" || !a.NewSession || len(forked.Afresh) != 1 || forked.Afresh[0] != "orch-2" {
		t.Errorf("%+v begins %v", a, forked.Afresh)
	}
	for i, x := range forked.Sessions {
		if x.From != s.Agents[i].SessionID || x.To != now.Agents[i].SessionID || x.From == x.To || x.FromTop != "/src" ||
			x.ToTop != path.Join("/state/runs", run, "work", x.Agent) || x.Cut[0] != "m-"+x.Agent {
			t.Errorf("%+v", x)
		}
	}
	if s.Agents[1].Isolation != "" || s.Options.Run != old {
		t.Error("the state of the other run was changed")
	}
	s.Agents[1].Host = "far"
	if _, err := f.Fork(run); err == nil || !strings.Contains(err.Error(), "orch-1 works on host far") {
		t.Error(err)
	}
	if err := f.Take(journal.Record{Kind: journal.Input, Payload: []byte("{")}); err == nil || errors.Is(err,
		journal.ErrEnough) {
		t.Error(err)
	}
}
