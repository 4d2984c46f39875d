package supervisor

// This part of the package starts, stops and watches the processes of agents.
//
// A process run is one process of an agent, named by its generation. [ProcessContext.Add] and [ProcessContext.Restart]
// start one, [ProcessContext.Relaunch] replaces one, [ProcessContext.Release] ends an agent for good.
// [ProcessContext.Probed] judges whether a process is alive. [ProcessContext.Distrusted] keeps agents stopped if their
// workspace is not as the human trusted it.
//
// The package changes the parts of the state that a [ProcessContext] points to, and collects effects. Package restart
// decides which class of failure leads to which restart; package lifecycle tracks the bridges; package attach hands
// the session of an agent to a human. Package supervisor decides what a lost agent means for the task.
//
// Events: spawn, done of agents without a process, takeover that failed or ended with its agent, quiet.
// Effects: Spawn, Kill, Probe, timers.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ProcessContext is what a step uses to start, stop and watch processes: the parts of the state that they concern, and
// the collector of effects. It is created for one use within a step, which owns everything that it points to.
type ProcessContext struct {
	*DeliveryContext
	Lifecycle  *LifecycleState
	Permission *input.PermissionState
	Question   *QuestionState
	Renewal    *RenewalState
	Budget     *BudgetState

	Halted  bool   // the human stopped everything: no process starts
	Ordered bool   // the input is a command of the human
	Channel string // of that command
}

// Dirs returns where the agents work.
func (c *ProcessContext) Dirs() AgentDirs { return c.Lifecycle.Dirs(c.Options, c.Roster) }

// Configuration is the configuration that each agent's process starts with.
func (c *ProcessContext) Configuration() ConfigRun {
	return ConfigRun{
		AgentDirs: c.Dirs(), Task: c.Task.Text, Plan: c.Task.Plan, Spent: c.Roster.SpentWith(c.Budget.CostUSD),
		Untrusted: c.Lifecycle.Untrusted(),
	}
}

// Classes of process ends that are not failures, and for which restarts are not counted.
const (
	// ClassHalt: every process is ended; they start again when the human continues the run.
	ClassHalt runconfig.RestartClass = "halted"
	// ClassRenewal: an Arbiter's process is ended so that its successor's can start.
	ClassRenewal runconfig.RestartClass = "renewed"
)

// Lost handles a process that ended unexpectedly: it is started again with its session, or Lost reports why its
// agent is parked instead.
func (c *ProcessContext) Lost(id string, class runconfig.RestartClass, reason string) (parked string, park bool) {
	a := c.Roster.Edit(id)
	switch class {
	case ClassHalt:
		a.CurrentTool, a.Backoff = "", nil
		fallthrough
	case ClassRenewal:
		a.Status, a.Since, a.Watch = AgentDown, c.Out.Now, AgentWatch{}
		c.Restart(id) // if it may start again already
		return "", false
	}
	d := c.Decide(id, a.Generation, class, reason, time.Time{})
	a.Since, a.CurrentTool, a.Watch, a.Backoff = c.Out.Now, "", AgentWatch{}, nil
	if !d.Starts() {
		return d.Reason, true
	}
	a.Status = AgentDown
	if d.Action == runconfig.RestartFresh {
		a.NewSession = true
	}
	c.Out.Emit(id, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(), Reason: d.Reason})
	if d.Delay <= 0 {
		c.Restart(id)
		return "", false
	}
	c.BackOff(a, cmp.Or(Categories[class], bridge.CatCrash), d.Attempt, d.Delay)
	c.Out.Do(effect.SetTimer{Key: RestartKey(a.AgentRef), After: d.Delay})
	return "", false
}

// LoseQuestions drops the questions that agents of a host have asked a predecessor: the agents ended with the
// host's bridge.
func (c *ProcessContext) LoseQuestions(host string) {
	c.Handoff.WaitingQuestions = slices.DeleteFunc(slices.Clone(c.Handoff.WaitingQuestions),
		func(q HandoffAsked) bool { return c.Roster.HostOf(q.By) == host })
}

// LoseProcesses records that the processes of a host ended with its bridge.
func (c *ProcessContext) LoseProcesses(host string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Host == host {
			c.lostWithBridge(c.Roster.Edit(c.Roster.Agents[i].ID))
		}
	}
}

func (c *ProcessContext) lostWithBridge(a *Agent) {
	a.Backoff = nil // the agent now waits for the bridge
	switch {
	case a.Status == InHand: // the next bridge reads what was done in the terminal
	case a.Status == AgentStopping:
		a.Status, a.Since = AgentEnded, c.Out.Now
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
		c.Drop(a.ID)
	case a.Alive() && a.Status != AgentDown:
		a.Status, a.Since, a.CurrentTool = AgentDown, c.Out.Now, ""
		MarkCut(a)
		Account{Options: c.Options, Roster: c.Roster, Budget: c.Budget}.ChargeLost(a)
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatCrash)})
		c.Permission.TurnOver(c.Out, a.ID)
	}
}

// RetryHost handles the option to retry a parked host, and reports whether the option was one for a parked
// host.
func (c *ProcessContext) RetryHost(ref, option string) bool {
	i := slices.IndexFunc(c.Lifecycle.Parked(), func(host string) bool { return RetryOption(host) == option })
	if i < 0 {
		return false
	}
	host := c.Lifecycle.Parked()[i]
	c.Out.Accept(ref, "host "+host+" is tried again")
	if slices.Contains(c.Question.Recovery.Options, option) {
		c.Question.Recovery = QuestionRecovery{}
	}
	c.Lifecycle.Unpark(c.Out, host)
	return true
}

// ConfigureModel changes the model of an agent, or of the whole run. The CLI tries a model before it accepts
// it: for the whole run the Arbiter's process tries it, and the others follow.
func (c *ProcessContext) ConfigureModel(ref string, given contract.Configure) {
	id := cmp.Or(given.ID, contract.Arbiter)
	a, ok := c.Roster.Agent(id)
	if !ok || !a.Alive() && a.Status != AgentParked {
		c.Out.Reject(ref, "there is no living agent %q; alive: %s", id, c.Roster.AddresseesText())
		return
	}
	f := input.Configured{Agent: a.AgentRef, Model: given.Model, All: given.ID == ""}
	if a.Status != AgentReady && a.Status != AgentBusy {
		c.Out.Accept(ref, "model "+given.Model+": from the next start of "+id)
		c.Configured(f)
		return
	}
	c.Out.Accept(ref, "model "+given.Model+": being tried by "+id)
	c.Out.Do(effect.SetModel{Agent: f.Agent, Model: f.Model, All: f.All})
}

// Configured records a model that the CLI has accepted, for one agent or for all.
func (c *ProcessContext) Configured(f input.Configured) {
	a := c.Roster.Edit(f.Agent.ID)
	if a == nil {
		return
	}
	if f.Failed != "" {
		c.Question.Recovery.Fail(c.Out, f.Agent.ID, bridge.CatInvalidRequest, c.Roster.DisplayName(f.Agent.ID)+
			" did not take the model "+f.Model+", and keeps its own: "+f.Failed, []string{})
		return
	}
	if !f.All {
		a.Model = f.Model
		c.Out.Emit(a.ID, contract.Notice{Text: "The model of " + c.Roster.DisplayName(a.ID) + " is " + f.Model + "."})
		return
	}
	c.Options.Model, c.Options.ArbiterModel = f.Model, ""
	for i := range c.Roster.Agents {
		b := c.Roster.Edit(c.Roster.Agents[i].ID)
		if b.Model = ""; b.ID != a.ID && (b.Status == AgentReady || b.Status == AgentBusy) {
			c.Out.Do(effect.SetModel{Agent: b.AgentRef, Model: f.Model})
		}
	}
	c.Out.Emit(contract.Supervisor, contract.Notice{Text: "The model of every agent is " + f.Model + "."})
}

// Add adds an agent and starts its process.
func (c *ProcessContext) Add(a Agent, prompt string) {
	a.Status, a.Since = AgentStarting, c.Out.Now
	a.SessionID = c.SessionID(a.ID, a.Generation)
	c.Roster.Add(&a)
	c.Out.Emit(a.ID, contract.Spawn{
		Name: a.Name, Mode: a.Mode, Prompt: prompt, SessionID: a.SessionID,
		Generation: a.Generation, SuccessorOf: a.Predecessor, Host: a.Host,
	})
	if w := c.Options.Workspace; w.Enabled() && a.Role == RoleOrchestrator && a.Isolation == "" {
		c.Out.Emit(a.ID, contract.Workspace{Dir: c.Options.CWD, Base: w.Base, Isolation: runconfig.IsolationShared})
	}
	if c.Halted || !c.Lifecycle.MayStart(a.Host) { // it starts with the others
		e := c.Roster.Edit(a.ID)
		e.Status, e.NewSession = AgentDown, true
		c.wantHost(a.Host)
		return
	}
	c.Out.Do(effect.Spawn{
		Params: bridge.SpawnParams{AgentRef: a.AgentRef, Config: c.Configuration().Config(&a)}, Place: c.Dirs().Place(a.ID),
	})
}

// Restart starts another process for an agent, with the next generation: on the session of the last process, or
// on a new session if that one is lost.
func (c *ProcessContext) Restart(id string) {
	a := c.Roster.Edit(id)
	if a == nil || a.Status != AgentDown || c.Closed || c.Halted {
		return
	}
	if !c.Lifecycle.MayStart(a.Host) {
		c.wantHost(a.Host) // it starts with the others
		return
	}
	a.Generation++
	a.Status, a.Since, a.CurrentTool, a.EndReason = AgentStarting, c.Out.Now, "", ""
	a.Watch, a.Backoff, a.NotifyingLevel, a.Interrupting = AgentWatch{}, nil, "", false
	if a.NewSession {
		a.SessionID = c.SessionID(a.ID, a.Generation)
		c.emptied(a)
		a = c.Roster.Edit(id)
	}
	config := c.Configuration().Config(a)
	config.Resume = !a.NewSession
	c.Out.Emit(id, contract.Spawn{
		Name: a.Name, Mode: a.Mode, SessionID: a.SessionID, Generation: a.Generation,
		SuccessorOf: a.Predecessor, Resumed: !a.NewSession, Host: a.Host,
	})
	p := bridge.SpawnParams{AgentRef: a.AgentRef, Config: config}
	if !a.NewSession {
		p.Pending = a.Turn
	}
	c.Out.Do(effect.Spawn{Params: p, Place: c.Dirs().Place(id)})
}

// RestartAll starts the agents whose process has ended: the Arbiter at once, the others one after the other.
func (c *ProcessContext) RestartAll() { c.RestartWhere(func(*Agent) bool { return true }) }

// RestartWhere does the same for some of them.
func (c *ProcessContext) RestartWhere(want func(*Agent) bool) {
	after := time.Duration(0)
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		switch {
		case a.Status != AgentDown || !want(a):
		case a.Role == RoleArbiter:
			c.Restart(a.ID)
		default:
			after += startGap
			c.Out.Do(effect.SetTimer{Key: RestartKey(a.AgentRef), After: after})
		}
	}
}

// wantHost starts a bridge on a host on which an agent has to run.
func (c *ProcessContext) wantHost(host string) {
	if !c.Closed && !c.Halted {
		c.Lifecycle.Want(c.Out, host)
	}
}

// emptied resets what is known about an agent's context, when the context is new.
func (c *ProcessContext) emptied(a *Agent) {
	a.Context, a.CompactionBlocked, a.HandoffDemands = bridge.Context{}, false, 0
	a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel = "", "", ""
	if a.Role == RoleArbiter {
		c.CallOffRenewal()
		c.Renewal.Stage = RenewalNone
		c.Rulings.Readings = nil // another session has read nothing
	}
}

// Recall tells an agent whose history is lost what the supervisor knows about it.
func (c *ProcessContext) Recall(id string) {
	a := c.Roster.Edit(id)
	a.HasHistory = false
	var b strings.Builder
	b.WriteString("Your session's history is lost, and you begin anew. This is the supervisor's record of what " +
		"went before.\n")
	if a.Role == RoleArbiter {
		fmt.Fprintf(&b, "\n## The task\n\n%s\n\n## The plan\n\n%s\n\n## Who lives\n\n%s\n",
			cmp.Or(c.Task.Text, NothingText), PlanText(c.Task.Plan), c.Roster.LivingText())
		if a.Document != nil {
			fmt.Fprintf(&b, "\n## What the Arbiter before you left, whose place you took\n\n%s",
				DocumentText(a.Document, a.Receipts, a.GeneratedWhy))
		}
		b.WriteString("\n## The ledger of decisions\n\n" + c.Rulings.LedgerText())
	} else {
		fmt.Fprintf(&b, "\n## Your brief\n\n%s\n\n## The plan\n\n%s\n", cmp.Or(a.Brief, NothingText),
			PlanText(c.Task.Plan))
	}
	b.WriteString("\n## What was said to and by you, as far as it is kept\n")
	b.WriteString(c.Conversation.Recollect(id, max(recallChars-b.Len(), QuotedTalk), c.Roster.DisplayName))
	b.WriteString("\nFiles in the workspace are as you left them: look before you build on anything. If no message " +
		"follows this one, say where you stand.")
	c.Notify(id, KindRetry, b.String())
}

// CallOffRenewal cancels a renewal that the Arbiter has been asked for: it takes back the request for a
// document.
func (c *ProcessContext) CallOffRenewal() {
	if c.Renewal.Stage != RenewalAsked {
		return
	}
	c.Renewal.Stage = RenewalNone
	a := c.Roster.Edit(contract.Arbiter)
	demand := func(m Mail) bool { return m.To == a.ID && m.Kind == KindRenewal }
	for _, m := range slices.Concat(c.Conversation.Mail, c.Conversation.InTurn) {
		if demand(m) {
			a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(w string) bool { return w == m.Wire })
		}
	}
	c.TakeBack(demand)
	c.Conversation.InTurn = slices.DeleteFunc(slices.Clone(c.Conversation.InTurn), demand)
}

// CallBack makes every agent that ended with the run, or in a crash, ready to be started again.
func (c *ProcessContext) CallBack() {
	for i := range c.Roster.Agents {
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		if a.Dismissed || a.Status == AgentParked && a.Role == RoleOrchestrator {
			a.Status, a.Takeover = AgentEnded, nil
			continue
		}
		a.Status, a.Since, a.ToolCall, a.Backoff = AgentDown, c.Out.Now, nil, nil
		if a.Role == RoleOrchestrator && a.ReachedLimit == "" {
			c.LimitWork(a.ID) // timers ended with the process; each process has the full time
		}
	}
}

// KeepModes keeps modes whose files are gone, while an agent still works under them: without its mode, the
// agent would have tools that the mode denied.
func (c *ProcessContext) KeepModes(old []agents.Agent) {
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		if _, known := c.Options.ModeNamed(a.Mode); known || a.Mode == "" || a.Dismissed {
			continue
		}
		for _, m := range old {
			if m.Name == a.Mode {
				c.Options.Modes = append(slices.Clip(c.Options.Modes), m)
				c.Out.Emit(contract.Supervisor, contract.Notice{Text: "the file of the mode " + m.Name + " was removed; " +
					a.Name + " keeps the mode as it was"})
			}
		}
	}
}

// Placed records the directory that an agent got.
func (c *ProcessContext) Placed(a *Agent, own runconfig.Worktree) {
	if own.Branch == "" || a.Own == own {
		return
	}
	a.Own = own
	c.Out.Emit(a.ID, contract.Workspace{
		Dir: c.Dirs().Own(a.ID), Branch: own.Branch, Base: own.Base, Isolation: own.Isolation,
	})
}

// recallChars bounds the summary of a lost session for the session that follows it.
const recallChars = 60_000

// startGap spreads the starts of Orchestrators when several come back at once.
const startGap = 250 * time.Millisecond

// NothingText stands for an empty text in what a model reads.
const NothingText = "(nothing)"

// Relaunch ends an agent's process in order to start another in its place.
func (c *ProcessContext) Relaunch(id string, class runconfig.RestartClass, reason string) {
	a := c.Roster.Edit(id)
	if a == nil || !a.Up() {
		return
	}
	a.Status, a.Since, a.RestartClass, a.RestartCause, a.Backoff = AgentRestarting, c.Out.Now, class, reason, nil
	c.Permission.TurnOver(c.Out, id)
	c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: class == runconfig.RestartHung})
}

// Release ends an agent for good.
func (c *ProcessContext) Release(id, reason string, now bool) {
	a := c.Roster.Edit(id)
	if a == nil || !a.Alive() || c.keepsTakeover(a, reason) {
		return
	}
	c.Question.Recovery.Overcome(c.Roster, id)
	c.Task.Abandon(c.Roster.Edit(id), c.Out.Now)
	c.Task.DropTasks(id)
	a = c.Roster.Edit(id)
	down := a.Status == AgentDown || a.Status == InHand && !a.Takeover.HasProcess()
	c.dropTakeover(a, reason)
	a.Status, a.Since, a.EndReason, a.Dismissed = AgentStopping, c.Out.Now, reason, true
	if down {
		a.Status = AgentEnded // there is no process to end
	}
	if slices.Contains(c.Handoff.SuccessorQueue, id) {
		// Its document stays: the next Orchestrator that is spawned still receives it.
		a.Standing = HandedOff
	}
	c.Permission.TurnOver(c.Out, id)
	c.Drop(id)
	if down { // its process has ended, and no other follows
		c.Out.Emit(id, contract.Done{SessionID: a.SessionID, Reason: reason})
	} else {
		c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: now})
	}
}

// ReleasePredecessor releases a predecessor once its successor has given its first verdict: until then the
// predecessor can be asked questions.
func (c *ProcessContext) ReleasePredecessor(id string) {
	a, _ := c.Roster.Agent(id)
	if old, ok := c.Roster.Agent(a.Predecessor); ok && old.Alive() && old.Standing == HandedOff {
		c.Release(old.ID, "succeeded by "+id, false)
	}
}

// keepsTakeover reports whether a takeover delays the release of an agent: only a human's command ends a
// session that a human has.
func (c *ProcessContext) keepsTakeover(a *Agent, reason string) bool {
	if a.Takeover == nil || c.Ordered {
		return false
	}
	a.SetTakeover(a.Takeover.ReleaseAfter(reason))
	return true
}

// dropTakeover ends the takeover of an agent that is released.
func (c *ProcessContext) dropTakeover(a *Agent, reason string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: StateEnded, Reason: reason})
}

// FailTakeover ends the takeover of an agent whose session ended by itself.
func (c *ProcessContext) FailTakeover(a *Agent, why string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: StateFailed, Reason: why})
}

// ReleaseOrchestrators releases every Orchestrator.
func (c *ProcessContext) ReleaseOrchestrators() {
	for i := range c.Roster.Agents {
		if a := *c.Roster.Agents[i]; a.Role == RoleOrchestrator && a.Alive() {
			c.Release(a.ID, "reset by the human", false)
		}
	}
}

// InterruptTurns stops the turn of an agent, or every running turn, at a human's request.
func (c *ProcessContext) InterruptTurns(ref, id string) {
	n := 0
	for i := range c.Roster.Agents {
		if a := c.Roster.Agents[i]; (id == "" || a.ID == id) && a.Status == AgentBusy {
			c.Out.Do(effect.Interrupt{Agent: a.AgentRef})
			n++
		}
	}
	if n == 0 {
		c.Out.Reject(ref, "no turn runs%s", forAgent(id))
		return
	}
	c.Out.Accept(ref, fmt.Sprintf("interrupted: %d", n))
}

func forAgent(id string) string {
	if id == "" {
		return ""
	}
	return " in " + id
}

// ReleaseFinished releases the Orchestrators whose work is done, or has failed and is now another agent's, in
// case no decider does it.
func (c *ProcessContext) ReleaseFinished() {
	for i := range c.Roster.Agents {
		switch a := *c.Roster.Agents[i]; {
		case a.Role != RoleOrchestrator || !a.Alive():
		case a.Standing == AgentFinished:
			c.Release(a.ID, "its work is done", false)
		case a.Standing == AgentWaiting && a.Work == nil && !c.Rulings.IsStumbling(c.RulingStanding, a.ID):
			c.Release(a.ID, "another takes its place", false)
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

// WorkLimitKey is the key of the timer for the time limit of an agent's mode.
func WorkLimitKey(a bridge.AgentRef) string { return WorkLimitPrefix + a.ID }

// WatchKey is the key of the timer for the next probe of a process run.
func WatchKey(a bridge.AgentRef) string { return WatchPrefix + RunOf(a) }

// RestartKey is the key of the timer that starts a process again.
func RestartKey(a bridge.AgentRef) string { return RestartPrefix + RunOf(a) }

// CompactionBlockedKey is the key of the timer that interrupts a turn whose compaction is blocked.
func CompactionBlockedKey(a bridge.AgentRef) string { return CompactionBlockedPrefix + RunOf(a) }

// RetryKey is the key of the timer that resumes a turn.
func RetryKey(a bridge.AgentRef) string { return RetryPrefix + RunOf(a) }

// RunOf names a process run in keys: an agent and its generation.
func RunOf(a bridge.AgentRef) string { return fmt.Sprintf("%s/%d", a.ID, a.Generation) }

// nobodyLooks is the reason why a run continues without the workspace's settings when no human is present.
const nobodyLooks = "no human is present to look at it"

// Distrusted keeps an agent down whose workspace has changed since it was trusted, until the human has checked
// it. Without a human, the run continues without the workspace's settings.
func (c *ProcessContext) Distrusted(id string, f input.NotSpawned, humanPresent bool) {
	a := c.Roster.Edit(id)
	a.Status, a.Since, a.CurrentTool, a.ToolCall = AgentDown, c.Out.Now, "", nil
	a.Watch, a.Backoff = AgentWatch{}, nil
	c.FailTakeover(a, f.Message)
	a.NewSession = a.NewSession || a.Generation == 1 // there is no session yet
	c.Out.Emit(id, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatTrust)})
	asked := c.Lifecycle.TrustQuestion
	switch {
	case !c.trusts(a.Host) || f.Trust != "" && f.Trust == c.trusted(a.Host):
		c.Restart(id) // the decision came while it started
	case asked != nil && asked.Host == a.Host && asked.Hash == f.Trust:
	case asked != nil && asked.Host != a.Host && a.Host != LifecycleHere: // asked when the other one is answered
	case !humanPresent:
		c.Question.Recovery.Fail(c.Out, contract.Supervisor, bridge.CatTrust, f.Message, []string{})
		c.goWithout(a.Host, nobodyLooks)
	default:
		q := &TrustQuestion{Host: a.Host, Hash: f.Trust, At: c.Out.Now}
		c.Lifecycle.TrustQuestion = q
		c.Question.Recovery.Fail(c.Out, contract.Supervisor, bridge.CatTrust, f.Message, q.Choices())
	}
}

// trusts reports whether agents on a host start with the workspace's own settings.
func (c *ProcessContext) trusts(host string) bool {
	return c.Options.Trusted && !c.Lifecycle.Bridge(host).Untrusted
}

// trusted is the hash of what the human trusts on a host.
func (c *ProcessContext) trusted(host string) string {
	if host == LifecycleHere {
		return c.Options.TrustHash
	}
	return c.Lifecycle.Bridge(host).TrustHash
}

// ChooseTrust handles the human's choice about the workspace, except cancel. The question stays open even if
// other options were offered since.
func (c *ProcessContext) ChooseTrust(ref, option string) {
	q := c.Lifecycle.TrustQuestion
	switch option {
	case ChooseTrust:
		if q.Host == LifecycleHere {
			c.Out.Accept(ref, "the workspace is trusted as it is now")
			c.Options.TrustHash = q.Hash
		} else {
			c.Out.Accept(ref, "what agents on host "+q.Host+" bring along is trusted as it is now")
			c.Lifecycle.Trust(q.Host, q.Hash)
		}
		c.Out.Do(effect.PinTrust{Host: q.Host, Hash: q.Hash})
		c.trustDecided()
	case ChooseWithout:
		c.Out.Accept(ref, "the workspace's own settings are no longer loaded")
		c.goWithout(q.Host, "the human chose so")
	}
}

// NobodyTrusts decides open questions of trust when no human is present any more.
func (c *ProcessContext) NobodyTrusts() {
	if q := c.Lifecycle.TrustQuestion; q != nil {
		c.goWithout(q.Host, nobodyLooks)
	}
}

// goWithout continues without the workspace's own settings: on another host until this process of Arbiter ends;
// for [LifecycleHere], on all hosts for the rest of the run.
func (c *ProcessContext) goWithout(host, why string) {
	where := ""
	if host == LifecycleHere {
		c.Options.Trusted, c.Options.TrustHash = false, ""
	} else {
		c.Lifecycle.Distrust(host)
		where = " on host " + host
	}
	c.Out.Emit(contract.Supervisor, contract.Notice{Text: "the workspace's own settings, hooks, agents and MCP servers " +
		"are not loaded" + where + " from now on: " + why})
	c.trustDecided()
}

// trustDecided starts the agents that waited for the decision.
func (c *ProcessContext) trustDecided() {
	if slices.Contains(c.Question.Recovery.Options, ChooseWithout) {
		c.Question.Recovery = QuestionRecovery{}
	}
	c.Lifecycle.TrustQuestion = nil
	c.RestartAll()
}

// ReportDistrust reports that a process run of Arbiter begins without the workspace's own settings, although they
// were trusted before.
func ReportDistrust(out *effect.Collector, text string) {
	if text == "" {
		return
	}
	out.Emit(contract.Supervisor, contract.Error{Category: bridge.CatTrust, Message: text, RecoveryOptions: []string{}})
	out.Emit(contract.Supervisor, contract.Notice{Text: "the run continues without the workspace's own settings"})
}

// BackOff records that an agent waits.
func (c *ProcessContext) BackOff(a *Agent, category bridge.Category, attempt int, delay time.Duration) {
	a.Backoff = &AgentBackoff{Category: category, Attempt: attempt, Until: c.Out.Now.Add(delay)}
}

// Decide asks the policy about the end of a process, and records the answer in the history.
func (c *ProcessContext) Decide(agent string, generation int, class runconfig.RestartClass, reason string,
	resets time.Time) runconfig.RestartDecision {
	return c.Lifecycle.Decide(c.Options.RestartPolicy(), runconfig.RestartExit{
		Agent: agent, Class: class, At: c.Out.Now, ResetsAt: resets, Reason: reason,
		Seed: fmt.Sprintf("%s/%s/%d", c.Options.Run, agent, generation),
	})
}

// restartUsageWaits resets the timers for usage limits after a sleep of the machine: the timers stood still,
// but limits end at a time of the day.
func (c *ProcessContext) restartUsageWaits(slept time.Duration) {
	earliest := time.Duration(0)
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		if a.Status != AgentReady || a.Troubles == 0 {
			continue
		}
		for _, x := range slices.Backward(c.Lifecycle.Restarts) {
			if x.Agent != a.ID {
				continue
			}
			if x.Class == runconfig.UsageLimit && x.StartAt.After(c.Out.Now.Add(-slept)) {
				earliest += runconfig.DefaultRestarts().Stagger
				after := max(x.StartAt.Sub(c.Out.Now), earliest)
				if b := a.Backoff; b != nil {
					c.BackOff(c.Roster.Edit(a.ID), b.Category, b.Attempt, after)
				}
				c.Out.Do(effect.SetTimer{Key: RetryKey(a.AgentRef), After: after})
			}
			break
		}
	}
}

// LimitWork sets the time limit of an Orchestrator's mode.
func (c *ProcessContext) LimitWork(id string) {
	a, _ := c.Roster.Agent(id)
	if mode, ok := c.Options.ModeNamed(a.Mode); ok && mode.Limits.Timeout > 0 {
		c.Out.Do(effect.SetTimer{Key: WorkLimitKey(a.AgentRef), After: mode.Limits.Timeout})
	}
}

// Watch sets the timer for the next probe of an agent's process.
func (c *ProcessContext) Watch(a *Agent, after time.Duration) {
	c.Out.Do(effect.SetTimer{Key: WatchKey(a.AgentRef), After: after})
}

// Probed evaluates a probe: the process's signs of activity, and the resources it uses.
func (c *ProcessContext) Probed(f input.Probed) {
	a := c.Roster.Edit(f.Agent.ID)
	if a == nil || a.Generation != f.Agent.Generation || !a.Up() {
		return
	}
	silent := QuietFor(a, f.Result, c.Out.Now)
	c.Watch(a, NextProbe(silent, c.Options.QuietAfter, c.Options.ProbeEvery()))
	if f.Failed != "" {
		// The bridge is busy, hangs or is lost, which says nothing about the agent.
		if f.Silent {
			c.Lifecycle.Unanswered(c.Out, a.Host, c.Options.ProbeEvery())
		}
		return
	}
	c.Lifecycle.Answered(a.Host)
	wasStopped := a.Watch.Stopped
	a.Watch = Observe(a.Watch, Probe{
		Result: f.Result, At: c.Out.Now, Busy: a.Status == AgentBusy, Silence: c.Options.Scaled(LifecycleSilence),
	})
	c.reportQuiet(a, silent)
	if a.Watch.Stopped && !wasStopped {
		c.Out.Emit(a.ID, contract.Notice{Text: a.Name + " is stopped (SIGSTOP); it continues when it gets SIGCONT"})
	}
	if a.Watch.Quiet == 0 {
		c.guard(a, f.Result)
		return
	}
	if a.Watch.Quiet == 1 {
		c.Out.Emit(a.ID, contract.Notice{Text: fmt.Sprintf("%s gives no sign of life: no output for %s, no CPU, no answer",
			a.Name, (time.Duration(f.Result.SilentMS) * time.Millisecond).Round(time.Second))})
	}
	c.hung(a)
}

// reportQuiet reports each long silence of an agent once. It only informs.
func (c *ProcessContext) reportQuiet(a *Agent, silent time.Duration) {
	limit := c.Options.QuietAfter
	was := a.Watch.Silent
	a.Watch.Silent = limit > 0 && silent >= limit && !c.Permission.Awaits(a.ID)
	if a.Watch.Silent && !was {
		c.Out.Emit(a.ID, contract.Quiet{Seconds: int(silent.Seconds()), Doing: Doing(a)})
	}
}

// hung handles an agent without any sign of activity. A hung Arbiter is restarted. For an Orchestrator the
// Arbiter is notified, and decides.
func (c *ProcessContext) hung(a *Agent) {
	w := &a.Watch
	if a.Role == RoleArbiter {
		if w.Quiet >= HungArbiter {
			c.Relaunch(a.ID, runconfig.RestartHung, "no output, no CPU, no answer")
		}
		return
	}
	if w.Hung || w.Quiet < HungAfter {
		return
	}
	w.Hung = true
	c.Notify(contract.Arbiter, KindNotice, fmt.Sprintf(
		"%s (%s) gives no sign of life: no output, no CPU, no answer. RETRY with to=%s starts its process again, on "+
			"the same history; release_orchestrator ends it; CONTINUE waits on.",
		a.Name, a.ID, a.ID))
}

// guard checks an agent's memory and output files against the limits.
func (c *ProcessContext) guard(a *Agent, r bridge.ProbeResult) {
	limits := ResourceLimits{Memory: c.Options.MaxMemory, Output: c.Options.MaxOutput}
	watch, warnings, exceeded := GuardContext(a.Watch, r, limits)
	a.Watch = watch
	for _, w := range warnings {
		c.Out.Emit(a.ID, contract.Notice{Text: a.Name + " uses " + w})
	}
	if exceeded != "" {
		c.Out.Emit(a.ID, contract.Notice{Text: a.Name + " is being restarted: " + exceeded})
		c.Relaunch(a.ID, runconfig.RestartResource, exceeded)
	}
}

// WokeFromSleep restarts the watch after the machine slept.
func (c *ProcessContext) WokeFromSleep(f input.WokeFromSleep) {
	c.Budget.Runtime.Slept(f.Slept)
	c.Out.Emit(contract.Supervisor, contract.Notice{Text: "the machine slept, or its clock was changed, for " +
		f.Slept.Round(time.Second).String() + "; agents get time to recover"})
	for i := range c.Roster.Agents {
		if !c.Roster.Agents[i].Up() {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		a.Watch = Woken(a.Watch, c.Out.Now)
		c.Watch(a, WakeGrace)
	}
	c.restartUsageWaits(f.Slept)
	c.Budget.AwaitReset(c.Out) // its timer stood still
}
