package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// The bridge: what is lost with it, and how another takes its place.

// bridgeLost: every agent went with it. Another one is started, and they come back.
func (st *step) bridgeLost(f input.BridgeLost) {
	if f.Halted && !f.Heeded {
		st.lostByHalt()
	}
	if !st.BridgeUp {
		st.BridgeGone = true // the next one, whose coming is not told yet
		return
	}
	st.BridgeUp, st.Handoff.WaitingQuestions = false, nil
	if !f.Halted {
		st.Crashes++
	}
	st.loseTakeovers()
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		a.Backoff = nil // the bridge is waited for
		switch {
		case a.Status == roster.InHand: // what was done is read with the next bridge
		case a.Status == roster.Stopping:
			a.Status, a.Since = roster.Ended, st.at
			st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
			st.drop(a.ID)
		case a.Alive() && a.Status != roster.Down:
			a.Status, a.Since, a.CurrentTool = roster.Down, st.at, ""
			lifecycle.MarkCut(a)
			st.chargeEndedTurn(a)
			st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatCrash)})
			st.Permission.TurnOver(&st.out, a.ID)
		}
	}
	st.loseChecks()
	if f.Halted {
		st.reopenBridge()
		return
	}
	st.openBridge(f.Message)
}

// reopenPause is before another bridge follows one that was ended on purpose.
const reopenPause = time.Second

// reopenBridge starts another bridge in place of one that a halt ended: that is no failure.
func (st *step) reopenBridge() {
	st.do(effect.SetTimer{Key: restartPrefix + theBridge, After: reopenPause})
}

// openBridge starts another bridge in a while, or gives the run up.
func (st *step) openBridge(reason string) {
	d := st.decide(theBridge, st.Crashes, restart.Crash, reason, time.Time{})
	if !d.Starts() {
		st.fail(contract.Supervisor, bridge.CatCrash, "the bridge is "+d.Reason, []string{"arbiter --resume"})
		st.giveUp(bridge.CatCrash, "the bridge is "+d.Reason)
		return
	}
	st.emit(contract.Supervisor, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(),
		Reason: "the bridge " + d.Reason})
	st.do(effect.SetTimer{Key: restartPrefix + theBridge, After: max(d.Delay, time.Millisecond)})
}

// bridgeDue opens another bridge, now that its time has come.
func (st *step) bridgeDue() {
	if !st.BridgeUp {
		st.do(effect.OpenBridge{})
	}
}

// bridgeBack: another bridge has taken the place of one that was lost. Agents come back behind it.
func (st *step) bridgeBack(f input.BridgeBack) {
	if st.BridgeGone {
		if st.BridgeGone = false; st.Halted {
			st.reopenBridge()
			return
		}
		st.openBridge("it ended at once")
		return
	}
	st.BridgeUp, st.Claude = true, f.Claude
	if f.Swept > 0 {
		st.emit(contract.Supervisor, contract.Notice{Text: "ended what the lost bridge left behind: " +
			words.Count(f.Swept, "process")})
	}
	st.rereadTakeovers("the bridge was lost")
	st.restartAll()
	st.loseChecks() // those that were begun while there was none
	st.goOn()
}

// bridgeFailed: another bridge could not be started.
func (st *step) bridgeFailed(f input.BridgeFailed) {
	if lifecycle.AffectsAllAgents(f.Category) {
		st.fail(contract.Supervisor, f.Category, f.Message, lifecycle.RecoveryOptions(f.Category, roster.RoleArbiter))
		st.giveUp(f.Category, f.Message)
		return
	}
	st.openBridge(f.Message)
}

// muteBridge looks without an answer, the bridge itself counts as hung. It answers a
// look within milliseconds, whatever its agents do, and every look has waited for it.
const muteBridge = 3

// bridgeMute counts a probe that the bridge did not answer, and ends a bridge that is mute.
func (st *step) bridgeMute() {
	if st.at.Sub(st.UnansweredAt) < st.Options.ProbeEvery() {
		return // agents that are looked at together wait together
	}
	st.UnansweredAt = st.at
	st.UnansweredProbes++
	if st.UnansweredProbes < muteBridge || !st.BridgeUp {
		return
	}
	st.UnansweredProbes = 0
	st.emit(contract.Supervisor, contract.Notice{Text: "the bridge does not answer; it is ended, and another takes its place"})
	st.do(effect.DropBridge{})
}

// theBridge is the name of the bridge in the history of restarts.
const theBridge = "bridge"
