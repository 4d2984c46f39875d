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

	channel string // of the command at hand
	ordered bool   // by the human: the input at hand is a command

	interjected bool // the turn at hand answers a word that the human threw in
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

// brokenWay asks an agent to take up a turn that a failure of the API or of its process has cut off.
const brokenWay = "The way to the model was broken. Take up the last message again where you left it."

// relay hands an event of the bridge on to the frontends; it changes nothing. This is the one
// place where the bridge's events become the contract's; those that do not are listed,
// with the reason, beside TestEveryEventIsRelayed.
func (st *step) relay(e bridge.Event) {
	switch b := e.Body.(type) {
	case bridge.Assistant:
		st.emit(e.ID, contract.Assistant{Text: b.Text, ContextPct: b.ContextPct, Subagent: b.Subagent})
	case bridge.Delta:
		st.emit(e.ID, contract.Delta{Text: b.Text, Verdict: b.Verdict})
	case bridge.ToolUse:
		st.emit(e.ID, contract.ToolUse{Tool: b.Tool, Input: b.Input, ToolUse: b.ToolUse, Subagent: b.Subagent})
	case bridge.ToolResult:
		st.emit(e.ID, contract.ToolResult{ToolUse: b.ToolUse, Text: b.Text, IsError: b.IsError, Subagent: b.Subagent})
	case bridge.SubagentStart:
		st.emit(e.ID, contract.SubagentStart(b))
	case bridge.SubagentStop:
		st.emit(e.ID, contract.SubagentStop(b))
	case bridge.SubagentProgress:
		st.emit(e.ID, contract.SubagentProgress(b))
	case bridge.Context:
		st.emit(e.ID, contract.Context{Tokens: b.Tokens, Window: b.Window, Pct: b.Pct, TurnsLeft: b.TurnsLeft,
			Source: b.Source})
	case bridge.Compact:
		st.emit(e.ID, contract.Compact{Trigger: b.Trigger, Blocked: b.Blocked, PreTokens: b.PreTokens,
			PostTokens: b.PostTokens})
	case bridge.Retry:
		st.emit(e.ID, contract.Retry{Attempt: b.Attempt, DelayMS: b.DelayMS, Reason: b.Reason})
	case bridge.Error:
		st.emit(e.ID, contract.Error{Category: b.Category, Message: b.Message, RecoveryOptions: []string{}})
	case bridge.Notice:
		st.emit(e.ID, contract.Notice{Text: b.Text})
	}
}

// elapsed is how long the run has been played.
func (st *step) elapsed() time.Duration { return st.Budget.Runtime.Elapsed(st.at) }

// A timer's key says what it is for and whom or what it is about. It is recorded when it
// rings, so that these names stay as they are. What is about a process names its generation.
const timeoutKey = "timeout" // the time of the run

// takenGrace is how often a run whose time is over looks whether a human still has a session.
const takenGrace = time.Minute
