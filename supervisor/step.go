package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// step is one call of Apply: the new state while it is being built, and the effects so far. Slices of the old
// state are copied before the first write.
type step struct {
	State
	at  time.Time
	out effect.Collector

	channel string // of the current command
	ordered bool   // the current input is a command of the human

	interjected bool // the current turn answers a message that the human sent while agents worked
}

// freeze marks everything as shared with the old state, so that it is copied before it is edited.
func (st *step) freeze() {
	st.Roster.Freeze()
	st.Conversation.Freeze()
}

// do collects an effect.
func (st *step) do(e effect.Effect) { st.out.Do(e) }

// emit collects an event for all frontends.
func (st *step) emit(id string, body contract.Body) {
	st.out.Emit(id, body)
}

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

// brokenWay asks an agent to resume a turn that a failure of the API or of its process has cut off.
const brokenWay = "The connection to the model was interrupted. Go on with the last message where you stopped."

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
