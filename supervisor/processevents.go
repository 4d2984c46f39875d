package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// spawned handles the start of an agent's process.
func (st *step) spawned(f input.Spawned) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || a.Status != AgentStarting {
		return
	}
	if why := OtherSession(a, f.Result.SessionID); why != "" {
		st.disown(a, why)
		st.relaunch(a.ID, runconfig.RestartCrash, why)
		return
	}
	a.Status, a.Since = AgentReady, st.at
	st.placed(a, f.Own)
	a.MakeSession = f.Result.MakeSession
	if len(f.Result.Lacks) > 0 && a.Lacks == nil {
		a.Lacks = f.Result.Lacks
		st.notice(a.ID, fmt.Sprintf("%s is %s (%s). What it lacks: %s.", a.Name, a.Make, cmp.Or(f.Result.MakeVersion,
			"no version"), strings.Join(a.Lacks, "; ")))
	}
	if f.Result.Window > 0 {
		a.Context.Window = f.Result.Window
	}
	st.watch(a, st.Options.ProbeEvery())
	st.passQuestionsOn(a.ID)
	if len(st.Task.Plan) > 0 {
		st.remindOfPlan(a) // the plan may have changed since its start was begun
	}
	if len(f.Result.NotTaken) > 0 {
		st.notice(a.ID, "Claude asks in spite of a rule: "+strings.Join(f.Result.NotTaken, "; ")+".")
	}
	if f.Changes != st.Permission.Changes { // while it started
		st.do(input.GiveRules{Agent: a.AgentRef})
	}
	if a.Generation > 1 {
		st.reconcile(a, f.Result)
	}
}

// rulesGiven handles permission rules that a running agent's CLI did not take.
func (st *step) rulesGiven(f input.RulesGiven) {
	if a, ok := st.Agent(f.Agent.ID); !ok || a.Generation != f.Agent.Generation || !a.Up() {
		return
	}
	if f.Failed != "" {
		st.emit(f.Agent.ID, contract.Error{Category: bridge.CatInternal, RecoveryOptions: []string{},
			Message: "Claude did not take the changed permission rules: " + f.Failed +
				". Arbiter still holds its deny and ask rules; end this agent with /kill to have them hold in a new process"})
	}
	if len(f.Unsupported) > 0 {
		st.notice(f.Agent.ID, "Claude asks in spite of a rule: "+strings.Join(f.Unsupported, "; ")+".")
	}
}

// notSpawned handles a process of an agent that could not be started.
func (st *step) notSpawned(f input.NotSpawned) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation {
		return
	}
	if a.Leaving() {
		st.left(a)
		return
	}
	switch a.Status {
	case AgentEnded, InHand, AgentDown, AgentParked:
		return // its end is known already: a start that is cut off is also reported as a process that has ended
	}
	// What its earlier process waited for stays: the next one may ask again.
	st.Permission.DenyOpen(&st.out, a.ID, "its process has not started")
	if f.Category == bridge.CatTrust {
		st.distrusted(a, f)
		return
	}
	message := f.Message
	if f.Stderr != "" {
		message += ": " + f.Stderr
	}
	class, cause, reason := StartClass(f.Category, message), message, cmp.Or(a.EndReason, string(f.Category))
	if a.Status == AgentRestarting {
		class, cause, reason = a.RestartClass, a.RestartCause, string(a.RestartClass)
	}
	a.Status, a.Since = AgentEnded, st.at
	st.chargeLost(a)
	st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: reason})
	if class == runconfig.InvalidResume && f.Category == bridge.CatResume && !a.HasHistory {
		// It was killed before its session had anything that could be lost: that is no second refusal.
		a.Status, a.NewSession = AgentDown, true
		st.restart(a.ID)
		return
	}
	if class != runconfig.CouldNotStart {
		st.lost(a, class, cause)
		return
	}
	if a.Host != LifecycleHere && AffectsAllAgents(f.Category) && a.Make == "" { // on its host, and on no other
		a.Status, a.NewSession = AgentDown, a.NewSession || a.Generation == 1
		st.unfitHost(a.Host, f.Category, message)
		return
	}
	options := mend(a, f.Category)
	// A program that worked, and was replaced by one that does not, is put right by the human while the run waits.
	broken := failures[f.Category].program && st.HumanPresent && st.Agents[0].HasHistory
	if broken && a.Role == RoleArbiter {
		st.lost(a, class, message+" ("+strings.Join(options, "; ")+")")
		return
	}
	if a.Make != "" && a.Role != RoleArbiter { // it says nothing about other agents
		if a.Host != LifecycleHere {
			message = "host " + a.Host + ": " + message
		}
		st.fail(a.ID, f.Category, message, []string{})
		st.reportLostAgent(a.ID, "could not start: "+message)
		return
	}
	st.fail(a.ID, f.Category, message, options)
	if a.Role == RoleArbiter || f.Category == bridge.CatAuth || a.Generation == 1 &&
		AffectsAllAgents(f.Category) && !broken {
		st.giveUp(f.Category, a.Name+" could not start: "+message)
		return
	}
	st.reportLostAgent(a.ID, "could not start: "+message)
}

// ended handles the end of an agent's process.
func (st *step) ended(a *Agent, d bridge.Done) {
	if why := OtherSession(a, d.SessionID); why != "" {
		st.disown(a, why) // it has ended all the same: the pipe is its
	}
	if a.Leaving() {
		st.left(a)
		return
	}
	switch a.Status {
	case AgentEnded, AgentDown, AgentParked:
		return // known already: its start failed, or its bridge is lost
	}
	if a.Status == InHand {
		if t := a.editTakeover(); t.HasProcess() { // whether it ended on its own or was closed
			why := "the human left it"
			if d.Exit.Code != 0 {
				why = "the terminal's program ended: " + ExitText(d.Exit)
			}
			t.Why = cmp.Or(t.Why, why)
			st.inspectTakeover(a)
		}
		return
	}
	class, cause := runconfig.RestartCrash, ExitText(d.Exit)
	if a.Status == AgentRestarting {
		class, cause = a.RestartClass, a.RestartCause
	}
	a.Status, a.Since, a.CurrentTool = AgentEnded, st.at, ""
	MarkCut(a)
	st.chargeLost(a)
	st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(class)})
	st.Permission.TurnOver(&st.out, a.ID)
	if class == runconfig.RestartCrash {
		st.Lifecycle.Crashes++
	}
	st.lost(a, class, cause)
}

// reconcile settles what an earlier process left open, using the history of its session: no message is lost,
// and none is delivered twice.
func (st *step) reconcile(a *Agent, r bridge.SpawnResult) {
	turn, spoken, lost, returned := a.Turn, a.HasHistory, a.NewSession || a.HasHistory && !r.Resumed, a.ReturnNotice
	a.Turn, a.NewSession = nil, false
	history := r.Deliveries
	if lost {
		history = nil
	}
	left := Reconcile(turn, history)
	ids, seen := st.Conversation.PublicIDs(left.Over), st.Conversation.PublicIDs(left.Seen)
	for _, wire := range left.Over {
		st.delivered(wire)
		st.Conversation.EndTurn(wire)
	}
	for _, wire := range slices.Backward(left.Open) { // each goes to the front of the queue
		st.requeue(wire)
	}
	if left.Ruled != nil || left.End == LifecycleTurnCutOff {
		st.answers(a.ID, seen...)
	}
	if lost && spoken {
		a.HasHistory, a.LastAnswered = false, ""
		st.recall(a, "Your session's history is lost, and you begin again without it.")
	}
	a.InterruptedTurn = slices.Concat(a.InterruptedTurn, turn) // a call that is repeated spawns nobody twice
	known := st.doneIn(a)
	if left.Ruled != nil && left.End == TurnFinished {
		a.InterruptedTurn = nil
	}
	if known != "" && left.Over == nil && left.Open != nil { // it reads this before the message that is sent again
		notice := st.preface(KindNotice, "Your process ended, and the message after this one is sent once more. "+known)
		a.HandoffBrief = strings.ReplaceAll(a.HandoffBrief, notice, "") + notice
	}
	back := returned != ""
	a.ReturnNotice = returned // it still has to be sent
	switch {
	case left.Ruled != nil:
		a.LastAnswered, a.Troubles, a.APIFailures, a.Refused = left.Ruled.MessageID, 0, 0, ""
		st.emit(a.ID, contract.Turn{Outcome: bridge.TurnDone, MessageIDs: ids})
		st.routeVerdict(a, bridge.Turn{Verdict: left.Ruled.Verdict, Outcome: bridge.TurnDone, MessageIDs: left.Over})
		if left.End == TurnFinished {
			break
		}
		// Another message reached the agent after that verdict, and began another turn.
		fallthrough
	case left.End == LifecycleTurnCutOff || left.End == TurnUnanswered && left.Ruled != nil:
		if back {
			st.notify(a.ID, KindRetry, TakeoverTurnCutOff)
			break
		}
		st.notify(a.ID, KindRetry, "Your process ended in the middle of your last turn, and was started "+
			"again. Your last action may or may not have happened: check before you repeat it. "+
			refusedByNobody+known+"Then go on with the last message and end the turn with your verdict.")
	case left.End == TurnUnanswered && back:
		st.notify(a.ID, KindRetry, TakeoverTurnCutOff)
	case left.End == TurnUnanswered:
		st.notify(a.ID, KindRetry, "Your process ended before you could answer the last message. "+known+
			"That message is in your history: answer it now.")
	case a.Troubles > 0 && !st.pendingFor(a.ID):
		st.notify(a.ID, KindRetry, brokenWay)
	case back && a.Works() && !st.pendingFor(a.ID):
		st.notify(a.ID, KindRetry, "Read what was said and changed while the human had your session, and "+
			"go on with your work.")
	case a.Works() && !st.pendingFor(a.ID): // its mail was given up when it was parked
		st.recall(a, "Your process ended before you could read what was sent to you last.")
	}
}

// doneIn says what the supervisor knows to have happened in a turn that was cut off, with a space after it; empty:
// nothing.
func (st *step) doneIn(a *Agent) string {
	var done []string
	for _, o := range st.Agents {
		if a.Role == RoleArbiter && o.SpawnedIn != "" && slices.Contains(a.InterruptedTurn, o.SpawnedIn) {
			done = append(done, fmt.Sprintf("%s (%s) was summoned with the brief: %s", o.Name, o.ID,
				words.Cite(words.FirstLine(o.Brief))))
		}
	}
	if c := a.ToolCall; c != nil && c.Cut {
		done = append(done, "the call "+words.Cite(c.Tool+" "+words.FirstLine(c.What))+
			" was begun, and its result is not known")
	}
	if done == nil {
		return ""
	}
	return "The supervisor knows what happened in that turn: " + strings.Join(done, "; ") + ". Do not do that again " +
		"before you have looked at it. "
}

// refusedByNobody corrects what the CLI tells a model when the pipe to us breaks before its process ends: that
// a permission stream closed, and from then on for every tool that "the user doesn't want to take this action"
// (observed with CLI 2.1.329).
const refusedByNobody = "If your history ends in calls that failed because a permission stream closed, or that the " +
	"user is said not to want: nobody refused them, " +
	"your process had lost its supervisor. Make such a call again if it is still needed: if it needs permission, the " +
	"human is asked then. "

// disown reports such a process.
func (st *step) disown(a *Agent, why string) {
	st.emit(a.ID, contract.Error{Category: bridge.CatProtocol, Message: a.Name + ": " + why,
		RecoveryOptions: []string{}})
}
