package supervisor

// This file builds runs for tests of single concepts.

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// readyRun returns a run with an Arbiter that is ready.
func readyRun(o runconfig.Options) *step {
	o.Run, o.Delimiter = "run", "d"
	at := time.Unix(1, 0)
	st := &step{State: State{Options: o.WithDefaults()}, at: at, out: input.Collector{Now: at}}
	st.Lifecycle.Start(bridge.ClaudeInfo{})
	st.Add(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: RoleArbiter, Name: "The Arbiter"},
		AgentProcess: AgentProcess{Status: AgentReady},
	})
	return st
}

// addOrchestrator adds the next Orchestrator to a run, at work, with a running turn. The caller may change the
// result.
func addOrchestrator(st *step) *Agent {
	st.Spawned++
	a := &Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: fmt.Sprintf("orch-%d", st.Spawned), Generation: 1},
			Role: RoleOrchestrator, Name: "Orchestrator " + contract.Roman(st.Spawned)},
		AgentProcess: AgentProcess{Status: AgentBusy},
		AgentWork:    AgentWork{Standing: AgentWorking},
	}
	st.Add(a)
	return a
}

// did returns the effects of one kind so far.
func did[E input.Effect](st *step) (list []E) {
	for _, e := range st.out.Effects() {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// emitted returns the bodies of the events of one kind so far.
func emitted[B contract.Body](st *step) (list []B) {
	for _, e := range did[input.Emit](st) {
		if b, ok := e.Event.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}
