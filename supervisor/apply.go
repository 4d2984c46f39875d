package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// Apply folds one input into the state and says what is to be done about it. It
// is pure: no I/O, no clock, no randomness, no goroutine, and the state it was
// given stays as it was.
func Apply(s State, in Input) (State, []effect.Effect) {
	st := &step{State: s, at: in.At, out: effect.Collector{Now: in.At}}
	st.take(in.Fact)
	st.settle()
	effects := st.out.Effects()
	if len(effects) > 0 && !Narrates(in.Fact) {
		st.LastAt = in.At
	}
	return st.State, effects
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

// begins reports whether a fact is the first of a life.
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
