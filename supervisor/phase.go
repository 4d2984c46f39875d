package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// triggerData holds the details of a trigger.
type triggerData struct {
	agent       string                   // that it is about
	ruling      verdict.Arbiter          // of ARBITER_DECISION
	mode        string                   // that was requested
	failure     *decider.DecisionFailure // of AGENT_ERROR
	output      string                   // of AGENT_COMPLETE: what was said
	recoverable bool
	stopped     bool    // of AGENT_STOPPED: what is with the Arbiter was not ruled on
	stuck       bool    // the rules cannot decide either
	ending      *Ending // how the run ends, where the trigger ends it
	completed   bool    // RESUME: the task was finished
	was         machine.State
}

// situation collects the values that the table's guards read.
func (st *step) situation(o triggerData) machine.Situation {
	opt := st.Options
	last, lastThere := st.Agent(o.agent)
	if o.agent == "" {
		last, lastThere = st.Last()
	}
	_, known := st.Options.ModeNamed(o.mode)
	s := machine.Situation{
		Decision: o.ruling.Decision, AgentKnown: o.mode == "" || known,
		Engaged: st.EngagedBeside(o.ruling.To),
		Awaited: st.awaitsRuling() || o.stopped && st.Conversation.DocumentIsRead(),
		HasTask: st.Task.Text != "", HasStep: st.Task.StepAtHand() >= 0, HasLast: lastThere &&
			(last.Alive() || last.Status == AgentParked),
		Iterations: st.Task.Iterations, MaxIterations: opt.MaxIterations,
		Failures: st.Task.Failures, MaxFailures: opt.MaxFailures,
		TotalFailures: st.Task.TotalFailures, MaxTotalFailures: st.Options.FailureLimit(st.Rulings.FallbackReason != ""),
		Recoverable: o.recoverable, RulesLeft: !o.stuck,
		WasComplete: o.completed, Before: o.was,
	}
	if a, ok := st.Agent(o.ruling.To); ok && o.ruling.To != "" {
		s.AgentAlive = a.Alive() && a.Role == RoleOrchestrator
	}
	return s
}

// act carries out an action of the table, and reports whether it knows the action. Some actions need nothing
// here: the `state` event alone reports them. (This is a switch and not a map of functions: with a map, each
// step would escape to the heap, on every input.)
func (st *step) act(a machine.Action, o triggerData) bool {
	switch a {
	case machine.BeginTask:
		st.Task.Begin()
		criteria := &st.Task.Acceptance
		criteria.Tasks++
		if criteria.Before = ""; !st.Options.Workspace.Isolated() && !st.Changes.Pending() {
			criteria.Before = st.Changes.Last
		}
	case machine.CountIteration:
		st.Task.Iterations++
	case machine.RecordExecution:
		st.Task.CompleteWork(st.Edit(o.agent), o.output, st.at)
	case machine.RecordFailure:
		st.Task.Fail(st.Edit(o.agent), o.failure, st.at)
	case machine.ForgiveFailures:
		st.Task.Failures, st.Task.LastError = 0, nil
	case machine.WaitAndGoOn: // the retry's timer is set where the trouble is known
	case machine.Correct: // the correction names the fault, and is sent where the fault was found
	case machine.FallBack: // the rules' ruling follows as a trigger of its own
	case machine.SkipTheStep:
		st.skipPlanStep(st.Task.StepToSkip(&st.Roster, o.agent))
	case machine.CleanUp:
		st.cleanUp()
	case machine.StopAgents:
		for i := range st.Agents {
			if a := *st.Agents[i]; a.Role == RoleOrchestrator && a.Alive() {
				st.release(a.ID, "reset by the human", false)
			}
		}
	case machine.EndComplete, machine.EndAtLimit, machine.EndFailed, machine.EndCancelled:
		st.conclude(o)
	default:
		return false
	}
	return true
}

// fire passes a trigger to the table, and carries out the move. It returns false where the current state
// ignores the trigger.
func (st *step) fire(on machine.Trigger, o triggerData) bool {
	m, ok := machine.Next(st.Task.Phase, on, st.situation(o))
	if !ok {
		return false
	}
	st.enterPhase(on, m, o)
	for st.Ending == nil {
		always, ok := machine.Next(st.Task.Phase, machine.Always, st.situation(o))
		if !ok {
			break
		}
		st.enterPhase(machine.GiveUp, always, o)
	}
	return true
}

// enterPhase makes a move of the table: it changes the state of the task, then carries out the move's actions.
func (st *step) enterPhase(on machine.Trigger, m machine.Move, o triggerData) {
	if m.To != st.Task.Phase {
		o.was = st.Task.Phase
		st.shift(on, m.To)
	}
	for _, a := range m.Do {
		if !st.act(a, o) {
			panic("supervisor: nothing does the action " + string(a))
		}
	}
}

// wouldDo reports whether a trigger would lead to an action now.
func (st *step) wouldDo(on machine.Trigger, o triggerData, a machine.Action) bool {
	m, ok := machine.Next(st.Task.Phase, on, st.situation(o))
	return ok && slices.Contains(m.Do, a)
}

// conclude ends the run as the trigger says, or because a limit of the table was reached.
func (st *step) conclude(o triggerData) {
	if st.Ending != nil {
		return
	}
	e := o.ending
	if e == nil {
		why := st.Rulings.WithFallback(st.Task.ReachedText(st.Task.BreachText(st.Options.MaxFailures)))
		e = &Ending{Status: contract.StatusFailed, Exit: contract.ExitFailed, Summary: why}
		if st.Task.Phase == machine.Complete {
			e.Status, e.Exit = contract.StatusLimit, contract.ExitLimit
		}
	}
	if e.Was = o.was; e.Was == "" {
		e.Was = st.Task.Phase
	}
	st.wind(*e)
}

// cleanUp forgets what belongs to a task that is over.
func (st *step) cleanUp() {
	if st.Task.Begin(); len(st.Agents) > 0 && st.Agents[0].Alive() {
		st.Rulings.LeaveFallback(&st.out) // without a task there is nothing for the rules to decide
	}
	st.Rulings.DeciderRequest, st.Rulings.ArbiterRequest, st.Rulings.DeciderYielded = nil, nil, false
	st.Conversation.Exchanges, st.Conversation.ExchangeLimitHits, st.Conversation.Held = 0, 0, false
}

// giveTask hands the human's task to the Arbiter and starts the machine.
func (st *step) giveTask(task string, images []contract.Image) {
	st.Task.Text, st.Task.Images = task, images
	st.fire(machine.StartTask, triggerData{})
	st.post(Mail{
		From: contract.Human, To: contract.Arbiter, Kind: KindTask, Text: task,
		Attached: st.attachedToTask(), Images: images,
	})
}

// executing moves the machine to the phase in which an Orchestrator works.
func (st *step) executing() {
	if st.Task.Phase == machine.Idle {
		st.fire(machine.StartTask, triggerData{})
	}
	if st.Task.Phase != machine.Evaluating || !(st.awaitsRuling() || st.Conversation.DocumentIsRead()) {
		st.fire(machine.AgentMessage, triggerData{})
	}
}
