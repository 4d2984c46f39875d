package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// State is all that a run knows, in parts by what it is about. It is a value: apply
// returns a new one and never changes the one it was given, so that any goroutine may
// read an old one. Slices are shared between versions and copied before they are written.
type State struct {
	Options runconfig.Options
	AccountState
	roster.Roster
	Conversation conversation.State
	Task         task.State
	DecisionState
	Handoff handoff.State
	SuccessionState
	Permission permission.State
	Changes    changes.State
	LifecycleState
	HumanState
}

// AccountState says when the run and its processes began and what its turns used, and gives messages their ids.
type AccountState struct {
	Usage          bridge.Usage // of the turns that are over
	CostUSD        float64
	Began          time.Time
	ProcessBegan   time.Time     // of this process
	LastAt         time.Time     // of the last fact that counts
	EarlierRuntime time.Duration // of earlier processes
	ProcessRuns    int           // processes so far
	MessageCount   int           // messages so far; their ids derive from it
	MessageSalt    string        // and from this, of the present life
}

// step is one application of apply: the new state while it is being made, and
// the effects so far. Slices of the old state are copied before the first write.
type step struct {
	State
	at  time.Time
	out effect.Collector

	channel string // of the command at hand
	ordered bool   // by the human: the fact at hand is a command

	interjected bool // the turn at hand answers a word that the human threw in

}

// freeze ends the editing of what the old state shares.
func (st *step) freeze() {
	st.Roster.Freeze()
	st.Conversation.Freeze()
}

// do adds an effect.
func (st *step) do(e effect.Effect) { st.out.Do(e) }

// emit tells every face.
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

// accept and reject answer a command; each gets exactly one of the two.
func (st *step) accept(ref, what string) {
	st.out.Accept(ref, what)
}

func (st *step) reject(ref, format string, args ...any) {
	st.out.Reject(ref, format, args...)
}

// fail reports trouble once, with what can be done.
func (st *step) fail(id string, c bridge.Category, message string, options []string) {
	st.RecoveryOptions, st.FailedAgent = options, id
	st.emit(id, contract.Error{Category: c, Message: message, RecoveryOptions: options})
}

// concernsAll reports whether a failure of one agent is one of every agent: nothing
// that another agent or a retry could mend.
func concernsAll(c bridge.Category) bool {
	return c == bridge.CatClaudeMissing || c == bridge.CatUnsupported || c == bridge.CatAuth || c == bridge.CatSandbox
}

// environmental reports whether a failure that ended the run lies outside of it. An
// Arbiter that does not even start is one; an Orchestrator that does not is the
// Arbiter's to judge.
func environmental(c bridge.Category) bool { return concernsAll(c) || c == bridge.CatStart }

// recovery lists what a person can do about a failure, as `choose` takes it.
func recovery(c bridge.Category, of roster.Role) []string {
	switch c {
	case bridge.CatAuth:
		return []string{"log in with `claude` (or set ANTHROPIC_API_KEY) and start again"}
	case bridge.CatClaudeMissing:
		return []string{"install Claude Code: npm install -g @anthropic-ai/claude-code", "name it with --claude PATH", "try without it: --rehearse"}
	case bridge.CatUnsupported:
		return []string{"update Claude Code: npm install -g @anthropic-ai/claude-code", "name another with --claude PATH", "try without it: --stand-in"}
	case bridge.CatStart:
		return []string{"run `claude -p hi` by hand and see what it says", "name another with --claude PATH"}
	}
	if of == roster.RoleOrchestrator {
		return []string{"retry", "skip", "cancel"}
	}
	return []string{}
}

const brokenWay = "The way to the model was broken. Take up the last message again where you left it."
