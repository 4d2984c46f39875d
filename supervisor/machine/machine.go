// Package machine is the task machine of a run: its states, its triggers, and the
// table of moves between them. The table is data; the supervisor's apply and the
// tests read the same one. It holds no state and has no goroutines.
package machine

// State is where a run stands.
type State string

// The states of a run.
const (
	Idle       State = "idle"           // the Arbiter speaks with the human
	Selecting  State = "selecting"      // no Orchestrator works, one is to be chosen
	Executing  State = "executing"      // at least one works; questions and progress stay here
	Evaluating State = "evaluating"     // a `done` or `handoff` is with the Arbiter
	Error      State = "error_handling" // an agent broke and nobody has ruled on it yet
	Complete   State = "complete"
	Failed     State = "failed"
	Cancelled  State = "cancelled"
)

// Trigger is what moves it.
type Trigger string

// The triggers.
const (
	StartTask     Trigger = "START_TASK"
	AgentSelected Trigger = "AGENT_SELECTED" // an Orchestrator was summoned, or takes up work again
	AgentComplete Trigger = "AGENT_COMPLETE" // one is done, or hands off
	AgentError    Trigger = "AGENT_ERROR"    // one broke
	Decision      Trigger = "ARBITER_DECISION"
	Completed     Trigger = "COMPLETE"
	LimitReached  Trigger = "LIMIT"
	GiveUp        Trigger = "FAIL"
	Cancel        Trigger = "CANCEL"
	Reset         Trigger = "RESET"
	ForceAgent    Trigger = "FORCE_AGENT"
	SkipStep      Trigger = "SKIP_STEP"
	Retry         Trigger = "RETRY"
	Resume        Trigger = "RESUME" // a run is taken up again
)

// Move is one row of the table: Trigger is accepted in each of From and leads to
// one of To. Where To has several states, who works afterwards decides.
type Move struct {
	Trigger Trigger
	From    []State
	To      []State
}

var (
	live = []State{Idle, Selecting, Executing, Evaluating, Error}
	all  = []State{Idle, Selecting, Executing, Evaluating, Error, Complete, Failed, Cancelled}
)

// Table holds every move there is.
var Table = []Move{
	{StartTask, []State{Idle}, []State{Selecting}},
	{AgentSelected, []State{Selecting, Executing, Evaluating, Error}, []State{Executing}},
	{AgentComplete, []State{Executing, Evaluating, Error}, []State{Evaluating}},
	{AgentError, live, []State{Error}},
	{Decision, live, []State{Selecting, Executing, Evaluating, Idle}},
	{Completed, live, []State{Complete}},
	{LimitReached, live, []State{Complete}},
	{GiveUp, live, []State{Failed}},
	{Cancel, live, []State{Cancelled}},
	{Reset, all, []State{Idle}},
	{ForceAgent, live, []State{Executing}},
	{SkipStep, live, []State{Idle, Selecting, Executing, Evaluating, Error}},
	{Retry, live, []State{Executing}},
	{Resume, all, []State{Idle, Selecting, Executing, Evaluating}},
}

// Live says whether the run goes on in this state.
func (s State) Live() bool {
	for _, l := range live {
		if s == l {
			return true
		}
	}
	return false
}

// Can says whether the table has a move by trigger from one state to the other.
func Can(from State, by Trigger, to State) bool {
	for _, m := range Table {
		if m.Trigger == by && has(m.From, from) && has(m.To, to) {
			return true
		}
	}
	return false
}

func has(list []State, s State) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
