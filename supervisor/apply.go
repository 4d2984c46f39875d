package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Apply folds one input into the state and says what is to be done about it. It
// is pure: no I/O, no clock, no randomness, no goroutine, and the state it was
// given stays as it was.
func Apply(s State, in input.Input) (State, []effect.Effect) {
	st := &step{State: s, at: in.At, out: effect.Collector{Now: in.At}}
	st.freeze() // a caller may have edited what it hands in
	st.take(in.Fact)
	st.settle()
	st.freeze()
	effects := st.out.Effects()
	if len(effects) > 0 && !input.Narrates(in.Fact) {
		st.LastAt = in.At
	}
	return st.State, effects
}

func (st *step) take(f input.Fact) {
	if st.Ending != nil && !begins(f) {
		st.takeEnding(f)
		return
	}
	switch f := f.(type) {
	case input.Began:
		st.began(f)
	case input.Resumed:
		st.resumed(f)
	case input.NoBridge:
		st.noBridge(f)
	case input.Commanded:
		if st.channel, st.ordered = f.Channel, true; !st.barred(f) {
			st.commanded(f.Command)
		}
	case input.InputEnded:
		st.inputEnded()
	case input.Signalled:
		st.signalled(f)
	case input.Happened:
		st.happened(f.Event)
	case input.Spawned:
		st.spawned(f)
	case input.NotSpawned:
		st.notSpawned(f)
	case input.TrustRecorded:
		st.trustRecorded(f)
	case input.NotSent:
		st.notSent(f)
	case input.ToolCalled:
		st.toolCalled(f)
	case input.PermissionAsked:
		st.permissionAsked(f)
	case input.Reconsidered:
		st.Permission.Reconsidered(&st.out, f.Settled, f.Changes, st.whoAnswers())
	case input.PermissionWithdrawn:
		st.Permission.Withdrawn(&st.out, f.Request)
	case input.Rang:
		st.rang(f.Key)
	case input.BridgeLost:
		st.bridgeLost(f)
	case input.BridgeBack:
		st.bridgeBack(f)
	case input.BridgeFailed:
		st.bridgeFailed(f)
	case input.Probed:
		st.probed(f)
	case input.Checked:
		st.checked(f)
	case input.Surveyed:
		st.surveyed(f)
	case input.PTYOpened:
		st.ptyOpened(f)
	case input.Configured:
		st.configured(f)
	case input.Decided:
		st.decided(f)
	case input.Woke:
		st.woke(f)
	case input.Judged:
		st.judged(f)
	case input.Remembered:
		st.remembered(f)
	case input.JournalFull:
		st.limitReached("the journal is full: " + f.Message)
	case input.OutputLost:
		st.outputLost(f)
	case input.Stopped:
		// Only an ending run is shut down; takeEnding has it.
	default:
		panic("supervisor: unknown fact")
	}
}

// begins reports whether a fact is the first of a life.
func begins(f input.Fact) bool {
	switch f.(type) {
	case input.Began, input.Resumed, input.NoBridge:
		return true
	}
	return false
}

// settle does what every change may call for: it sends what can be sent, and
// moves the machine to where the agents stand.
func (st *step) settle() {
	if st.Ending != nil || !st.Task.Phase.Live() {
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
