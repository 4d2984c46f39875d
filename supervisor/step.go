package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// step is one call of Apply: the new state while it is being made, and
// the effects so far. Slices of the old state are copied before the first write.
type step struct {
	State
	at  time.Time
	out effect.Collector

	channel string // of the current command
	ordered bool   // by the human: the current input is a command

	interjected bool // the current turn answers a word that the human threw in
}

// freeze ends the editing of what the old state shares.
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

// shift changes the state of the task and says so.
func (st *step) shift(by machine.Trigger, to machine.State) {
	if st.Task.Phase == to {
		return
	}
	st.emit(contract.Supervisor, contract.State{From: string(st.Task.Phase), To: string(to), Trigger: string(by)})
	st.Task.Phase = to
}

// fail reports trouble once, with what can be done.
func (st *step) fail(id string, c bridge.Category, message string, options []string) {
	st.Question.Recovery.Fail(&st.out, id, c, message, options)
}

// brokenWay asks an agent to resume a turn that a failure of the API or of its process has cut off.
const brokenWay = "The way to the model was broken. Take up the last message again where you left it."

// relay hands an event of the bridge on to the frontends; it changes nothing. Those that are not handed on are listed,
// with the reason, beside TestEveryEventIsRelayed.
func (st *step) relay(e bridge.Event) {
	if b := contract.Relayed(e.Body); b != nil {
		st.emit(e.ID, b)
	}
}

// elapsed is how long the run has been played.
func (st *step) elapsed() time.Duration { return st.Budget.Runtime.Elapsed(st.at) }

// A timer's key says what it is for and whom or what it is about. It is recorded when it
// rings, so that these names stay as they are. What is about a process names its generation.
const timeoutKey = "timeout" // the time of the run

// takenGrace is how often a run whose time is over looks whether a human still has a session.
const takenGrace = time.Minute
