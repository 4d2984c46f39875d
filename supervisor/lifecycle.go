package supervisor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// began starts the run: the Arbiter is summoned at once, so that it is ready
// when the first word comes.
func (st *step) began(f input.Began) {
	st.Options, st.Claude = f.Options, f.Claude
	st.Began, st.ProcessBegan, st.ProcessRuns, st.Task.Phase = st.at, st.at, 1, machine.Idle
	st.BridgeUp = true
	st.HumanPresent = f.Options.HumanPresent
	st.emit(contract.Supervisor, st.sessionEvent())
	if f.Notice != "" {
		st.emit(contract.Supervisor, contract.Notice{Text: f.Notice})
	}
	st.tellDistrust(f.Distrust)
	st.acceptFromOptions()
	if f.Options.Timeout > 0 {
		st.do(effect.SetTimer{Key: timeoutKey, After: f.Options.Timeout})
	}
	st.enlist(roster.Agent{
		AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1}, Role: roster.RoleArbiter, Name: "The Arbiter"},
	}, f.Options.Task)
	if f.Options.Task != "" {
		st.giveTask(f.Options.Task)
	}
}

func (st *step) sessionEvent() contract.Session {
	o := st.Options
	confined, why := st.confinement()
	return contract.Session{
		Session: o.Run, CWD: o.CWD, ClaudeVersion: st.Claude.Version, Claude: st.Claude.Path,
		Rehearsal: o.Rehearsal, StandIn: o.StandIn, Scenario: o.Scenario,
		Trusted: o.Trusted, Permissions: o.Permissions, Version: o.Version, Log: o.Log,
		Sandbox: confined, SandboxReason: why,
	}
}

// confinement is what confines the agents, and why nothing does.
func (st *step) confinement() (what, why string) {
	switch o := st.Options; {
	case o.Sandbox != nil:
		return "bubblewrap", ""
	case o.SandboxReason != "":
		return "unsandboxed", o.SandboxReason
	}
	return "unsandboxed", "not asked for (--sandbox)"
}

// giveTask hands the human's task to the Arbiter and starts the machine.
func (st *step) giveTask(task string) {
	st.Task.Text = task
	st.startTask()
	st.post(conversation.Mail{
		From: contract.Human, To: contract.Arbiter, Kind: conversation.KindTask, Text: task, Attached: st.withTask(),
	})
}

// withTask is what the Arbiter reads with a task: the criteria that it will be judged by, and the reports of earlier
// runs.
func (s *State) withTask() []conversation.Attached {
	var list []conversation.Attached
	if criteria := s.criteriaText(); criteria != "" {
		list = append(list, conversation.Attached{
			Title: "acceptance criteria", From: contract.Supervisor, Kind: "document", Trusted: true,
			Text: "COMPLETE takes effect when the supervisor has run the commands of these criteria on the final files, " +
				"and all passed.\n\n" + criteria,
		})
	}
	if s.Options.Lessons != "" {
		list = append(list, conversation.Attached{
			Title: "memory", From: contract.Supervisor, Kind: "document", Text: s.Options.Lessons,
		})
	}
	return list
}

// enlist adds an agent and has its process started.
func (st *step) enlist(a roster.Agent, prompt string) {
	a.Status, a.Since = roster.Starting, st.at
	a.SessionID = st.sessionID(a.ID, a.Generation)
	st.Roster.Add(&a)
	st.emit(a.ID, contract.Spawn{
		Name: a.Name, Mode: a.Mode, Prompt: prompt, SessionID: a.SessionID,
		Generation: a.Generation, SuccessorOf: a.Predecessor,
	})
	if w := st.Options.Workspace; w.Enabled() && a.Role == roster.RoleOrchestrator {
		st.emit(a.ID, contract.Workspace{Dir: st.Options.CWD, Base: w.Base, Isolation: "shared"})
	}
	if !st.BridgeUp || st.Halted || st.TrustQuestion != nil { // it starts with the others
		e := st.Edit(a.ID)
		e.Status, e.NewSession = roster.Down, true
		return
	}
	st.do(effect.Spawn{Params: bridge.SpawnParams{AgentRef: a.AgentRef, Config: st.config(&a)}})
}

// startTask begins a task.
func (st *step) startTask() {
	st.fire(machine.StartTask, occasion{})
}

func (st *step) spawned(f input.Spawned) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || a.Status != roster.Starting {
		return
	}
	if why := otherSession(a, f.Result.SessionID); why != "" {
		st.disowned(a, why)
		st.relaunch(a.ID, restart.Crash, why)
		return
	}
	a.Status, a.Since = roster.Ready, st.at
	if f.Result.Window > 0 {
		a.Context.Window = f.Result.Window
	}
	st.watch(a, st.every())
	st.putAsked(a.ID)
	if len(st.Task.Plan) > 0 {
		st.remind(a) // the plan may have changed since its start was begun
	}
	if a.Generation > 1 {
		st.reconcile(a.ID, f.Result)
	}
}

func (st *step) notSpawned(f input.NotSpawned) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || a.Status == roster.Ended || a.Status == roster.InHand {
		return
	}
	if a.Status == roster.Parked {
		return // it was given up, and its process was ended for that
	}
	asked := a.Status == roster.Stopping
	if f.Category == bridge.CatTrust && !asked {
		st.distrusted(a.ID, f)
		return
	}
	message := f.Message
	if f.Stderr != "" {
		message += ": " + f.Stderr
	}
	class, cause := startClass(f.Category, message), message
	if a.Status == roster.Restarting {
		class, cause = a.RestartClass, a.RestartCause
	}
	a.Status, a.Since = roster.Ended, st.at
	st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: cmp.Or(a.EndReason, string(f.Category))})
	if asked {
		st.drop(a.ID)
		return
	}
	if class != restart.CouldNotStart {
		st.fell(a.ID, class, cause)
		return
	}
	st.fail(a.ID, f.Category, message, recovery(f.Category, roster.RoleArbiter))
	if a.Role == roster.RoleArbiter || f.Category == bridge.CatAuth || a.Generation == 1 && concernsAll(f.Category) {
		st.giveUp(f.Category, a.Name+" could not start: "+message)
		return
	}
	st.buried(a.ID, "could not start: "+message)
}

// buried tells the Arbiter of an Orchestrator that is gone, and of the words
// that did not reach it.
func (st *step) buried(id, why string) {
	a := *st.Edit(id)
	st.Edit(id).Dismissed = true
	st.Task.DropTasks(id)
	why = cited(why)
	text := fmt.Sprintf("%s (%s) is gone: it %s.", a.Name, id, why)
	for _, m := range st.drop(id) {
		if m.Kind != conversation.KindContinue && m.Kind != conversation.KindCorrection {
			text += fmt.Sprintf("\nNot delivered to it: the %s of %s.", m.Kind, st.displayName(m.From))
		}
	}
	if len(st.Handoff.SuccessorQueue) == 0 && a.Document != nil && a.Standing == roster.HandedOff && !st.HasSuccessor(id) {
		st.Handoff.SuccessorQueue = []string{id}
	}
	if st.agentFailed(id, bridge.CatCrash, why) {
		return
	}
	text += " Its files remain. Summon another, or judge the task anew."
	if st.unfinished(&a) {
		st.handOver(handoff.Handover{Agent: a.AgentRef, Kind: handoff.KindGone, Why: "it " + why, Message: text})
		return
	}
	st.tell(contract.Arbiter, conversation.KindNotice, text)
}

// release ends an agent in order.
func (st *step) release(id, reason string, now bool) {
	a := st.Edit(id)
	if a == nil || !a.Alive() || st.keepsTakeover(a, reason) {
		return
	}
	st.overcome(id)
	st.abandonWork(id)
	st.Task.DropTasks(id)
	a = st.Edit(id)
	down := a.Status == roster.Down || a.Status == roster.InHand && !a.Takeover.HasProcess()
	st.dropTakeover(a, reason)
	a.Status, a.Since, a.EndReason, a.Dismissed = roster.Stopping, st.at, reason, true
	if down {
		a.Status = roster.Ended // there is no process to end
	}
	if slices.Contains(st.Handoff.SuccessorQueue, id) {
		// Its document stays: the next one summoned still receives it.
		a.Standing = roster.HandedOff
	}
	st.Permission.TurnOver(&st.out, id)
	st.drop(id)
	if down { // its process has ended, and no other follows
		st.emit(id, contract.Done{SessionID: a.SessionID, Reason: reason})
	} else {
		st.do(effect.Kill{Agent: a.AgentRef, Now: now})
	}
}

// releasePredecessor lets the old one go once its successor has spoken for
// itself: until then it can be asked.
func (st *step) releasePredecessor(id string) {
	a, _ := st.Agent(id)
	if old, ok := st.Agent(a.Predecessor); ok && old.Alive() && old.Standing == roster.HandedOff {
		st.release(old.ID, "succeeded by "+id, false)
	}
}

// ended handles the end of an incarnation's process.
func (st *step) ended(id string, d bridge.Done) {
	a := st.Edit(id)
	if why := otherSession(a, d.SessionID); why != "" {
		st.disowned(a, why) // it has ended none the less: the pipe is its
	}
	switch a.Status {
	case roster.Ended, roster.Down, roster.Parked:
		return // known from elsewhere: its start failed, or its bridge is lost
	}
	if a.Status == roster.InHand {
		if a.Takeover.HasProcess() {
			st.terminalEnded(a, d.Exit)
		}
		return
	}
	asked, class, cause := a.Status == roster.Stopping, restart.Crash, exitText(d.Exit)
	if a.Status == roster.Restarting {
		class, cause = a.RestartClass, a.RestartCause
	}
	a.Status, a.Since, a.CurrentTool = roster.Ended, st.at, ""
	markCut(a)
	st.bookLive(a)
	if asked {
		a.Turn = nil
	}
	reason := a.EndReason
	if !asked {
		reason = string(class)
	}
	st.emit(id, contract.Done{SessionID: a.SessionID, Reason: reason})
	st.Permission.TurnOver(&st.out, id)
	if asked {
		st.drop(id)
		return
	}
	if class == restart.Crash {
		st.Crashes++
	}
	st.fell(id, class, cause)
}
