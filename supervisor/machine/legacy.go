package machine

// move is one row of the table that lives before the second version of the rules
// of play were moved by: Trigger is accepted in each of From and leads to
// one of To. Where To has several states, who works afterwards decides.
type move struct {
	Trigger Trigger
	From    []State
	To      []State
}

// older is that table. Their journals fold by it for ever.
var older = []move{
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

// Could says whether the older table has a move by trigger from one state to the other.
func Could(from State, by Trigger, to State) bool {
	for _, m := range older {
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
