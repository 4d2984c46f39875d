package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// end ends the run: what is open is closed, the agents are stopped, and when
// they are gone `result` is said. Only inputs that takeEnding knows matter now.
func (st *step) end(status, summary string, exit contract.Exit, by machine.Trigger) {
	if st.Ending != nil {
		return
	}
	e := Ending{Status: status, Summary: summary, Exit: exit}
	o := occasion{ending: &e}
	if by == machine.Decision {
		o.ruling.Decision = verdict.Complete
	}
	if status == contract.StatusCancelled {
		e.HalfDone = st.halfDone()
	}
	if !st.fire(by, o) {
		e.Was = st.Task.Phase
		st.wind(e)
	}
}

// wind closes what is open and stops the agents; `result` follows when they are gone.
func (st *step) wind(e Ending) {
	e.Question, e.Requests = st.Question, st.Permission.All()
	st.Ending = &e
	const stopped = "the run is being stopped; ask again when it is taken up"
	st.Permission.Shutdown(&st.out, stopped)
	st.Question, st.Waking, st.DeciderRequest = nil, false, nil
	st.do(effect.SetTimer{Key: timeoutKey})
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		if a.Takeover != nil { // what was done is read when the run is taken up again
			st.emit(a.ID, contract.Takeover{State: takeover.StateEnded, Reason: "the run is being stopped"})
		}
		switch {
		case a.Status == roster.Down || a.Status == roster.Parked:
			a.Status, a.Since, a.EndReason = roster.Ended, st.at, e.Status
		case a.Alive():
			a.Status, a.Since, a.EndReason = roster.Stopping, st.at, e.Status
		}
	}
	st.do(effect.Shutdown{})
}

func (st *step) limitReached(summary string) {
	summary = st.withReached(summary)
	st.end(contract.StatusLimit, summary, contract.ExitLimit, machine.LimitReached)
}

// giveUp ends the run after a failure; the category decides the exit code.
func (st *step) giveUp(c bridge.Category, summary string) {
	exit := contract.ExitFailed
	if environmental(c) {
		exit = contract.ExitEnvironment
	}
	st.end(contract.StatusFailed, summary, exit, machine.GiveUp)
}

// noBridge ends a run, or a further life of one, that never had an agent. What was
// open stays so for the next life.
func (st *step) noBridge(f input.NoBridge) {
	completed, was := st.Completed(), st.Ending
	if was == nil {
		was = &Ending{Question: st.Question, Requests: st.Permission.All(), Was: st.Task.Phase}
	}
	if len(st.Agents) > 0 { // a run that was to be taken up again
		st.EarlierRuntime += max(st.LastAt.Sub(st.ProcessBegan), 0)
		st.Question, st.Permission.Unclaimed = nil, nil
	}
	st.Options, st.ProcessBegan, st.Task.Phase, st.Ending = f.Options, st.at, machine.Idle, nil
	st.emit(contract.Supervisor, st.sessionEvent())
	st.fail(contract.Supervisor, f.Category, f.Message, recovery(f.Category, roster.RoleArbiter))
	exit := contract.ExitFailed
	if environmental(f.Category) {
		exit = contract.ExitEnvironment
	}
	st.shift(machine.GiveUp, machine.Failed)
	st.Ending = &Ending{Status: contract.StatusFailed, Summary: f.Message, Exit: exit, Question: was.Question, Requests: was.Requests, Was: was.Was}
	st.finish()
	if completed {
		st.Task.Phase, st.Ending = machine.Complete, was
	}
}

// outputLost ends a run whose events nobody can read any more: it could not be
// steered, and would go on costing.
func (st *step) outputLost(f input.OutputLost) {
	st.end(contract.StatusCancelled, "nobody reads the events any more: "+f.Message, contract.ExitFailed, machine.Cancel)
}

func (st *step) signalled(f input.Signalled) {
	exit := contract.ExitTerminated // HUP, too: somebody else has ended it
	if f.Signal == "INT" {
		exit = contract.ExitInterrupted
	}
	st.end(contract.StatusCancelled, "stopped by SIG"+f.Signal, exit, machine.Cancel)
	if f.Fast {
		st.do(effect.Shutdown{Fast: true})
	}
}

// timeIsOver ends the run at its time limit, but not while a human has a session.
func (st *step) timeIsOver() {
	if st.anyTakenOver() {
		// It is looked at again when the session is given back, and here, however that ends.
		st.do(effect.SetTimer{Key: timeoutKey, After: takenGrace})
		return
	}
	st.limitReached("the time limit of " + st.Options.Timeout.String() + " was reached")
}

// takeEnding handles what still arrives while the agents are being stopped.
func (st *step) takeEnding(f input.Fact) {
	if st.Ending.Said && tellsOf(f) {
		return // the result is the last line, and the loop does nothing more
	}
	switch f := f.(type) {
	case input.Happened:
		st.happenedLate(f.Event)
	case input.ToolCalled:
		st.do(effect.AnswerTool{Call: f.Call, Text: "The run is ending.", IsError: true})
	case input.PermissionAsked:
		r := permission.Request{ID: f.Params.Request, Params: f.Params}
		permission.Deny(&st.out, r, contract.ByShutdown, "the run is ending")
	case input.Judged:
		st.judged(f)
	case input.Commanded:
		st.commandedLate(f)
	case input.Signalled:
		st.do(effect.Shutdown{Fast: true})
	case input.Stopped:
		for _, name := range f.Unstopped {
			st.fail(name, bridge.CatInternal, name+" did not stop in time", []string{})
		}
		if st.Ending.Records { // the human does not want to wait any more
			st.finish()
			return
		}
		st.lastSnapshot()
	case input.Decided:
		st.answered(f)
	case input.BridgeLost, input.BridgeFailed:
		st.lastSnapshot() // with the bridge every agent is gone
	case input.SnapshotTaken:
		st.snapshotTaken(f)
	case input.Rang:
		if f.Key == lastSnapshotKey {
			st.finish()
		}
	case input.BridgeBack:
		st.do(effect.Shutdown{Fast: true})
	}
}

// tellsOf reports whether faces are told of a fact while a run is ending.
func tellsOf(f input.Fact) bool {
	switch f.(type) {
	case input.Happened, input.Commanded, input.PermissionAsked, input.Stopped:
		return true
	}
	return false
}

// commandedLate answers a command while the agents are being stopped. Who wants everything
// stopped at once does not wait for an end in order.
func (st *step) commandedLate(f input.Commanded) {
	if _, halt := f.Command.Body.(contract.Halt); halt && !st.barred(f) {
		st.accept(f.Command.Ref, "the run is ending, and nothing is waited for any more")
		st.do(effect.Shutdown{Fast: true})
		return
	}
	st.reject(f.Command.Ref, "the run is ending")
}

// happenedLate keeps the books while the agents are being stopped.
func (st *step) happenedLate(e bridge.Event) {
	a := st.Edit(e.ID)
	if a == nil || a.Generation != e.Generation {
		return
	}
	switch b := e.Body.(type) {
	case bridge.Delivered:
		st.delivered(b.MessageID)
	case bridge.Turn:
		st.bill(a, b)
		st.emit(e.ID, contract.Turn{Usage: b.Usage, CostUSD: b.CostUSD, Outcome: b.Outcome, MessageIDs: st.Conversation.PublicIDs(b.MessageIDs)})
	case bridge.Done:
		if a.Status == roster.Ended {
			return
		}
		a.Status = roster.Ended
		st.emit(e.ID, contract.Done{SessionID: cmp.Or(b.SessionID, a.SessionID), Reason: cmp.Or(a.EndReason, st.Ending.Status)})
	default:
		st.relay(e)
	}
}

// finish says the result, which is the last line, and ends the loop.
func (st *step) finish() {
	if st.Ending.Said {
		return
	}
	ending := *st.Ending
	ending.Said = true
	st.Ending = &ending
	for i := range st.Agents {
		if a := st.Agents[i]; a.Status != roster.Ended {
			e := st.Edit(a.ID)
			e.Status = roster.Ended
			st.emit(e.ID, contract.Done{SessionID: e.SessionID, Reason: cmp.Or(e.EndReason, st.Ending.Status)})
		}
	}
	st.emit(contract.Supervisor, contract.Result{
		Status: st.Ending.Status, Summary: st.Ending.Summary,
		CostUSD: st.Spent(), Usage: st.Used(), Iterations: st.Task.Iterations,
		DurationMS: st.elapsed().Milliseconds(), Crashes: st.Crashes,
		Session: st.Options.Run, Rehearsal: st.Options.Rehearsal, Checks: st.Handoff.ChecksRun(), Failing: st.Handoff.Failing(), HalfDone: st.Ending.HalfDone,
		Changes: st.Changes.Total, Acceptance: st.acceptance(),
	})
	st.do(effect.Finish{Exit: st.Ending.Exit})
}
