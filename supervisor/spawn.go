package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// spawnOrchestrator starts an Orchestrator. If it must not, it returns the reason; if the reason is a limit of the run,
// the run is ending when it returns.
func (st *step) spawnOrchestrator(in SpawningRequest) string {
	plan, problem := st.checkSpawning(in)
	if problem != "" {
		return problem
	}
	if problem := st.mayIterate(in.Mode, in.By); problem != "" {
		return problem
	}
	if st.exchange(); st.Ending != nil {
		return "The run has reached its limit of exchanges."
	}
	if st.Task.Phase == machine.Idle {
		kept := st.Rulings.ArbiterRequest // the Arbiter spawns with its tool, and still has to say why
		st.fire(machine.StartTask, triggerData{})
		st.Rulings.ArbiterRequest = kept
	}
	a := st.spawn(plan)
	on := machine.AgentSelected
	if in.By == contract.Human {
		on = machine.ForceAgent
	}
	st.fire(on, triggerData{agent: a.ID, mode: in.Mode})
	st.Task.BeginWork(a, st.at)
	if in.By == contract.Arbiter {
		st.takesStep(a)
	}
	st.limitWork(a)
	st.forgetEnded()
	return ""
}

// mayIterate says why no further Orchestrator may be spawned. A limit of the run ends the run, unless the
// human asked for the Orchestrator.
func (st *step) mayIterate(mode, by string) string {
	o := triggerData{mode: mode}
	switch {
	case st.Task.Phase == machine.Idle: // START_TASK comes first, and the count begins anew
	case by == contract.Human && !st.wouldDo(machine.ForceAgent, o, machine.CountIteration):
		return words.Count(st.Task.Iterations, "Orchestrator") +
			" summoned for this task, which is the limit: raise it with --max-iterations."
	case by != contract.Human && st.wouldDo(machine.AgentSelected, o, machine.EndAtLimit):
		st.fire(machine.AgentSelected, o)
		return "The run has reached its limit of iterations."
	}
	return ""
}
