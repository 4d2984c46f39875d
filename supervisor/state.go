package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// State is everything that a run knows, grouped by subject. It is a value: Apply returns a new one and never
// changes the one it was given, so that any goroutine may read an old one. Slices are shared between versions
// and copied before they are written.
type State struct {
	Options runconfig.Options
	Budget  BudgetState
	Roster
	Conversation ConversationState
	Task         TaskState
	Rulings      RulingState
	Handoff      HandoffState
	Renewal      RenewalState
	Permission   input.PermissionState
	Changes      input.ChangeState
	RunState
	HumanState
}

// RunState follows the processes of the run, and its end.
type RunState struct {
	Lifecycle LifecycleState
	Ending    *Ending
}

// Ending is set once the run is over and its agents are being stopped.
type Ending struct {
	Status  string
	Summary string
	Exit    contract.Exit
	Said    bool          // `result` was said
	Records bool          // it waits for the last snapshot
	Was     machine.State // the phase of the task then
	Open    []string      `json:",omitempty"` // what was open when the task was completed
	// InterruptedWork is the work that was interrupted when the run was stopped.
	InterruptedWork []string
}

// Interrupted returns what is left of a run whose process has gone without an end: its agents ended with it, nobody
// works, and nothing can be answered until the run is resumed. The state itself stays as it is.
func (s *State) Interrupted() *State {
	left := *s
	left.Ending = &Ending{Status: contract.StatusInterrupted, Was: s.Task.Phase, Said: true}
	left.Question.Open, left.Permission.Open, left.Permission.Unclaimed = nil, nil, nil
	left.Agents = slices.Clone(s.Agents)
	for i, a := range left.Agents {
		if a.Alive() {
			ended := *a
			ended.Status, ended.ToolCall, ended.Takeover = AgentDown, nil, nil
			left.Agents[i] = &ended
		}
	}
	return &left
}

// WasInterrupted reports whether the run was stopped in the middle: in order, or because its process has gone without
// an end.
func (s *State) WasInterrupted() bool {
	return s.Ending != nil && s.Ending.Said && s.Ending.Status == contract.StatusInterrupted
}

// HumanState holds whether a human is present, what they are asked, and what they have stopped.
type HumanState struct {
	Question      QuestionState
	HumanPresent  bool // a human may answer
	HumanSpoke    bool
	NotifiedAlone bool // the Arbiter was told once that no human is present
	Paused        bool // by a human: nothing is sent
	Halted        bool // and no agent has a process
	Halts         int  // commands to halt that were carried out
}

// step is one call of Apply: the new state while it is being built, and the effects so far. Slices of the old
// state are copied before the first write.
type step struct {
	State
	at     time.Time
	out    input.Collector
	waited map[string]string // what waited for the human before the step, and whom it is about

	channel string // of the current command
	ordered bool   // the current input is a command of the human

	interjected bool // the current turn answers a message that the human sent while agents worked
}

// freeze marks everything as shared with the old state, so that it is copied before it is edited.
func (st *step) freeze() {
	st.Roster.Freeze()
	st.Conversation.own.mail, st.Conversation.own.log = false, false
}

// do collects an effect.
func (st *step) do(e input.Effect) { st.out.Do(e) }

// emit collects an event for all frontends.
func (st *step) emit(id string, body contract.Body) {
	st.out.Emit(id, body)
}

// notice collects an event for people: the run continues.
func (st *step) notice(id, text string) { st.emit(id, contract.Notice{Text: text}) }

// shift changes the state of the task and emits the change.
func (st *step) shift(by machine.Trigger, to machine.State) {
	if st.Task.Phase == to {
		return
	}
	st.emit(contract.Supervisor, contract.State{From: string(st.Task.Phase), To: string(to), Trigger: string(by)})
	st.Task.Phase = to
}

// fail reports a failure once, with what can be done about it.
func (st *step) fail(id string, c bridge.Category, message string, options []string) {
	st.Question.Recovery.Fail(&st.out, id, c, message, options)
}

// brokenWay asks an agent to resume a turn that was cut off: by the API, its process, or a limit of costs.
const brokenWay = "Your turn was cut off before its end. Go on with the last message where you stopped."

// relay passes an event of the bridge to the frontends; it does not change the state. Events that are not
// passed on are listed, with the reason, beside TestEveryEventIsRelayed.
func (st *step) relay(e bridge.Event) {
	if b := contract.Relayed(e.Body); b != nil {
		st.emit(e.ID, b)
	}
}

// elapsed is how long the run has been running.
func (st *step) elapsed() time.Duration { return st.Budget.Runtime.Elapsed(st.at) }

// A timer's key says what it is for and what it is about. The key is recorded when the timer rings, so these
// names must not change. The key of a timer about a process contains the generation.
const timeoutKey = "timeout" // the time limit of the run

// takenGrace is how often a run whose time is over checks whether a human still has a session.
const takenGrace = time.Minute

// awaitsHuman reports whether a human is present who has not answered the Arbiter yet. Only the human's answer
// closes the question.
func (s *State) awaitsHuman() bool {
	return s.Question.AwaitsAnswer() && s.HumanPresent
}

// ParkedOptions are the choices for a parked Arbiter.
func ParkedOptions() []string { return []string{"retry", "cancel"} }

// needsAnswer reports whether an Orchestrator waits for the human's answer. Until then it receives messages from the
// Arbiter only.
func (s *State) needsAnswer(id string) bool { return s.awaitsHuman() && s.Question.IsNeededBy(id) }

// Completed reports whether the run ended with COMPLETE. It can be resumed, and then waits for another task.
func (s *State) Completed() bool {
	return s.Task.Phase == machine.Complete && s.Ending != nil && s.Ending.Status == contract.StatusComplete
}

// awaitsRuling reports whether a document is on its way to the Arbiter, or waits to be read by it.
func (s *State) awaitsRuling() bool {
	return slices.ContainsFunc(s.Conversation.Mail, isDocumentForArbiter) || s.Handoff.IsDue()
}

// whoAnswers reports whether a human can answer a permission request, and how long it waits.
func (s *State) whoAnswers() input.PermissionHuman {
	return input.PermissionHuman{Present: s.HumanPresent, Wait: s.Options.PermissionWait}
}

// hasSnapshots reports whether the files of an agent are recorded: they are shared, or on a branch of its own.
func hasSnapshots(a *Agent) bool { return a.Isolation == "" || a.Own.Branch != "" }

// seesChanges reports whether the supervisor learns which files an agent's commands change.
func (s *State) seesChanges(a *Agent) bool {
	return s.Options.Workspace.Enabled() && !s.Changes.Failed && hasSnapshots(a)
}

// busyCount counts the turns that run.
func (s *State) busyCount() int { return s.count(func(a *Agent) bool { return a.Status == AgentBusy }) }
