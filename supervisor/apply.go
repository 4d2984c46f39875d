package supervisor

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// Apply applies one input to the state, and returns the next state and the effects to carry out. It is pure: no
// I/O, no clock, no randomness, no goroutine. It does not change the state it was given.
func Apply(s State, in input.Input) (State, []input.Effect) {
	next, effects := Next(&s, in)
	return *next, effects
}

// Next is Apply for a caller that keeps states behind pointers: it copies the state once.
func Next(s *State, in input.Input) (*State, []input.Effect) {
	st := &step{State: *s, at: in.At, out: input.Collector{Now: in.At}}
	st.freeze() // a caller may have edited the state that it passes
	if !input.Narrates(in.Body) {
		st.waited = waiting(s)
	}
	st.take(in.Body)
	st.dispatch()
	st.settle()
	st.freeze()
	effects := st.out.Effects()
	if len(effects) > 0 && !input.Narrates(in.Body) {
		st.Budget.Runtime.LastAt = in.At
	}
	return &st.State, effects
}

// take dispatches an input.
func (st *step) take(f input.Body) {
	if st.Ending != nil && !beginsProcessRun(f) {
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
	case input.Command:
		if st.channel, st.ordered = f.Channel, true; !st.refuseCommand(f) {
			st.commanded(f.Command)
		}
	case input.InputEnded:
		st.inputEnded()
		for _, b := range st.Lifecycle.Bridges {
			if b.Parked && st.Ending == nil {
				st.abandonHost(b.Host) // the human is gone
			}
		}
	case input.Signal:
		st.signalled(f)
	case input.AgentEvent:
		st.agentEvent(f.Event)
	case input.Spawned:
		st.spawned(f)
	case input.NotSpawned:
		st.notSpawned(f)
	case input.TrustRecorded:
		if f.Failed != "" { // the run trusts the workspace all the same
			st.notice(contract.Supervisor, "the workspace is trusted for this run only; that could not be saved: "+
				f.Failed)
		}
	case input.NotSent:
		st.notSent(f)
	case input.ToolCalled:
		st.toolCalled(f)
	case input.PermissionAsked:
		st.permissionAsked(f)
	case input.RulesGiven:
		st.rulesGiven(f)
	case input.Reconsidered:
		st.Permission.Reconsidered(&st.out, f.Resolutions, f.Changes, st.whoAnswers())
	case input.PermissionWithdrawn:
		st.Permission.Withdrawn(&st.out, f.Request)
	case input.Timer:
		st.timerFired(f.Key)
	case input.BridgeLost:
		st.bridgeLost(f)
	case input.BridgeBack:
		st.bridgeBack(f)
	case input.BridgeFailed:
		st.bridgeFailed(f)
	case input.Probed:
		st.probed(f)
	case input.Checked:
		if st.checked(f) {
			st.advance(f.Serial)
		}
	case input.Inspected:
		if !st.takeoverInspected(f) && st.generateFrom(f) {
			st.advance(f.Serial)
		}
	case input.Merged:
		st.merged(f)
	case input.SnapshotTaken:
		st.snapshotTaken(f)
	case input.Reverted:
		st.reverted(f)
	case input.PTYOpened:
		st.terminalOpened(f)
	case input.Configured:
		st.configured(f)
	case input.Decided:
		st.decided(f)
	case input.DaySpent:
		st.Budget.Day.Read(f.Day, f.OthersUSD, f.OwnUSD, st.Spent())
		st.reportSharedLevels()
	case input.WokeFromSleep:
		st.wokeFromSleep(f)
	case input.CallDecided:
		st.callDecided(f)
		if f.By == contract.ByLimit && bridge.StartsSubagent(f.Params.Tool) {
			st.subagentRefused(f.Params.ID)
		}
	case input.Remembered:
		st.remembered(f)
	case input.JournalFull:
		st.limitReached("nothing more can be recorded: " + f.Message)
	case input.OutputLost:
		// The run could not be steered any more, and would continue to cost money.
		st.end(contract.StatusCancelled, "the events can no longer be written: "+f.Message, contract.ExitFailed,
			machine.Cancel)
	case input.Stopped:
		// Only an ending run is shut down; takeEnding handles this input.
	default:
		panic("supervisor: unknown input")
	}
}

// beginsProcessRun reports whether an input is the first of a process run.
func beginsProcessRun(f input.Body) bool {
	switch f.(type) {
	case input.Began, input.Resumed, input.NoBridge:
		return true
	}
	return false
}

// dispatch does what every change may require: it starts the processes whose turn it is, sends the messages that can
// be sent, and moves the machine to the phase that follows from what the agents do.
func (st *step) dispatch() {
	if st.Ending != nil {
		return
	}
	if st.startQueued(); !st.Task.Phase.Live() {
		return
	}
	for _, mayEnd := range []func(){
		st.endUncontinued, st.keepFuses, st.keepReserve, st.keepCostLimits, st.askRenewal,
	} {
		if mayEnd(); st.Ending != nil {
			return
		}
	}
	st.runDueDecisions()
	st.wantHostsOfWork()
	st.pump()
	st.continueDialogue()
	if st.Ending == nil {
		st.startQueued() // an agent that was stopped above, such as by its fuse, may have been starting
	}
}

// agentEvent handles an event of an agent. A late event of an earlier generation never changes the present one.
func (st *step) agentEvent(e bridge.Event) {
	a, ok := st.Agent(e.ID)
	if !ok || a.Generation != e.Generation || a.Status == AgentEnded {
		return
	}
	if a.Backoff != nil && reachedModel(e.Body) {
		st.Edit(e.ID).Backoff = nil
	}
	if a.Status == InHand {
		switch e.Body.(type) {
		case bridge.Done, bridge.Error, bridge.Notice: // of a terminal's session
		default:
			return
		}
	}
	if fromModel(e.Body) {
		st.answers(e.ID)
	}
	st.relay(e)
	switch b := e.Body.(type) {
	case bridge.Turn:
		document := st.Handoff.DocumentSerial
		unseen := a.CurrentTool == "" && b.Tools > 0
		st.turnEnded(st.Edit(e.ID), b)
		st.snapshotAfterTurn(e.ID, b, document, unseen)
	case bridge.Delivered:
		st.delivered(b.MessageID)
	case bridge.Done:
		st.ended(st.Edit(e.ID), b)
	case bridge.Context:
		st.measured(st.Edit(e.ID), b)
	case bridge.ContextWarning:
		st.Edit(e.ID).NotifyingLevel = b.Level
	case bridge.Compact:
		st.compacted(st.Edit(e.ID), b)
	case bridge.ToolUse:
		st.acts(&a, b)
		if a.Role == RoleOrchestrator {
			st.Edit(e.ID).accesses(b.Input)
		}
		if b.Subagent == "" {
			a := st.Edit(e.ID)
			a.CurrentTool, a.ToolCall = b.Tool, &RunningTool{Tool: b.Tool, ToolUse: b.ToolUse,
				What: ToolSubject(b.Input), Since: st.at}
		}
	case bridge.ToolRan: // a hook of the user has changed the input
		st.Changes.Acted(a.ID, b.ToolUse, true)
		st.acts(&a, bridge.ToolUse{Tool: b.Tool, ToolUse: b.ToolUse, Input: b.Input})
	case bridge.ToolResult:
		st.Changes.Acted(a.ID, b.ToolUse, b.IsError)
		if a.ToolCall != nil && a.ToolCall.ToolUse == b.ToolUse {
			a := st.Edit(e.ID)
			st.toolEnded(a, b)
			a.ToolCall = nil
		}
	case bridge.Spent:
		st.spends(st.Edit(e.ID), b)
	case bridge.Quota:
		st.Budget.Quota(&st.out, b)
	case bridge.Tasks:
		st.followPlan(e.ID, b)
	case bridge.Retry:
		if a.Status == AgentBusy {
			st.backOff(st.Edit(e.ID), RetryCategory(b), b.Attempt,
				time.Duration(b.DelayMS)*time.Millisecond)
		}
	case bridge.SubagentStart:
		a := st.Edit(e.ID)
		a.CurrentTool, a.RefusedSubagents = b.Description, 0
		a.Subagents = append(slices.Clip(a.Subagents), b.ToolUse)
		st.Budget.StartSubagent(st.at, st.Options.MaxSubagentsPerHour)
	case bridge.SubagentStop:
		a := st.Edit(e.ID)
		a.Subagents = slices.DeleteFunc(slices.Clone(a.Subagents), func(call string) bool { return call == b.ToolUse })
	}
}

// reachedModel reports whether an event shows that the agent has reached its model.
func reachedModel(b bridge.EventBody) bool {
	switch b.(type) {
	case bridge.Turn, bridge.Delivered:
		return true
	}
	return fromModel(b)
}

// timerFired does what a timer was set for. A timer about a process that was replaced, or about something that is
// over, does nothing.
func (st *step) timerFired(key string) {
	switch key {
	case timeoutKey:
		st.timeIsOver()
		return
	case ResetTimer:
		st.Budget.AwaitReset(&st.out) // the timer may have been early; dispatch sees that the window was reset
		return
	}
	kind, of, _ := strings.Cut(key, "/")
	switch kind += "/"; kind {
	case input.TimerPrefix:
		st.Permission.TimedOut(&st.out, of, st.Options.PermissionWait)
	case DeliveryTimerPrefix:
		st.proofOverdue(of)
	case HandoffTimerPrefix:
		serial, _ := strconv.Atoi(of) // serials count from 1
		if st.documentOutOfTime(serial) {
			st.advance(serial)
		}
	case WorkLimitPrefix:
		st.workTimeOver(of)
	case RhythmPrefix:
		id, _, _ := strings.Cut(of, "/")
		st.endPauses(id) // also if its process was replaced meanwhile
	case RestartPrefix:
		if host, ok := TimerHost(of); ok {
			st.Lifecycle.Due(&st.out, host)
			return
		}
		fallthrough
	case WatchPrefix, CompactionBlockedPrefix, RetryPrefix:
		for _, a := range st.Agents {
			if RunOf(a.AgentRef) == of {
				st.agentTimerFired(kind, st.Edit(a.ID))
				return
			}
		}
	}
}

// agentTimerFired does what a timer of an agent's process was set for.
func (st *step) agentTimerFired(kind string, a *Agent) {
	switch kind {
	case WatchPrefix:
		if a.Up() {
			st.do(input.Probe{Agent: a.AgentRef})
		}
	case RestartPrefix:
		a.Backoff = nil
		st.restart(a.ID) // if its process is down
	case CompactionBlockedPrefix: // it goes on although it was told to hand off: the next turn can be used only for that
		if a.CompactionBlocked && a.Status == AgentBusy {
			a.Interrupting = true
			st.do(input.Interrupt{Agent: a.AgentRef})
		}
	case RetryPrefix: // the message is in the session's history already
		if a.Backoff = nil; a.Status == AgentReady && !st.pendingFor(a.ID) {
			st.notify(a.ID, KindRetry, brokenWay)
		}
	}
}
