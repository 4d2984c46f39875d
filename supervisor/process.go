package supervisor

// This part of the package starts, stops and watches the processes of agents.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Classes of process ends that are not failures, and for which restarts are not counted.
const (
	// ClassHalt: every process is ended; they start again when the human continues the run.
	ClassHalt runconfig.RestartClass = "halted"
	// ClassRenewal: an Arbiter's process is ended so that its successor's can start.
	ClassRenewal runconfig.RestartClass = "renewed"
)

// loseProcesses records that the processes of a host ended with its bridge; why is the reason of the event.
func (st *step) loseProcesses(host, why string) {
	for i := range st.Agents {
		if st.Agents[i].Host != host {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		a.Backoff = nil // the agent now waits for the bridge
		switch {
		case a.Status == InHand: // the next bridge reads what was done in the terminal
		case a.Leaving():
			st.left(a)
		case a.Alive() && a.Status != AgentDown:
			reason := why
			if a.Status == AgentRestarting { // it was being ended
				reason = string(a.RestartClass)
			}
			a.Status, a.Since, a.CurrentTool = AgentDown, st.at, ""
			MarkCut(a)
			st.chargeLost(a)
			st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: reason})
			st.Permission.TurnOver(&st.out, a.ID)
		}
	}
}

// left records that the process of an agent that was leaving has ended.
func (st *step) left(a *Agent) {
	MarkCut(a)
	st.chargeLost(a)
	a.CurrentTool, a.Turn, a.Start.First = "", nil, false // its next start is announced
	st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
	st.Permission.TurnOver(&st.out, a.ID)
	if a.Status == AgentParked {
		a.EndReason = ""
		return
	}
	a.Status, a.Since = AgentEnded, st.at
	st.dropMail(a.ID)
}

// retryHost handles the option to retry a host that is parked or lost, and reports whether the option was one.
func (st *step) retryHost(ref, option string) bool {
	hosts := st.Lifecycle.Retriable()
	i := slices.IndexFunc(hosts, func(host string) bool { return RetryOption(host) == option })
	if i < 0 {
		return false
	}
	st.out.Accept(ref, "host "+hosts[i]+" is tried again")
	if slices.Contains(st.Question.Recovery.Options, option) {
		st.Question.Recovery = QuestionRecovery{}
	}
	st.Lifecycle.RetryNow(&st.out, hosts[i])
	return true
}

// configureModel changes the model of an agent, or of the whole run. The CLI tries a model before it accepts
// it: for the whole run the Arbiter's process tries it, and the others follow.
func (st *step) configureModel(ref string, given contract.Configure) {
	id := cmp.Or(given.ID, contract.Arbiter)
	a, ok := st.Agent(id)
	if ok && given.ID == "" && a.Make != "" {
		st.out.Reject(ref, "the Arbiter is of make %s, whose models are not Claude's: name the agent, such as orch-1", a.Make)
		return
	}
	if !ok || !a.Alive() && a.Status != AgentParked {
		st.out.Reject(ref, "there is no living agent %q; alive: %s", id, st.AddresseesText())
		return
	}
	f := input.Configured{Agent: a.AgentRef, Model: given.Model, All: given.ID == ""}
	if a.Status != AgentReady && a.Status != AgentBusy {
		st.out.Accept(ref, "model "+given.Model+": from the next start of "+id)
		st.configured(f)
		return
	}
	st.out.Accept(ref, "model "+given.Model+": being tried by "+id)
	st.do(input.SetModel{Agent: f.Agent, Model: f.Model, All: f.All})
}

// configured records a model that the CLI has accepted, for one agent or for all.
func (st *step) configured(f input.Configured) {
	a := st.Edit(f.Agent.ID)
	if a == nil {
		return
	}
	if f.Failed != "" {
		st.fail(f.Agent.ID, bridge.CatInvalidRequest, st.DisplayName(f.Agent.ID)+
			" did not take the model "+f.Model+", and keeps its own: "+f.Failed, []string{})
		return
	}
	if !f.All {
		a.Model = f.Model
		st.notice(a.ID, "The model of "+st.DisplayName(a.ID)+" is "+f.Model+".")
		return
	}
	st.Options.Model, st.Options.ArbiterModel = f.Model, ""
	for i := range st.Agents {
		b := st.Edit(st.Agents[i].ID)
		if b.Make != "" {
			continue // it is the name of one of Claude's models
		}
		if b.Model = ""; b.ID != a.ID && (b.Status == AgentReady || b.Status == AgentBusy) {
			st.do(input.SetModel{Agent: b.AgentRef, Model: f.Model})
		}
	}
	st.notice(contract.Supervisor, "The model of every agent is "+f.Model+".")
}

// addAgent adds an agent and starts its process.
func (st *step) addAgent(a *Agent, prompt string) {
	a.Status, a.Since = AgentStarting, st.at
	a.SessionID = st.sessionID(a.ID, a.Generation)
	st.Add(a)
	st.emit(a.ID, contract.Spawn{
		Name: a.Name, Mode: a.Mode, Prompt: prompt, SessionID: a.SessionID,
		Generation: a.Generation, SuccessorOf: a.Predecessor, Host: a.Host, Make: a.Make,
	})
	if w := st.Options.Workspace; w.Enabled() && a.Role == RoleOrchestrator && a.Isolation == "" {
		st.emit(a.ID, contract.Workspace{Dir: st.Options.CWD, Base: w.Base, Isolation: runconfig.IsolationShared})
	}
	if st.Halted || !st.Lifecycle.MayStart(a.Host) || st.mustQueue(a) { // it starts with the others
		a.Status, a.NewSession, a.Start.First = AgentDown, true, true
		st.wantHost(a.Host)
		return
	}
	st.do(input.Spawn{
		Params: bridge.SpawnParams{AgentRef: a.AgentRef, Config: st.agentConfig(a)}, Place: st.placeOf(a.ID),
	})
}

// restart starts another process for an agent, with the next generation: on the session of the last process, or
// on a new session if that one is lost.
func (st *step) restart(id string) {
	a := st.Edit(id)
	if a == nil || a.Status != AgentDown || st.Ending != nil || st.Halted {
		return
	}
	if !st.Lifecycle.MayStart(a.Host) {
		st.wantHost(a.Host) // it starts with the others
		return
	}
	if st.mustQueue(a) {
		return
	}
	st.chargeLost(a) // the end of the process before, which may still come, does not count
	first := a.Start.First
	if a.Start.First = false; !first {
		a.Generation++
	}
	a.Status, a.Since, a.CurrentTool, a.EndReason = AgentStarting, st.at, "", ""
	a.Watch, a.Backoff, a.NotifyingLevel, a.Interrupting = AgentWatch{}, nil, "", false
	if a.NewSession && !first { // the first was announced when the agent was added
		a.SessionID, a.MakeSession, a.LastAnswered = st.sessionID(a.ID, a.Generation), "", ""
		st.emptied(a)
	}
	config := st.agentConfig(a)
	config.Resume = !a.NewSession
	if !first { // it was announced when it was added
		st.emit(id, contract.Spawn{
			Name: a.Name, Mode: a.Mode, SessionID: a.SessionID, Generation: a.Generation,
			SuccessorOf: a.Predecessor, Resumed: !a.NewSession, Host: a.Host, Make: a.Make,
		})
	}
	p := bridge.SpawnParams{AgentRef: a.AgentRef, Config: config}
	if !a.NewSession {
		p.Pending, p.Answered = a.Turn, a.LastAnswered
	}
	a.NewSession = a.NewSession && !first
	st.do(input.Spawn{Params: p, Place: st.placeOf(id)})
}

// mustQueue reports whether the start of an Orchestrator has to wait for others on its host: a start takes seconds of a
// processor, and many at once would each exceed the time limit. It records since when the start waits.
func (st *step) mustQueue(a *Agent) bool {
	if a.Role == RoleArbiter || !st.startsFull(a.Host) {
		a.Start.Queued = time.Time{}
		return false
	}
	if a.Start.Queued.IsZero() {
		a.Start.Queued = st.at
	}
	return true
}

// startsFull reports whether as many processes are starting on a host as it has processors.
func (s *State) startsFull(host string) bool {
	cores := s.Options.Cores
	if host != LifecycleHere {
		cores = s.Lifecycle.Bridge(host).Cores
	}
	for _, a := range s.Agents {
		if a.Status == AgentStarting && a.Host == host {
			cores--
			if cores == 0 {
				return true
			}
		}
	}
	return false
}

// startQueued starts the Orchestrators whose turn it is, in the order in which they began to wait.
func (st *step) startQueued() {
	for {
		var next *Agent
		for _, a := range st.Agents {
			if a.Waits() && st.Lifecycle.MayStart(a.Host) && !st.Halted && !st.startsFull(a.Host) &&
				(next == nil || a.Start.Queued.Before(next.Start.Queued)) {
				next = a
			}
		}
		if next == nil {
			return
		}
		st.restart(next.ID)
	}
}

// restartWhere does the same for some of them.
func (st *step) restartWhere(want func(*Agent) bool) {
	after := time.Duration(0)
	for i := range st.Agents {
		a := st.Agents[i]
		switch {
		case a.Status != AgentDown || !want(a):
		case a.Role == RoleArbiter:
			st.restart(a.ID)
		default:
			after += startGap
			st.do(input.SetTimer{Key: RestartPrefix + RunOf(a.AgentRef), After: after})
		}
	}
}

// wantHost starts a bridge on a host on which an agent has to run.
func (st *step) wantHost(host string) {
	if st.Ending == nil && !st.Halted {
		st.Lifecycle.Want(&st.out, host)
	}
}

// emptied resets what is known about an agent's context, when the context is new.
func (st *step) emptied(a *Agent) {
	a.Context = bridge.Context{}
	a.forgetLevels()
	if a.Role == RoleArbiter {
		a.Turns, a.ReachedLimit = 0, ""
		st.callOffRenewal()
		st.Renewal.Stage = RenewalNone
		st.Rulings.Readings = nil // another session has read nothing
	}
}

// forgetLevels resets what a full context has led to, when the context has become smaller.
func (a *Agent) forgetLevels() {
	a.CompactionBlocked, a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel, a.HandoffDemands = false, "", "", "", 0
}

// recall tells an agent what the supervisor knows about it; why says why it may not know that. It reads this before the
// message that waits for it, in the same turn: the record tells of the work that the message asks for, so an agent with
// a turn for each would do that work twice.
func (st *step) recall(a *Agent, why string) {
	var b strings.Builder
	b.WriteString(why + " This is the supervisor's record of what happened before.\n")
	if criteria := st.Task.Acceptance.Text(); criteria != "" {
		b.WriteString("\n## The acceptance criteria\n\n" + criteria)
	}
	if a.Role == RoleArbiter {
		fmt.Fprintf(&b, "\n## The task\n\n%s\n\n## The plan\n\n%s\n\n## Who lives\n\n%s\n",
			cmp.Or(st.Task.Text, noText), PlanText(st.Task.Plan), st.LivingText())
		if a.Document != nil {
			fmt.Fprintf(&b, "\n## The document of the Arbiter before you\n\n%s",
				DocumentText(a.Document, a.Receipts, a.GeneratedWhy))
		}
		b.WriteString("\n## The ledger of decisions\n\n" + st.Rulings.LedgerText())
	} else {
		fmt.Fprintf(&b, "\n## Your brief\n\n%s\n\n## The plan\n\n%s\n", cmp.Or(a.Brief, noText),
			PlanText(st.Task.Plan))
	}
	b.WriteString("\n## The messages to you and from you that are kept\n")
	b.WriteString(st.Conversation.Recollect(a.ID, max(recallChars-b.Len(), QuotedTalk), st.DisplayName))
	b.WriteString("\nFiles in the workspace are as you left them: check them before you build on anything. ")
	for _, m := range slices.Backward(st.Conversation.Unanswered(a.ID)) {
		m.Wire = st.newID()
		st.Conversation.Ahead(m)
	}
	for i, m := range st.Conversation.EditMail() {
		if m.To == a.ID { // it may have an older record
			st.Conversation.Mail[i].dropBrief()
		}
	}
	if st.pendingFor(a.ID) {
		b.WriteString("The message after this one waits for your answer.")
		a.HandoffBrief = st.preface(KindRetry, b.String())
		st.notice(a.ID, a.Name+" reads the supervisor's record of what happened before its next message, because its "+
			"session lacks it")
		return
	}
	st.notify(a.ID, KindRetry, b.String()+"Report how far you are.")
}

// callOffRenewal cancels a renewal that the Arbiter has been asked for: it takes back the request for a
// document.
func (st *step) callOffRenewal() {
	if st.Renewal.Stage != RenewalAsked {
		return
	}
	st.Renewal.Stage = RenewalNone
	a := st.Edit(contract.Arbiter)
	demand := func(m Mail) bool { return m.To == a.ID && m.Kind == KindRenewal }
	for _, m := range slices.Concat(st.Conversation.Mail, st.Conversation.InTurn) {
		if demand(m) {
			a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(w string) bool { return w == m.Wire })
		}
	}
	st.takeBack(demand)
	st.Conversation.InTurn = slices.DeleteFunc(slices.Clone(st.Conversation.InTurn), demand)
}

// callBack makes every agent that ended with the run, or in a crash, ready to be started again.
func (st *step) callBack() {
	if !st.IsOrchestrator(st.Question.Recovery.Agent) { // the Arbiter and the bridges start again, too
		st.Question.Recovery = QuestionRecovery{}
	}
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		if a.Dismissed || a.Status == AgentParked && a.Role == RoleOrchestrator {
			if a.Leaving() {
				st.left(a)
			}
			a.Status, a.Takeover = AgentEnded, nil
			st.Question.Recovery.Overcome(&st.Roster, a.ID)
			continue
		}
		a.Status, a.Since, a.EndReason, a.ToolCall, a.Backoff, a.Start = AgentDown, st.at, "", nil, nil, AgentStart{}
		if a.Role == RoleOrchestrator && a.ReachedLimit == "" {
			st.limitWork(a) // timers ended with the process; each process has the full time
		}
	}
}

// keepModes keeps modes whose files are gone, while an agent still works under them: without its mode, the
// agent would have tools that the mode denied.
func (st *step) keepModes(old []agents.Agent) {
	for i := range st.Agents {
		a := st.Agents[i]
		if _, known := st.Options.ModeNamed(a.Mode); known || a.Mode == "" || a.Dismissed {
			continue
		}
		for _, m := range old {
			if m.Name == a.Mode {
				st.Options.Modes = append(slices.Clip(st.Options.Modes), m)
				st.notice(contract.Supervisor, "the file of the mode "+m.Name+" was removed; "+a.Name+" "+
					"keeps the mode as it was")
			}
		}
	}
}

// placed records the directory that an agent got.
func (st *step) placed(a *Agent, own runconfig.Worktree) {
	if own.Branch == "" || a.Own == own {
		return
	}
	a.Own = own
	st.emit(a.ID, contract.Workspace{
		Dir: st.OwnDir(a.ID), Branch: own.Branch, Base: own.Base, Isolation: own.Isolation,
	})
}

// recallChars bounds the summary of a lost session for the session that follows it.
const recallChars = 60_000

// startGap spreads the starts of Orchestrators when several come back at once.
const startGap = 250 * time.Millisecond

// relaunch ends an agent's process in order to start another in its place.
func (st *step) relaunch(id string, class runconfig.RestartClass, reason string) {
	a := st.Edit(id)
	if a == nil || !a.Up() {
		return
	}
	a.Status, a.Since, a.RestartClass, a.RestartCause, a.Backoff = AgentRestarting, st.at, class, reason, nil
	st.Permission.TurnOver(&st.out, id)
	st.do(input.Kill{Agent: a.AgentRef, Now: class == runconfig.RestartHung})
}

// release ends an agent for good.
func (st *step) release(id, reason string, now bool) {
	a := st.Edit(id)
	if a == nil || !a.Alive() {
		return
	}
	if a.Takeover != nil && !st.ordered { // only a human's command ends a session that a human has
		a.editTakeover().Release = reason
		return
	}
	st.Question.Recovery.Overcome(&st.Roster, id)
	st.Task.Abandon(a, st.at)
	st.Task.DropTasks(id)
	down := a.Status == AgentDown || a.Status == InHand && !a.Takeover.HasProcess()
	st.dropTakeover(a, StateEnded, reason)
	a.Status, a.Since, a.EndReason, a.Dismissed = AgentStopping, st.at, reason, true
	if down {
		a.Status = AgentEnded // there is no process to end
	}
	if slices.Contains(st.Handoff.SuccessorQueue, id) {
		// Its document stays: the next Orchestrator that is spawned still receives it.
		a.Standing = HandedOff
	}
	st.Permission.TurnOver(&st.out, id)
	st.passMailOn(id, false)
	if down { // its process has ended, and no other follows
		st.emit(id, contract.Done{SessionID: a.SessionID, Reason: reason})
	} else {
		st.do(input.Kill{Agent: a.AgentRef, Now: now})
	}
}

// dropTakeover ends the takeover of an agent, if a human has it: the agent is released ([StateEnded]), or its session
// ended on its own ([StateFailed]).
func (st *step) dropTakeover(a *Agent, state, reason string) {
	if a.Takeover != nil {
		a.Takeover = nil
		st.emit(a.ID, contract.Takeover{State: state, Reason: reason})
	}
}

// interruptTurns stops the turn of an agent, or every running turn, at a human's request.
func (st *step) interruptTurns(ref, id string) {
	n := 0
	for i := range st.Agents {
		if a := st.Agents[i]; (id == "" || a.ID == id) && a.Status == AgentBusy {
			st.do(input.Interrupt{Agent: a.AgentRef})
			n++
		}
	}
	switch {
	case n > 0:
		st.out.Accept(ref, fmt.Sprintf("interrupted: %d", n))
	case id == "":
		st.out.Reject(ref, "no turn runs")
	default:
		st.out.Reject(ref, "no turn runs in %s", id)
	}
}

// releaseFinished releases the Orchestrators whose work is done, or has failed and is now another agent's, in
// case no decider does it.
func (st *step) releaseFinished() {
	for i := range st.Agents {
		switch a := *st.Agents[i]; {
		case a.Role != RoleOrchestrator || !a.Alive():
		case a.Standing == AgentFinished:
			st.release(a.ID, "its work is done", false)
		case a.Standing == AgentWaiting && a.Work == nil && !st.isStumbling(a.ID):
			st.release(a.ID, "another takes its place", false)
		}
	}
}

// A timer's key says what it is for, and which agent or process run it is about. The key is recorded when the
// timer fires, so these names must not change. Keys that contain a generation are about one process run.
const (
	WorkLimitPrefix         = "work-limit/"
	WatchPrefix             = "watch/"
	RestartPrefix           = LifecycleTimerPrefix
	CompactionBlockedPrefix = "compaction-blocked/"
	RetryPrefix             = "retry/"
)

// RunOf names a process run in keys: an agent and its generation.
func RunOf(a bridge.AgentRef) string { return fmt.Sprintf("%s/%d", a.ID, a.Generation) }

// nobodyLooks is the reason why a run continues without the workspace's settings when no human is present.
const nobodyLooks = "no human is present to look at it"

// distrusted keeps an agent down whose workspace has changed since it was trusted, until the human has checked
// it. Without a human, the run continues without the workspace's settings.
func (st *step) distrusted(a *Agent, f input.NotSpawned) {
	a.Status, a.Since, a.CurrentTool, a.ToolCall = AgentDown, st.at, "", nil
	a.Watch, a.Backoff = AgentWatch{}, nil
	st.dropTakeover(a, StateFailed, f.Message)
	a.NewSession = a.NewSession || a.Generation == 1 // there is no session yet
	st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatTrust)})
	asked := st.Lifecycle.TrustQuestion
	switch {
	case !st.trusts(a.Host) || f.Trust != "" && f.Trust == st.trusted(a.Host):
		st.restart(a.ID) // the decision came while it started
	case asked != nil && asked.Host == a.Host && asked.Hash == f.Trust:
	case asked != nil && asked.Host != a.Host && a.Host != LifecycleHere: // asked when the other one is answered
	case !st.HumanPresent:
		st.fail(contract.Supervisor, bridge.CatTrust, f.Message, []string{})
		st.goWithout(a.Host, nobodyLooks)
	default:
		q := &TrustQuestion{Host: a.Host, Hash: f.Trust, At: st.at}
		st.Lifecycle.TrustQuestion = q
		st.fail(contract.Supervisor, bridge.CatTrust, f.Message, q.Choices())
	}
}

// trusted is the hash of what the human trusts on a host.
func (s *State) trusted(host string) string {
	if host == LifecycleHere {
		return s.Options.TrustHash
	}
	return s.Lifecycle.Bridge(host).TrustHash
}

// chooseTrust handles the human's choice about the workspace, except cancel. The question stays open even if
// other options were offered since.
func (st *step) chooseTrust(ref, option string) {
	q := st.Lifecycle.TrustQuestion
	switch option {
	case ChooseTrust:
		if q.Host == LifecycleHere {
			st.out.Accept(ref, "the workspace is trusted as it is now")
			st.Options.TrustHash = q.Hash
		} else {
			st.out.Accept(ref, "what agents on host "+q.Host+" bring along is trusted as it is now")
			st.Lifecycle.edit(q.Host).TrustHash = q.Hash
		}
		st.do(input.PinTrust{Host: q.Host, Hash: q.Hash})
		st.trustDecided()
	case ChooseWithout:
		st.out.Accept(ref, "the workspace's own settings are no longer loaded")
		st.goWithout(q.Host, "the human chose so")
	}
}

// goWithout continues without the workspace's own settings: on another host until this process of Arbiter ends;
// for [LifecycleHere], on all hosts for the rest of the run.
func (st *step) goWithout(host, why string) {
	where := ""
	if host == LifecycleHere {
		st.Options.Trusted, st.Options.TrustHash = false, ""
	} else {
		st.Lifecycle.edit(host).Untrusted = true
		where = " on host " + host
	}
	st.notice(contract.Supervisor, "the workspace's own settings, hooks, agents and MCP servers are not loaded"+
		where+" from now on: "+why)
	st.trustDecided()
}

// trustDecided starts the agents that waited for the decision.
func (st *step) trustDecided() {
	if slices.Contains(st.Question.Recovery.Options, ChooseWithout) {
		st.Question.Recovery = QuestionRecovery{}
	}
	st.Lifecycle.TrustQuestion = nil
	st.restartWhere(func(*Agent) bool { return true })
}

// reportDistrust reports that a process run of Arbiter begins without the workspace's own settings, although they
// were trusted before.
func (st *step) reportDistrust(text string) {
	if text == "" {
		return
	}
	st.emit(contract.Supervisor, contract.Error{Category: bridge.CatTrust, Message: text, RecoveryOptions: []string{}})
	st.notice(contract.Supervisor, "the run continues without the workspace's own settings")
}

// backOff records that an agent waits.
func (st *step) backOff(a *Agent, category bridge.Category, attempt int, delay time.Duration) {
	a.Backoff = &AgentBackoff{Category: category, Attempt: attempt, Until: st.at.Add(delay)}
}

// decideRestart asks the policy about the end of a process, and records the answer in the history.
func (st *step) decideRestart(agent string, generation int, class runconfig.RestartClass, reason string,
	resets time.Time) runconfig.RestartDecision {
	return st.Lifecycle.Decide(st.Options.RestartPolicy(), runconfig.RestartExit{
		Agent: agent, Class: class, At: st.at, ResetsAt: resets, Reason: reason,
		Seed: fmt.Sprintf("%s/%s/%d", st.Options.Run, agent, generation),
	})
}

// restartUsageWaits resets the timers for usage limits after a sleep of the machine: the timers stood still,
// but limits end at a time of the day.
func (st *step) restartUsageWaits(slept time.Duration) {
	earliest := time.Duration(0)
	for i := range st.Agents {
		a := st.Agents[i]
		if a.Status != AgentReady || a.Troubles == 0 {
			continue
		}
		for _, x := range slices.Backward(st.Lifecycle.Restarts) {
			if x.Agent != a.ID {
				continue
			}
			if x.Class == runconfig.UsageLimit && x.StartAt.After(st.at.Add(-slept)) {
				earliest += runconfig.DefaultRestarts().Stagger
				after := max(x.StartAt.Sub(st.at), earliest)
				if b := a.Backoff; b != nil {
					st.backOff(st.Edit(a.ID), b.Category, b.Attempt, after)
				}
				st.do(input.SetTimer{Key: RetryPrefix + RunOf(a.AgentRef), After: after})
			}
			break
		}
	}
}

// limitWork sets the time limit of an Orchestrator's mode.
func (st *step) limitWork(a *Agent) {
	if mode, ok := st.Options.ModeNamed(a.Mode); ok && mode.Limits.Timeout > 0 {
		st.do(input.SetTimer{Key: WorkLimitPrefix + a.AgentRef.ID, After: mode.Limits.Timeout})
	}
}

// watch sets the timer for the next probe of an agent's process.
func (st *step) watch(a *Agent, after time.Duration) {
	st.do(input.SetTimer{Key: WatchPrefix + RunOf(a.AgentRef), After: after})
}

// probed evaluates a probe: the process's signs of activity, and the resources it uses.
func (st *step) probed(f input.Probed) {
	a := st.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || !a.Up() {
		return
	}
	silent := QuietFor(a, f.Result, st.at)
	st.watch(a, NextProbe(silent, st.Options.QuietAfter, st.Options.ProbeEvery()))
	if f.Failed != "" {
		// The bridge is busy, hangs or is lost, which says nothing about the agent.
		if f.Silent {
			st.Lifecycle.Unanswered(&st.out, a.Host, st.Options.ProbeEvery())
		}
		return
	}
	st.Lifecycle.Answered(a.Host)
	wasStopped := a.Watch.Stopped
	a.Watch = Observe(a.Watch, f.Result, st.at, a.Status == AgentBusy, st.Options.Scaled(LifecycleSilence))
	st.reportQuiet(a, silent)
	if a.Watch.Stopped && !wasStopped {
		st.notice(a.ID, a.Name+" is stopped (SIGSTOP); it continues when it gets SIGCONT")
	}
	if a.Watch.Quiet == 0 {
		st.guard(a, f.Result)
		return
	}
	if a.Watch.Quiet == 1 {
		st.notice(a.ID, fmt.Sprintf("%s gives no sign of life: no output for %s, no CPU, no answer", a.Name,
			(time.Duration(f.Result.SilentMS)*time.Millisecond).Round(time.Second)))
	}
	st.hung(a)
}

// reportQuiet reports each long silence of an agent once. It only informs.
func (st *step) reportQuiet(a *Agent, silent time.Duration) {
	limit := st.Options.QuietAfter
	was := a.Watch.Silent
	a.Watch.Silent = limit > 0 && silent >= limit && !st.Permission.Awaits(a.ID)
	if a.Watch.Silent && !was {
		st.emit(a.ID, contract.Quiet{Seconds: int(silent.Seconds()), Doing: Doing(a)})
	}
}

// hung handles an agent without any sign of activity. A hung Arbiter is restarted. For an Orchestrator the
// Arbiter is notified, and decides.
func (st *step) hung(a *Agent) {
	w := &a.Watch
	if a.Role == RoleArbiter {
		if w.Quiet >= HungArbiter {
			st.relaunch(a.ID, runconfig.RestartHung, "no output, no CPU, no answer")
		}
		return
	}
	if w.Hung || w.Quiet < HungAfter {
		return
	}
	w.Hung = true
	st.tell(fmt.Sprintf("%s (%s) gives no sign of life: no output, no CPU, no answer. RETRY with to=%s starts its "+
		"process again with the same history; release_orchestrator ends it; CONTINUE waits longer.", a.Name, a.ID,
		a.ID))
}

// guard checks an agent's memory and output files against the limits.
func (st *step) guard(a *Agent, r bridge.ProbeResult) {
	watch, warnings, exceeded := GuardContext(a.Watch, r, st.Options.MaxMemory, st.Options.MaxOutput)
	a.Watch = watch
	for _, w := range warnings {
		st.notice(a.ID, a.Name+" uses "+w)
	}
	if exceeded != "" {
		st.notice(a.ID, a.Name+" is being restarted: "+exceeded)
		st.relaunch(a.ID, runconfig.RestartResource, exceeded)
	}
}

// wokeFromSleep restarts the watch after the machine slept.
func (st *step) wokeFromSleep(f input.WokeFromSleep) {
	st.Budget.Runtime.ProcessBegan = st.Budget.Runtime.ProcessBegan.Add(f.Slept)
	st.notice(contract.Supervisor, "the machine slept, or its clock was changed, for "+
		f.Slept.Round(time.Second).String()+"; agents get time to recover")
	for i := range st.Agents {
		if !st.Agents[i].Up() {
			continue
		}
		a := st.Edit(st.Agents[i].ID)
		a.Watch = Woken(a.Watch, st.at)
		st.watch(a, WakeGrace)
	}
	st.restartUsageWaits(f.Slept)
	st.Budget.AwaitReset(&st.out) // its timer stood still
}

// proofOverdue handles a message without proof of delivery: it is written once more under the same id, which
// the CLI ignores if it has the message. After that, another process is started, whose history shows what
// happened.
func (st *step) proofOverdue(wire string) {
	sent, ok := st.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := st.Edit(sent.To)
	if a == nil || a.Status != AgentBusy || !slices.Contains(a.Turn, wire) {
		return
	}
	if a.Backoff != nil || a.Watch.Stopped {
		st.awaitProof(sent)
		return
	}
	m, again := st.Conversation.Resend(wire)
	if !again {
		st.notice(a.ID, st.cite(m.ID)+" was sent twice and not received; "+a.Name+" is being restarted")
		st.relaunch(a.ID, runconfig.RestartHung, "swallows its messages")
		return
	}
	st.notice(a.ID, st.cite(m.ID)+" was not received within "+st.Options.Scaled(ProofWait).String()+"; it is "+
		"sent again")
	st.do(input.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: len(a.Turn) > 1}, Images: m.Images})
	st.awaitProof(m)
}

// notSent handles a message that the bridge could not write. If the CLI has meanwhile proven that it has the
// message, only the answer about it was lost.
func (st *step) notSent(f input.NotSent) {
	a := st.Edit(f.Agent.ID)
	_, sent := st.Conversation.SentAs(f.MessageID)
	if a == nil || a.Generation != f.Agent.Generation || !sent || !a.Up() {
		return
	}
	exhausted := st.Conversation.SendFailed(f.MessageID, maxSends)
	st.out.StopTimer(DeliveryTimerPrefix + f.MessageID)
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(id string) bool { return id == f.MessageID })
	if a.Status == AgentBusy && len(a.Turn) == 0 {
		a.Status, a.Since, a.Backoff = AgentReady, st.at, nil
	}
	if exhausted { // its stdin is stuck or closed: the message stays in the queue, and another process reads it
		st.relaunch(a.ID, runconfig.RestartHung, "a message could not be written: "+f.Message)
	}
}

// maxSends is how often a message is written to one process before the process counts as one that cannot be
// written to.
const maxSends = 3
