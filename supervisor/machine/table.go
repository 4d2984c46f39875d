package machine

import "slices"

// Action is what a move does besides changing the state, by the name in the graph. The supervisor carries
// actions out; actions of SPEC-0003 that only log are events here.
type Action string

const (
	BeginTask       Action = "beginTask"       // counters to zero
	CountIteration  Action = "countIteration"  // and the start of the execution is recorded
	RecordExecution Action = "recordExecution" // success: the count of failures in a row ends
	RecordFailure   Action = "recordFailure"
	ForgiveFailures Action = "forgiveFailures" // a human requests a retry
	WaitAndGoOn     Action = "waitAndGoOn"     // the turn is resumed when the problem has passed
	Correct         Action = "correct"         // the decider is told what was wrong
	FallBack        Action = "fallBack"        // the deterministic rules decide, and this is announced
	SkipTheStep     Action = "skipStep"
	CleanUp         Action = "cleanUp" // of a task: plan, documents, history
	StopAgents      Action = "stopAgents"
	EndComplete     Action = "endComplete"
	EndAtLimit      Action = "endAtLimit"
	EndFailed       Action = "endFailed"
	EndCancelled    Action = "endCancelled"
)

// Row is one line of the table. On is accepted in each state of From if all of If hold; the run goes to To, and
// Do is done. Of several rows that fit, the first counts.
type Row struct {
	From []State
	On   Trigger
	If   []Guard
	To   State
	Do   []Action
	Why  string // where SPEC-0003 leaves it open, or differs
}

// Table contains all moves. A trigger that no row accepts in a state is ignored there, like events in
// SPEC-0003.
var Table = []Row{
	{From: []State{Idle}, On: StartTask, To: Selecting, Do: []Action{BeginTask}},

	// Selecting and executing.
	{From: tasked, On: AgentSelected, If: []Guard{MaxIterationsReached}, To: Complete, Do: []Action{EndAtLimit},
		Why: "a limit is tested when it would be passed, not one round later"},
	{From: tasked, On: AgentSelected, If: []Guard{HasAgent}, To: Executing, Do: []Action{CountIteration},
		Why: "several agents may work at once, and the Arbiter may summon while it evaluates"},
	{From: live, On: SelectionFailed, If: []Guard{RulesCanDecide}, To: Same, Do: []Action{Correct},
		Why: "corrected twice, then the rules decide; SPEC-0003 fails at once"},
	{From: tasked, On: SelectionFailed, To: Error},
	{From: live, On: AgentMessage, If: []Guard{SomeoneWorks}, To: Executing,
		Why: "an Orchestrator that was done and is spoken to works again; it is not an iteration"},
	{From: []State{Executing}, On: AgentToolCall, To: Same},
	{From: []State{Executing}, On: AgentToolResult, To: Same},
	{From: tasked, On: AgentComplete, To: Evaluating, Do: []Action{RecordExecution}},
	{From: live, On: AgentError, If: []Guard{IsRecoverableError}, To: Same, Do: []Action{WaitAndGoOn},
		Why: "what passes on its own is waited for where it happened; SPEC-0003 selects anew"},
	{From: live, On: AgentError, To: Error, Do: []Action{RecordFailure}},

	// Evaluating. The same rows handle rulings of the Arbiter in other states: its dialogue does not wait for a
	// document.
	{From: live, On: Decision, If: []Guard{IsComplete}, To: Complete, Do: []Action{EndComplete}},
	{From: []State{Evaluating}, On: Decision, If: []Guard{GoesOn, AgentAlive, MaxIterationsReached, NobodyWorks},
		To: Complete, Do: []Action{EndAtLimit},
		Why: "limits come before RETRY and CONTINUE; in SPEC-0003 RETRY came first, and could go on for ever"},
	{From: tasked, On: Decision, If: []Guard{ShouldRetry, MaxFailuresReached, NobodyWorks}, To: Failed,
		Do:  []Action{EndFailed},
		Why: "a failed tool is a failed execution; to try once more is where its limit is tested"},
	{From: live, On: Decision, If: []Guard{GoesOn, AgentAlive}, To: Executing,
		Why: "the same agent goes on; SPEC-0003's default was selecting, SPEC-0006's executing"},
	{From: live, On: Decision, If: []Guard{SomeoneWorks}, To: Executing},
	{From: []State{Idle}, On: Decision, To: Same, Why: "the Arbiter speaks with the human"},
	{From: tasked, On: Decision, If: []Guard{RulingAwaited}, To: Evaluating,
		Why: "of several documents, one was ruled on"},
	{From: tasked, On: Decision, To: Selecting},
	{From: live, On: ArbiterError, If: []Guard{RulesCanDecide}, To: Same, Do: []Action{FallBack}},
	{From: live, On: ArbiterError, To: Error},

	// Handling errors. If nothing is left to try, the run fails; otherwise the decider chooses among the
	// recovery options.
	{From: []State{Error}, On: Always, If: []Guard{MaxFailuresReached}, To: Failed, Do: []Action{EndFailed}},

	// Overrides by the human.
	{From: live, On: Cancel, To: Cancelled, Do: []Action{EndCancelled}},
	{From: all, On: Reset, To: Idle, Do: []Action{StopAgents, CleanUp}},
	{From: live, On: ForceAgent, If: []Guard{HasAgent, TaskGiven, MaxIterationsReached}, To: Same,
		Why: "refused: a word of the human's must not end the run"},
	{From: live, On: ForceAgent, If: []Guard{HasAgent, TaskGiven}, To: Executing, Do: []Action{CountIteration}},
	{From: live, On: SkipStep, If: []Guard{StepLeft}, To: Same, Do: []Action{SkipTheStep}},
	{From: live, On: Retry, If: []Guard{LastAgentThere}, To: Executing, Do: []Action{ForgiveFailures}},
	{From: live, On: AgentStopped, If: []Guard{SomeoneWorks}, To: Executing},
	{From: []State{Idle}, On: AgentStopped, To: Same},
	{From: tasked, On: AgentStopped, If: []Guard{RulingAwaited}, To: Evaluating},
	{From: tasked, On: AgentStopped, To: Selecting},

	// Ends that no ruling causes, and the way back from them.
	{From: live, On: LimitReached, To: Complete, Do: []Action{EndAtLimit}},
	{From: live, On: GiveUp, To: Failed, Do: []Action{EndFailed}},
	{From: all, On: Resume, If: []Guard{TaskFinished}, To: Idle, Do: []Action{CleanUp}},
	{From: ends, On: Resume, To: Before,
		Why: "SPEC-0003 restores a snapshot; an end in order is no other state of the task"},
	{From: live, On: Resume, To: Same},
}

// Move is the result of a trigger.
type Move struct {
	To State // never Same or Before
	Do []Action
}

// Next finds the move that a trigger makes from a state; false: the trigger is ignored there. After a move,
// callers call [Next] with [Always] until it is ignored.
func Next(from State, on Trigger, s Situation) (Move, bool) {
	for i := range Table {
		r := &Table[i]
		if r.On != on || !slices.Contains(r.From, from) || !r.holds(s) {
			continue
		}
		m := Move{To: r.To, Do: r.Do}
		switch r.To {
		case Same:
			m.To = from
		case Before:
			m.To = s.Before
			if !m.To.Live() {
				m.To = Idle
			}
		}
		return m, true
	}
	return Move{}, false
}

func (r *Row) holds(s Situation) bool {
	for _, g := range r.If {
		if !Guards[g](s) {
			return false
		}
	}
	return true
}
