package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// isolated is the workspace of a run whose Orchestrators have worktrees; it works below the top of the repository.
func isolated(o *runconfig.Options) {
	o.CWD = "/repo/sub"
	o.Workspace = runconfig.Workspace{
		Root: "/repo", Base: "base", Prefix: "sub", Own: "/own", Isolation: runconfig.IsolationWorktree,
	}
}

// mergesTo answers the running merge.
func (p *play) mergesTo(m input.IsolationMerged) {
	p.t.Helper()
	m.Serial = lastEffect[input.IsolationMerge](p).Serial
	p.do(input.Merged(m))
}

// TestIsolatedWork: an Orchestrator starts in its own directory, its checks run there, its work is merged, and
// the checks run once more on the merged files before the Arbiter is notified.
func TestIsolatedWork(t *testing.T) {
	p := begin(t, isolated)
	spawn := lastEffect[input.Spawn](p)
	if want := (runconfig.Place{Agent: "arbiter", Generation: 1}); spawn.Place != want || spawn.Params.Config.CWD != "/own/arbiter/sub" {
		t.Errorf("the Arbiter starts in %s, %+v", spawn.Params.Config.CWD, spawn.Place)
	}
	one := p.spawn("parser")
	spawn = lastEffect[input.Spawn](p)
	want := runconfig.Place{Agent: one, Generation: 1, Kind: "worktree"}
	if spawn.Place != want || spawn.Params.Config.CWD != "/own/orch-1/sub" {
		t.Errorf("it starts in %s, %+v", spawn.Params.Config.CWD, spawn.Place)
	}
	p.contains("its prompt", spawn.Params.Config.AppendSystemPrompt, "/own/orch-1/sub", "The workspace is a Git worktree of your own")
	if len(told[contract.Workspace](p)) != 0 {
		t.Error("the directory is reported before it exists")
	}
	own := runconfig.Worktree{Branch: "arbiter/6f1c2a52/orch-1.1", Base: "b", Isolation: "worktree"}
	two := p.call("arbiter", "spawn_orchestrator", `{"prompt":"printer"}`)
	p.do(input.Spawned{Agent: p.agent("orch-2").AgentRef, Result: bridge.SpawnResult{Window: 200_000}, Own: own})
	if two.IsError || last[contract.Workspace](p).Dir != "/own/orch-2/sub" || p.agent("orch-2").Own != own {
		t.Errorf("told %+v of %+v", last[contract.Workspace](p), p.agent("orch-2").Own)
	}
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	if c, _ := p.checking(); c.Params.CWD != "/own/orch-1/sub" || c.Again {
		t.Errorf("the first check runs in %s", c.Params.CWD)
	}
	p.pass()
	if m := lastEffect[input.IsolationMerge](p); m.Agent != one || len(effects[input.IsolationMerge](p)) != 1 {
		t.Fatalf("asked for %+v", m)
	}
	before := len(p.out)
	p.mergesTo(input.IsolationMerged{Status: input.StatusMerged, Head: "h", Files: []string{"parser.go"}})
	renewed := slices.ContainsFunc(p.out[before:], func(e input.Effect) bool {
		timer, ok := e.(input.SetTimer)
		return ok && timer.Key == fmt.Sprint(HandoffTimerPrefix, p.s.Handoff.Documents[0].Serial) && timer.After > 0
	})
	if !renewed {
		t.Error("the checks of the merged files share the time of the first ones")
	}
	c, open := p.checking()
	if !open || c.Params.CWD != "/own/arbiter/sub" {
		t.Fatalf("on the merged files: %v, in %s", open, c.Params.CWD)
	}
	p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request, Result: bridge.CheckResult{Exit: 1, Output: "broken"}})
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is merged", "0 passed, 1 failed")
	if merges := told[contract.Merge](p); len(merges) != 1 || merges[0].Status != "merged" {
		t.Errorf("told %+v", merges)
	}
	p.folds()
}

// TestConflictGoesBackToItsAuthor: the author works again; if that does not help, the Arbiter is notified.
func TestConflictGoesBackToItsAuthor(t *testing.T) {
	p := begin(t, isolated)
	one := p.spawn("parser")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	for attempt := range input.MaxConflicts + 1 {
		p.verdict(one, proven("done", "make parser"))
		p.pass()
		p.mergesTo(input.IsolationMerged{Status: input.StatusConflict, Head: "c0ffee", Files: []string{"go.mod"}})
		if attempt == input.MaxConflicts {
			break
		}
		p.contains("what its author reads", p.lastSent(one), "git merge c0ffee", "- go.mod")
		if a := p.agent(one); a.Standing != AgentWorking || a.Status != AgentBusy {
			t.Fatalf("after attempt %d it is %s, %s", attempt, a.Standing, a.Status)
		}
		if strings.Contains(p.lastSent("arbiter"), "go.mod") {
			t.Fatalf("the Arbiter heard of attempt %d", attempt)
		}
	}
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is NOT merged", "go.mod")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Merge it by hand.", "to", one))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.mergesTo(input.IsolationMerged{Status: input.StatusMerged, Head: "h"})
	p.pass()
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is merged")
	p.folds()
}

// TestMergeOverACrash: another process requests the merge again; the result of the old request is not accepted.
func TestMergeOverACrash(t *testing.T) {
	p := begin(t, isolated)
	one := p.spawn("parser")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	first := lastEffect[input.IsolationMerge](p)
	p.do(input.Resumed{Options: p.s.Options})
	again := lastEffect[input.IsolationMerge](p)
	if again.Serial == first.Serial || again.Agent != one {
		t.Fatalf("asked again for %+v after %+v", again, first)
	}
	p.do(input.Merged{Serial: first.Serial, Status: input.StatusMerged, Head: "old"})
	if len(told[contract.Merge](p)) != 0 {
		t.Error("the answer of another process run was taken")
	}
	p.mergesTo(input.IsolationMerged{Status: input.StatusMerged, Head: "h"})
	if merges := told[contract.Merge](p); len(merges) != 1 || merges[0].Head != "h" {
		t.Errorf("told %+v", merges)
	}
	// A merge that never ends does not prevent further work.
	p = begin(t, isolated)
	one = p.spawn("parser")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, p.s.Handoff.Documents[0].Serial)})
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is NOT merged: the merge is out of time")
}

// TestIsolatedRunIsJudgedOnItsBranch: checks are repeated and criteria run on the merged files, and the result
// counts what is on the run branch.
func TestIsolatedRunIsJudgedOnItsBranch(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { isolated(o); o.Accept = []string{"make test"} })
	one := p.spawn("parser")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.mergesTo(input.IsolationMerged{Status: input.StatusMerged, Head: "h"})
	p.pass()
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	if c, _ := p.checking(); !c.Again || c.Params.CWD != "/own/arbiter/sub" {
		t.Errorf("repeated in %s", c.Params.CWD)
	}
	p.repeat(nil)
	if r := lastEffect[input.ChangeRecord](p); !r.Branch || !r.Tree {
		t.Fatalf("judged on %+v", r)
	}
	p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "h", Tree: "tree"})
	if c, _ := p.checking(); !c.Criterion || c.Params.CWD != "/own/arbiter/sub" {
		t.Errorf("the criterion is judged in %s", c.Params.CWD)
	}
	p.criteria(nil)
	p.do(input.Stopped{})
	if r := lastEffect[input.ChangeRecord](p); !r.Branch || !r.Final {
		t.Errorf("the last snapshot is %+v", r)
	}
}

// TestOneIsIsolated: the Arbiter may isolate one Orchestrator in a run that shares its directory. Its successor
// has its own directory, too, and agents that share the run's directory are not told that it works beside them.
func TestOneIsIsolated(t *testing.T) {
	p := begin(t, nil)
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"p","isolated":true}`); !a.IsError || !strings.Contains(a.Text, "no Git repository") {
		t.Errorf("without Git: %+v", a)
	}
	p = begin(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
	if spawn := lastEffect[input.Spawn](p); spawn.Place != (runconfig.Place{}) || spawn.Params.Config.CWD != "/repo/sub" {
		t.Errorf("the Arbiter is placed %+v", spawn.Place)
	}
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"p","isolated":true}`)
	p.spawned("orch-1")
	if spawn := lastEffect[input.Spawn](p); spawn.Place.Kind != "worktree" ||
		spawn.Params.Config.CWD != "/own/orch-1/sub" {
		t.Errorf("placed %+v in %s", spawn.Place, spawn.Params.Config.CWD)
	}
	shares := p.spawn("q")
	if spawn := lastEffect[input.Spawn](p); spawn.Place != (runconfig.Place{}) ||
		strings.Contains(p.lastSent(shares), "You are not alone") {
		t.Errorf("placed %+v", spawn.Place)
	}
	answer := p.call("arbiter", "spawn_orchestrator", `{"prompt":"r"}`)
	p.contains("the answer for one that shares", answer.Text, "with isolated an Orchestrator gets one of its own")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict("orch-1", report("handoff", "I am full.", true))
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`)
	heir := lastEffect[input.Spawn](p)
	if want := (runconfig.Place{Agent: "orch-4", Generation: 1, Kind: "worktree", After: "orch-1"}); heir.Place != want {
		t.Errorf("its successor is placed %+v", heir.Place)
	}
}

// TestIsolatedInASandbox: an agent has a clone, and may write there and not in the run's directory.
func TestIsolatedInASandbox(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		isolated(o)
		o.Sandbox = &bridge.SandboxConfig{Program: "/bwrap", Write: []string{"/cache"}, Hide: []string{"/state"}}
	})
	p.spawn("parser")
	spawn := lastEffect[input.Spawn](p)
	if spawn.Place.Kind != "clone" || !slices.Equal(spawn.Params.Config.Sandbox.Write, []string{"/cache", "/own/orch-1"}) {
		t.Errorf("placed %+v, writes %v", spawn.Place, spawn.Params.Config.Sandbox.Write)
	}
	testkit.Same(t, "", []string{"/cache"}, p.s.Options.Sandbox.Write)
}
