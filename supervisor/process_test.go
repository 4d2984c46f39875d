package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// one is a run with one Orchestrator in a status.
func one(status AgentStatus) *step {
	st := readyRun(runconfig.Options{})
	addOrchestrator(st).Status = status
	return st
}

// TestRestart: the next process run of an agent has the next generation; none starts in a run that is halted or
// ending.
func TestRestart(t *testing.T) {
	st := one(AgentDown)
	st.restart("orch-1")
	spawned := did[input.Spawn](st)
	if len(spawned) != 1 || spawned[0].Params.Generation != 2 || !spawned[0].Params.Config.Resume {
		t.Errorf("spawned %+v", spawned)
	}
	for name, stop := range map[string]func(*step){
		"halted": func(st *step) { st.Halted = true },
		"ending": func(st *step) { st.Ending = &Ending{} },
	} {
		st := one(AgentDown)
		stop(st)
		st.restart("orch-1")
		if s := did[input.Spawn](st); len(s) != 0 {
			t.Errorf("%s: spawned %+v", name, s)
		}
	}
}

// TestRelaunch: a hanging process is killed at once, and the reason is kept for the next one.
func TestRelaunch(t *testing.T) {
	st := one(AgentBusy)
	st.relaunch("orch-1", runconfig.RestartHung, "it hangs")
	a, _ := st.Agent("orch-1")
	killed := did[input.Kill](st)
	if a.Status != AgentRestarting || a.RestartCause != "it hangs" || len(killed) != 1 || !killed[0].Now {
		t.Errorf("it is %s because %q, killed %+v", a.Status, a.RestartCause, killed)
	}
}

// TestRelease: an agent without a process ends at once; one with a process is stopped first.
func TestRelease(t *testing.T) {
	for status, want := range map[AgentStatus]AgentStatus{
		AgentDown: AgentEnded, AgentReady: AgentStopping,
	} {
		st := one(status)
		st.release("orch-1", "enough", false)
		a, _ := st.Agent("orch-1")
		done := slices.ContainsFunc(did[input.Emit](st), func(e input.Emit) bool {
			_, is := e.Event.Body.(contract.Done)
			return is
		})
		if a.Status != want || !a.Dismissed || done != (want == AgentEnded) || len(did[input.Kill](st)) == 1 == done {
			t.Errorf("%s: it is %s, done %v, killed %v", status, a.Status, done, did[input.Kill](st))
		}
	}
}

// TestLost: a process that failed is started again; one that was halted stays down until the human continues
// the run.
func TestLost(t *testing.T) {
	st := one(AgentEnded)
	st.lost(st.Edit("orch-1"), runconfig.RestartCrash, "it crashed")
	if a, _ := st.Agent("orch-1"); a.Status != AgentDown && a.Status != AgentStarting {
		t.Errorf("it is %s", a.Status)
	}
	st = one(AgentRestarting)
	st.Halted = true
	st.lost(st.Edit("orch-1"), ClassHalt, "the human stopped everything")
	if a, _ := st.Agent("orch-1"); a.Status != AgentDown || len(st.Lifecycle.Restarts) != 0 {
		t.Errorf("it is %s, counted are %+v", a.Status, st.Lifecycle.Restarts)
	}
}

// TestLoseProcesses: the processes of a host end with its bridge, and start again with the next one.
func TestLoseProcesses(t *testing.T) {
	st := one(AgentBusy)
	st.loseProcesses("elsewhere")
	if a, _ := st.Agent("orch-1"); a.Status != AgentBusy {
		t.Errorf("with the bridge of another host it is %s", a.Status)
	}
	st.loseProcesses(LifecycleHere)
	if a, _ := st.Agent("orch-1"); a.Status != AgentDown {
		t.Errorf("with its bridge it is %s", a.Status)
	}
	st.restartWhere(func(a *Agent) bool { return a.Host == LifecycleHere })
	if timers := did[input.SetTimer](st); len(timers) != 1 || timers[0].Key != RestartPrefix+"orch-1/1" {
		t.Errorf("timers %+v", timers)
	}
}

// changedProcess is a run whose Orchestrator did not start, because the workspace has changed since it was trusted.
func changedProcess(humanPresent bool) *step {
	st := one(AgentStarting)
	st.HumanPresent = humanPresent
	st.Options.Trusted, st.Options.TrustHash = true, "old"
	st.distrusted(st.Edit("orch-1"), input.NotSpawned{Category: bridge.CatTrust, Message: "it changed", Trust: "new"})
	return st
}

// TestDistrusted: no agent starts before the human has looked at the changes; what the human then trusts is
// recorded.
func TestDistrusted(t *testing.T) {
	st := changedProcess(true)
	if q := st.Lifecycle.TrustQuestion; !slices.Contains(q.Choices(), ChooseTrust) ||
		!st.Lifecycle.AwaitsTrust("") {
		t.Fatalf("asked %+v", q)
	}
	st.chooseTrust("ref", ChooseTrust)
	if pinned := did[input.PinTrust](st); len(pinned) != 1 || pinned[0].Hash != "new" || !st.Options.Trusted {
		t.Errorf("pinned %+v, trusted %v", pinned, st.Options.Trusted)
	}
	if st.Lifecycle.AwaitsTrust("") {
		t.Error("it still waits for an answer")
	}
}

// TestDistrustedAlone: without a human, the run continues without the workspace's settings.
func TestDistrustedAlone(t *testing.T) {
	st := changedProcess(false)
	if st.Options.Trusted || st.Options.TrustHash != "" || st.Lifecycle.TrustQuestion != nil {
		t.Errorf("trusted %v (%q), asked %+v", st.Options.Trusted, st.Options.TrustHash, st.Lifecycle.TrustQuestion)
	}
}
