package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// takeEnding handles inputs that arrive while the agents are being stopped.
func (st *step) takeEnding(f input.Body) {
	if st.Ending.Said {
		return // the result is the last line
	}
	switch f := f.(type) {
	case input.AgentEvent:
		st.happenedLate(f.Event)
	case input.ToolCalled:
		st.do(input.AnswerTool{Call: f.Call, Text: "The run is ending.", IsError: true})
	case input.PermissionAsked:
		r := input.PermissionRequest{ID: f.Params.Request, Params: f.Params}
		input.Deny(&st.out, r, contract.ByShutdown, "the run is ending")
	case input.CallDecided:
		st.callDecided(f)
	case input.Command:
		if _, halt := f.Command.Body.(contract.Halt); halt && !st.refuseCommand(f) { // this skips the orderly end
			st.out.Accept(f.Command.Ref, "the run is ending and no longer waits for anything")
			st.do(input.Shutdown{Fast: true})
			return
		}
		st.out.Reject(f.Command.Ref, "the run is ending")
	case input.Signal:
		st.do(input.Shutdown{Fast: true})
	case input.Stopped:
		for _, name := range f.Unstopped {
			st.fail(name, bridge.CatInternal, name+" did not stop in time", []string{})
		}
		if st.Ending.Records { // the human does not want to wait any longer
			st.finish()
			return
		}
		st.lastSnapshot()
	case input.Decided:
		st.answered(f, false)
	case input.BridgeLost:
		if f.Host == LifecycleHere { // losing another host's bridge does not stop the end of the run
			st.lastSnapshot() // every agent has ended with the bridge
		}
	case input.BridgeFailed:
		if f.Host == LifecycleHere {
			st.lastSnapshot()
		}
	case input.SnapshotTaken:
		st.snapshotTaken(f)
	case input.Reverted:
		st.reverted(f)
	case input.Timer:
		if f.Key == lastSnapshotKey {
			st.finish()
		}
	case input.BridgeBack:
		if f.Host != LifecycleHere { // no agent was started there
			st.do(input.DropBridge{Host: f.Host})
			return
		}
		st.do(input.Shutdown{Fast: true})
	}
}

// refuseCommand refuses a command whose sender may not give it, and reports whether it did.
func (st *step) refuseCommand(f input.Command) bool {
	who, what := SentBy(f.Channel), RightsCommand(f.Command.Body)
	switch {
	case who == RightsNobody && what == RightsMalformed:
		return false // it is rejected, with what is wrong with it
	case !May(who, what):
		st.out.Reject(f.Command.Ref, "%s is accepted from stdin, the screen and the control socket only", what)
		return true
	}
	return false
}

// happenedLate updates costs and agents for events that come while the agents are being stopped.
func (st *step) happenedLate(e bridge.Event) {
	a := st.Edit(e.ID)
	if a == nil || a.Generation != e.Generation {
		return
	}
	if fromModel(e.Body) {
		st.answers(e.ID)
	}
	st.relay(e)
	switch b := e.Body.(type) {
	case bridge.Delivered:
		st.delivered(b.MessageID)
	case bridge.Turn:
		if b.Outcome == bridge.TurnDone {
			st.answers(e.ID)
		}
		st.chargeTurn(a, b)
	case bridge.Spent:
		st.spends(a, b)
	case bridge.Context: // the session may be continued
		st.measured(a, b)
	case bridge.Compact:
		if !b.Blocked {
			a.forgetLevels()
		}
	case bridge.Done:
		if a.Status == AgentEnded {
			return
		}
		st.chargeLost(a)
		a.Status = AgentEnded
		st.emit(e.ID, contract.Done{SessionID: cmp.Or(b.SessionID, a.SessionID),
			Reason: cmp.Or(a.EndReason, st.Ending.Status)})
	}
}
