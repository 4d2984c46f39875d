package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Reached reports whether the run was given something to do and an agent ever started, or may still start. A
// run without a message, or one that ended because no agent could start, cannot be resumed.
func (s *State) Reached() bool {
	if !s.wasAsked() {
		return false
	}
	if len(s.Agents) > 0 && (s.Ending == nil || s.Ending.Exit != contract.ExitEnvironment) {
		return true
	}
	return slices.ContainsFunc(s.Agents, func(a *Agent) bool {
		return a.Generation > 1 || a.HasHistory || a.Context.Window > 0 || a.Status == AgentReady || a.Status == AgentBusy
	})
}

// wasAsked reports whether the run was ever given a task.
func (s *State) wasAsked() bool {
	return s.Task.Text != "" || s.Options.Task != "" || s.HumanSpoke || s.Spawned > 0 || s.Budget.Runtime.Processes > 1
}

// Pointless reports whether the run ended normally before it was given a task: nothing in it is worth keeping.
func (s *State) Pointless() bool {
	return s.Ending != nil && s.Ending.Said && !s.wasAsked() && s.Lifecycle.Crashes == 0 &&
		s.Ending.Exit != contract.ExitEnvironment && s.Ending.Exit != contract.ExitBug
}

// resumed resumes a run after any end of its last process.
func (st *step) resumed(f input.Resumed) {
	completed, crashed, was := st.Completed(), st.Ending == nil, machine.State("")
	if st.Ending != nil {
		was = st.Ending.Was
	}
	st.Budget.Runtime.Resume(st.at)
	modes, accept, sameRules := st.Options.Modes, st.Options.Accept, SameRules(&st.Options, &f.Options)
	st.Options = f.Options
	st.Lifecycle.Resume(f.Claude, st.at, st.Options.Lease, f.Fenced)
	st.keepModes(modes)
	if !slices.Equal(accept, st.Options.Accept) { // else a criterion that the human dropped would come back
		st.criteriaFromOptions()
	}
	for _, d := range st.Rulings.Unrecorded {
		st.do(input.Note{Decision: decider.Record(d)})
	}
	st.HumanPresent, st.Conversation.IDs.Salt = f.Options.HumanPresent, f.Salt
	st.Halted, st.Task.Failures, st.NotifiedAlone, st.Renewal.GeneratedInRow = false, 0, false, 0
	st.Paused = st.Paused && !completed && f.Word == "" // a message given with --resume means: continue
	st.Budget.AskedAt = time.Time{}
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		a.Stopped = false
		st.chargeLost(a)
	}
	if st.Budget.Day.Date != "" { // it may be another day now: the next input has what that has cost
		st.Budget.Day = BudgetDay{BaseUSD: st.Spent()}
	}
	st.endPauses("")                                                   // their timers are gone
	st.Handoff.WaitingQuestions, st.Lifecycle.TrustQuestion = nil, nil // the agents that asked have ended, too
	st.Renewal.ShortInRow = 0                                          // the limits may be different now
	e := sessionEvent(&st.Options, st.Lifecycle.Claude())
	e.Resumed = true
	st.emit(contract.Supervisor, e)
	if f.Notice != "" {
		st.notice(contract.Supervisor, f.Notice)
	}
	if st.Paused {
		st.notice(contract.Supervisor, "the run is still paused by a human: nothing is sent before it is continued "+
			"(`/continue`; the command continue)")
	}
	st.reportDistrust(f.Distrust)
	if completed && f.Word == "" && !f.Stay { // there is no bridge, and the run needs none
		// The human who resumes the run may not have seen its result: it ends once more, with the same one.
		ending := *st.Ending
		ending.Said = false
		st.Ending = &ending
		for i := range st.Agents {
			st.Edit(st.Agents[i].ID).Status = AgentEnded
		}
		st.do(input.Shutdown{Fast: true})
		return
	}
	st.Ending = nil
	if completed {
		st.prepareNextTask()
	}
	if crashed {
		st.Lifecycle.Crashes++ // of Arbiter itself
	}
	if !was.Live() {
		was = st.resumePhase()
	}
	st.Rulings.DeciderRequest = nil
	if completed || st.asksOther() {
		st.Rulings.ArbiterRequest = nil // else the Arbiter continues with the turn in which it got the request
	}
	st.Rulings.LeaveFallback(&st.out) // the Arbiter has another process, too
	st.fire(machine.Resume, triggerData{completed: completed, was: was})
	if st.Ending != nil || st.outOfBounds() { // the table may have ended it again, too: all its failures count
		return
	}
	st.Changes.Again(&st.out, st.Options.Workspace)
	st.callBack()
	st.levelsChanged()
	st.limitsChanged()
	st.rereadTakeovers(func(*Agent) bool { return true }, "arbiter had ended meanwhile")
	st.restartWhere(func(*Agent) bool { return true })
	st.askAgain(f.Word != "", sameRules)
	st.Handoff.Merges.Again(&st.out)
	if f.Word != "" { // it overtakes a COMPLETE
		st.word(contract.Say{Text: f.Word, Kept: f.Images})
	}
	st.goOn(anyDocument)
	st.Lifecycle.Waking, st.Lifecycle.ReturnedAgent = true, ""
}

// prepareNextTask makes a completed run ready for another task: the Arbiter keeps its session, the
// Orchestrators have ended.
func (st *step) prepareNextTask() {
	st.Task.Text, st.Handoff.SuccessorQueue, st.Question.Open = "", nil, nil
	st.forgetDocuments()
	st.Handoff.ForgetProofs()
	// The Arbiter completed the task without them; they are no reports on the next one.
	st.moveToWorkLog(func(m *Mail) bool { return m.To == contract.Arbiter && !m.Sent && m.EndsExecution() })
	for i := range st.Agents {
		if a := st.Agents[i]; a.Role == RoleOrchestrator && !a.Dismissed {
			a = st.Edit(a.ID)
			a.Dismissed = true
			st.Task.Abandon(a, st.at)
			for _, m := range st.dropMail(a.ID) {
				if m.From == contract.Human {
					st.notice(a.ID, st.cite(m.ID)+" was not answered before the task was completed")
				}
			}
		}
	}
}

// resumePhase returns the phase of the task when its run is resumed.
func (s *State) resumePhase() machine.State {
	switch {
	case slices.ContainsFunc(s.Agents, func(a *Agent) bool {
		return a.Role == RoleOrchestrator && !a.Dismissed && (a.Standing == AgentWorking || a.Standing == AgentWaiting)
	}):
		return machine.Executing
	case s.Task.Text == "":
		return machine.Idle
	case s.awaitsRuling():
		return machine.Evaluating
	}
	return machine.Selecting
}

// outOfBounds ends a resumed run again if its limit is still reached.
func (st *step) outOfBounds() bool {
	o := st.Options
	spent := st.spentLimits()
	st.Budget.HeldUntil = time.Time{} // the reserve may be another one now
	st.Budget.Hold(&st.out, o.QuotaReserve)
	switch {
	case len(spent) > 0 && !st.HumanPresent: // else the human is asked
		st.limitReached(ReachedText(spent[0]))
	case st.Budget.ResetIsTooFar(st.at, o.MaxWait):
		st.limitReached(st.Budget.ReserveText(o.QuotaReserve) + "; continue then, or lower --quota-reserve")
	case o.Timeout > 0 && st.Budget.Runtime.Earlier >= o.Timeout:
		st.limitReached("the time limit of " + o.Timeout.String() + " was reached: raise it with --timeout")
	default:
		if o.Timeout > 0 {
			st.do(input.SetTimer{Key: timeoutKey, After: o.Timeout - st.Budget.Runtime.Earlier})
		}
		return false
	}
	return true
}

// askAgain emits the open question once more; answered says that the answer came with the resume. Permission
// requests open again when an agent repeats them. If the rules have changed meanwhile, the rules may decide
// them first.
func (st *step) askAgain(answered, sameRules bool) {
	st.Question.Repeat(&st.out)
	st.Permission.Resume(&st.out, func(id string) bool {
		a, ok := st.Agent(id)
		return ok && !a.Dismissed
	})
	if !sameRules {
		st.Permission.PolicyChanged(&st.out)
	}
	st.Permission.NobodyAnswers(&st.out, st.whoAnswers())
	if !st.HumanPresent && !answered {
		st.answerAlone()
	}
}

// continueDialogue makes sure that the dialogue continues once all agents are back.
func (st *step) continueDialogue() {
	if !st.Lifecycle.Waking || st.Ending != nil || st.Renewal.Stage != RenewalNone {
		return // an Arbiter that is being renewed is replaced; its successor rules on what is open
	}
	for i := range st.Agents {
		switch st.Agents[i].Status {
		case AgentStarting, AgentDown, AgentRestarting, InHand:
			return
		}
	}
	if st.Paused {
		return // this happens when the run is continued
	}
	back := st.Lifecycle.ReturnedAgent
	st.Lifecycle.Waking, st.Lifecycle.ReturnedAgent = false, ""
	if st.Task.Text == "" || st.Question.Open != nil || st.Conversation.Held || st.underWay() {
		return
	}
	what := "The run was taken up again"
	if back != "" {
		what = "The human gave back the session of " + back
	}
	st.tell(what + ", and nothing is under way. Alive: " + st.LivingText() + ". Decide how the work goes on.")
	st.pump()
}

// underWay reports whether something will happen without a further message.
func (s *State) underWay() bool {
	if len(s.Conversation.Mail) > 0 || s.Handoff.IsDue() || s.Rulings.DeciderRequest != nil ||
		s.Renewal.Stage != RenewalNone {
		return true
	}
	for _, a := range s.Agents {
		if a.Status == AgentBusy || a.Status == InHand || a.Troubles > 0 && a.Alive() {
			return true
		}
	}
	return false
}

// began starts the run. It starts the Arbiter at once, so that it is ready when the first message comes.
func (st *step) began(f input.Began) {
	st.Options = f.Options
	st.Lifecycle.Start(f.Claude)
	st.Budget.Runtime.Begin(st.at)
	st.Task.Phase = machine.Idle
	st.HumanPresent = f.Options.HumanPresent
	st.emit(contract.Supervisor, sessionEvent(&st.Options, st.Lifecycle.Claude()))
	if f.Notice != "" {
		st.notice(contract.Supervisor, f.Notice)
	}
	if wait := f.Options.PermissionWait; wait > 0 {
		st.notice(contract.Supervisor, "A permission request that nobody answers within "+wait.String()+" is "+
			"denied (--permission-wait)")
	}
	st.reportDistrust(f.Distrust)
	st.criteriaFromOptions()
	if f.Options.Timeout > 0 {
		st.do(input.SetTimer{Key: timeoutKey, After: f.Options.Timeout})
	}
	st.addAgent(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: RoleArbiter, Name: "The Arbiter"},
		AgentMake: AgentMake{Make: f.Options.ArbiterMake},
	}, f.Options.Task)
	if f.Options.Task != "" {
		st.giveTask(f.Options.Task, f.Images)
	}
}

// noBridge ends a run, or a further process of a run, that never had an agent. Open questions and messages stay
// open for the next process.
func (st *step) noBridge(f input.NoBridge) {
	completed, was := st.Completed(), st.Ending
	if was == nil {
		was = &Ending{Was: st.Task.Phase}
	}
	if len(st.Agents) > 0 { // a run that was to be resumed
		st.Budget.Runtime.Close(st.at)
	}
	st.Budget.Runtime.ProcessBegan = st.at
	crashed := st.Ending == nil
	st.Options, st.Task.Phase, st.Ending = f.Options, machine.Idle, nil
	st.emit(contract.Supervisor, sessionEvent(&st.Options, st.Lifecycle.Claude()))
	if crashed {
		st.Permission.Unclaimed, st.Permission.Open = st.Permission.All(), nil // the processes that asked have ended
		st.Permission.Shutdown(&st.out, stopped)
	}
	ending := failed(f.Category, f.Message)
	if f.Signal != nil {
		ending = endBy(*f.Signal)
		st.shift(machine.Cancel, machine.Cancelled)
	} else {
		st.fail(contract.Supervisor, f.Category, f.Message, RecoveryOptions(f.Category, RoleArbiter))
		st.shift(machine.GiveUp, machine.Failed)
	}
	ending.Was = was.Was
	st.Ending = &ending
	st.finish()
	if completed {
		complete := *was
		complete.Said = true
		st.Task.Phase, st.Ending = machine.Complete, &complete
	}
}

// sessionEvent describes the run, as its first event.
func sessionEvent(o *runconfig.Options, claude bridge.ClaudeInfo) contract.Session {
	confined, why := o.Confinement()
	return contract.Session{
		Session: o.Run, CWD: o.CWD, ClaudeVersion: claude.Version, Claude: claude.Path,
		Rehearsal: o.Rehearsal, StandIn: o.StandIn, Scenario: o.Scenario,
		Trusted: o.Trusted, Permissions: o.Permissions, Version: o.Version, Log: o.Log,
		Sandbox: confined, SandboxReason: why, ForkedFrom: o.ForkedFrom,
	}
}
