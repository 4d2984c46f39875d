package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// Apply folds one input into the state and says what is to be done about it. It
// is pure: no I/O, no clock, no randomness, no goroutine, and the state it was
// given stays as it was.
func Apply(s State, in Input) (State, []Effect) {
	st := &step{State: s, at: in.At, out: effect.Collector{Now: in.At}}
	st.take(in.Fact)
	st.settle()
	effects := st.out.Effects()
	if len(effects) > 0 && !Narrates(in.Fact) {
		st.LastAt = in.At
	}
	return st.State, effects
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

	own             []*Agent // agents that are not shared with the old state
	ownMail, ownLog bool
}

func (st *step) take(f Fact) {
	if st.Ending != nil && !begins(f) {
		st.takeEnding(f)
		return
	}
	switch f := f.(type) {
	case Began:
		st.began(f)
	case Resumed:
		st.resumed(f)
	case NoBridge:
		st.noBridge(f)
	case Commanded:
		if st.channel, st.ordered = f.Channel, true; !st.barred(f) {
			st.commanded(f.Command)
		}
	case InputEnded:
		st.inputEnded()
	case Signalled:
		st.signalled(f)
	case Happened:
		st.happened(f.Event)
	case Spawned:
		st.spawned(f)
	case NotSpawned:
		st.notSpawned(f)
	case TrustRecorded:
		st.trustRecorded(f)
	case NotSent:
		st.notSent(f)
	case ToolCalled:
		st.toolCalled(f)
	case PermissionAsked:
		st.permissionAsked(f)
	case Reconsidered:
		st.Permission.Reconsidered(&st.out, f.Settled, f.Changes, st.whoAnswers())
	case PermissionWithdrawn:
		st.Permission.Withdrawn(&st.out, f.Request)
	case Rang:
		st.rang(f.Key)
	case BridgeLost:
		st.bridgeLost(f)
	case BridgeBack:
		st.bridgeBack(f)
	case BridgeFailed:
		st.bridgeFailed(f)
	case Probed:
		st.probed(f)
	case Checked:
		st.checked(f)
	case Surveyed:
		st.surveyed(f)
	case PTYOpened:
		st.ptyOpened(f)
	case Configured:
		st.configured(f)
	case Decided:
		st.decided(f)
	case Woke:
		st.woke(f)
	case Judged:
		st.judged(f)
	case Remembered:
		st.remembered(f)
	case JournalFull:
		st.limitReached("the journal is full: " + f.Message)
	case OutputLost:
		st.outputLost(f)
	case Stopped:
		// Only an ending run is shut down; takeEnding has it.
	default:
		panic("supervisor: unknown fact")
	}
}

// begins says whether a fact is the first of a life.
func begins(f Fact) bool {
	switch f.(type) {
	case Began, Resumed, NoBridge:
		return true
	}
	return false
}

// settle does what every change may call for: it sends what can be sent, and
// moves the machine to where the agents stand.
func (st *step) settle() {
	if st.Ending != nil || !st.Phase.Live() {
		return
	}
	if st.endUncontinued(); st.Ending != nil {
		return
	}
	if st.askRenewal(); st.Ending != nil {
		return
	}
	st.runDueDecisions()
	st.pump()
	st.awake()
}

// do adds an effect.
func (st *step) do(e Effect) { st.out.Do(e) }

// emit tells every face.
func (st *step) emit(id string, body contract.Body) {
	st.out.Emit(id, body)
}

// shift changes the state of the task and says so.
func (st *step) shift(by machine.Trigger, to machine.State) {
	if st.Phase == to {
		return
	}
	st.emit(contract.Supervisor, contract.State{From: string(st.Phase), To: string(to), Trigger: string(by)})
	st.Phase = to
}

// edit returns a writable agent, or nil.
func (st *step) edit(id string) *Agent {
	i := slices.IndexFunc(st.Agents, func(a *Agent) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	if !slices.Contains(st.own, st.Agents[i]) {
		if st.own == nil {
			st.Agents = slices.Clone(st.Agents)
		}
		a := *st.Agents[i]
		st.Agents[i], st.own = &a, append(st.own, &a)
	}
	return st.Agents[i]
}

// mail returns the writable mail.
func (st *step) mail() []Mail {
	if !st.ownMail {
		st.Mail, st.ownMail = slices.Clone(st.Mail), true
	}
	return st.Mail
}

// workLog returns the writable work log.
func (st *step) workLog() []Entry {
	if !st.ownLog {
		st.WorkLog, st.ownLog = slices.Clone(st.WorkLog), true
	}
	return st.WorkLog
}
