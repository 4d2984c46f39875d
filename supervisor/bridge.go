package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// Bridges: what is lost with one, and how another takes its place.

// bridgeLost: every agent went with it. Another one is started, and they come back.
func (st *step) bridgeLost(f input.BridgeLost) {
	if f.Halted && !f.Heeded {
		st.lostByHalt()
	}
	if !st.Lifecycle.Lost(f.Host) {
		return
	}
	st.Handoff.WaitingQuestions = nil
	if !f.Halted {
		st.Lifecycle.Crashes++
	}
	st.loseTakeovers()
	for i := range st.Agents {
		st.lostWithBridge(st.Edit(st.Agents[i].ID))
	}
	st.loseChecks()
	if f.Halted {
		st.Lifecycle.Reopen(&st.out, f.Host)
		return
	}
	st.openBridge(f.Host, f.Message)
}

// lostWithBridge notes that the process of an agent ended with its bridge.
func (st *step) lostWithBridge(a *roster.Agent) {
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

// openBridge starts another bridge in a while, or gives the run up.
func (st *step) openBridge(host, reason string) {
	seed := fmt.Sprintf("%s/bridge/%d", st.Options.Run, st.Lifecycle.Crashes)
	d := st.Lifecycle.Retry(&st.out, host, st.Options.RestartPolicy(), seed, reason)
	if !d.Starts() {
		st.fail(contract.Supervisor, bridge.CatCrash, "the bridge is "+d.Reason, []string{"arbiter --resume"})
		st.giveUp(bridge.CatCrash, "the bridge is "+d.Reason)
	}
}

// bridgeBack: another bridge has taken the place of one that was lost. Agents come back behind it.
func (st *step) bridgeBack(f input.BridgeBack) {
	if !st.Lifecycle.Back(f.Host, f.Claude) {
		if st.Halted {
			st.Lifecycle.Reopen(&st.out, f.Host)
			return
		}
		st.openBridge(f.Host, "it ended at once")
		return
	}
	lifecycle.TellSwept(&st.out, f.Swept)
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
	st.openBridge(f.Host, f.Message)
}
