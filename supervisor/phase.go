package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// machined says whether the run is moved by the task machine's table.
func (s *State) machined() bool { return s.Options.Rules >= rulesOfMachine }

// occasion is what a trigger brings along.
type occasion struct {
	agent       string            // whom it is about
	ruling      verdict.Arbiter   // of ARBITER_DECISION
	mode        string            // that is asked for
	failure     *decision.Failure // of AGENT_ERROR
	output      string            // of AGENT_COMPLETE: what was said
	recoverable bool
	stuck       bool    // the rules cannot decide either
	ending      *Ending // how the run ends, where the trigger ends it
	completed   bool    // RESUME: the task was finished
	was         machine.State
}

// situation is what the table's guards look at.
func (st *step) situation(o occasion) machine.Situation {
	opt := st.Options
	last, lastThere := st.Last()
	_, known := st.modeNamed(o.mode)
	s := machine.Situation{
		Decision: o.ruling.Decision, AgentKnown: o.mode == "" || known,
		Engaged: st.engagedBeside(o.ruling.To), Awaited: st.awaitsRuling(),
		HasTask: st.Task != "", HasStep: st.stepAtHand() >= 0, HasLast: lastThere && (last.Alive() || last.Status == Parked),
		Iterations: st.Iterations, MaxIterations: opt.MaxIterations,
		Failures: st.Failures, MaxFailures: opt.MaxFailures,
		TotalFailures: st.TotalFailures, MaxTotalFailures: opt.MaxTotalFailures,
		Recoverable: o.recoverable, RulesLeft: !o.stuck,
		WasComplete: o.completed, Before: o.was,
	}
	if a, ok := st.agent(o.ruling.To); ok && o.ruling.To != "" {
		s.AgentLives = a.Alive() && a.Role == RoleOrchestrator
	}
	return s
}

// actions are what the table's moves do. Those that need nothing done here are told by
// the `state` event alone.
var actions = map[machine.Action]func(*step, occasion){
	machine.BeginTask:       (*step).beginTask,
	machine.CountIteration:  func(st *step, _ occasion) { st.Iterations++ },
	machine.RecordExecution: func(st *step, o occasion) { st.completeWork(o.agent, o.output) },
	machine.RecordFailure:   func(st *step, o occasion) { st.recordFailure(o.agent, o.failure, decision.StatusFailure) },
	machine.ForgiveFailures: func(st *step, _ occasion) { st.Failures, st.LastError = 0, nil },
	machine.WaitAndGoOn:     func(*step, occasion) {}, // the retry's timer is set where the trouble is known
	machine.Correct:         func(*step, occasion) {}, // the correction names the fault, and is told where it was found
	machine.FallBack:        func(*step, occasion) {}, // the rules' ruling follows as a trigger of its own
	machine.SkipTheStep:     func(st *step, _ occasion) { st.skip(st.stepAtHand()) },
	machine.CleanUp:         (*step).cleanUp,
	machine.StopAgents:      (*step).stopWorkers,
	machine.EndComplete:     (*step).conclude,
	machine.EndAtLimit:      (*step).conclude,
	machine.EndFailed:       (*step).conclude,
	machine.EndCancelled:    (*step).conclude,
}

// fire brings a trigger to the table, and does what it says. It returns false where the
// state takes no notice of it.
func (st *step) fire(on machine.Trigger, o occasion) bool {
	m, ok := machine.Next(st.Phase, on, st.situation(o))
	if !ok {
		return false
	}
	st.enterPhase(on, m, o)
	for st.Ending == nil {
		always, ok := machine.Next(st.Phase, machine.Always, st.situation(o))
		if !ok {
			break
		}
		st.enterPhase(machine.GiveUp, always, o)
	}
	return true
}

func (st *step) enterPhase(on machine.Trigger, m machine.Move, o occasion) {
	if m.To != st.Phase {
		o.was = st.Phase
		st.shift(on, m.To)
	}
	for _, a := range m.Do {
		actions[a](st, o)
	}
}

// wouldDo says whether a trigger would lead to an action now.
func (st *step) wouldDo(on machine.Trigger, o occasion, a machine.Action) bool {
	m, ok := machine.Next(st.Phase, on, st.situation(o))
	return ok && slices.Contains(m.Do, a)
}

// conclude ends the run as the occasion says, or as the breach of a limit of the table's.
func (st *step) conclude(o occasion) {
	if st.Ending != nil {
		return
	}
	e := o.ending
	if e == nil {
		e = st.breach()
	}
	if e.Was = o.was; e.Was == "" {
		e.Was = st.Phase
	}
	st.wind(*e)
}

// breach says which of the table's limits was reached.
func (st *step) breach() *Ending {
	opt := st.Options
	if st.Phase == machine.Complete {
		return &Ending{Status: contract.StatusLimit, Exit: contract.ExitLimit, Summary: st.withReached(
			fmt.Sprintf("%d Orchestrators were summoned for this task, which is the most (--max-iterations)", st.Iterations))}
	}
	why := fmt.Sprintf("%d executions in a row failed", st.Failures)
	if st.Failures < opt.MaxFailures {
		why = fmt.Sprintf("%d executions of this task failed, which is the most (--max-total-failures)", st.TotalFailures)
	}
	if st.LastError != nil {
		why += "; the last: " + headOf(st.LastError.Message, 300)
	}
	return &Ending{Status: contract.StatusFailed, Exit: contract.ExitFailed, Summary: st.withReached(why)}
}

// beginTask sets the counters of a task to zero: limits hold for one task.
func (st *step) beginTask(occasion) {
	st.Iterations, st.Failures, st.TotalFailures = 0, 0, 0
	st.History, st.LastError, st.Tasks = decision.History{}, nil, nil
}

// cleanUp forgets what belongs to a task that is over.
func (st *step) cleanUp(occasion) {
	st.beginTask(occasion{})
	st.Deciding, st.Posed, st.Yielded = nil, nil, false
}
