package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// broken handles an agent that cannot continue. A failure of the Arbiter ends the run; about an Orchestrator,
// the Arbiter decides.
func (st *step) broken(a *Agent, c bridge.Category, message string) {
	st.fail(a.ID, c, message, st.recoveryOptions(a, c, message))
	if a.Role == RoleArbiter && !IsEnvironmental(c) &&
		st.enterFallback("it could not continue: "+message) {
		return
	}
	if a.Host != LifecycleHere && AffectsAllAgents(c) && a.Make == "" {
		a.Troubles++ // it takes up its message again when its host is back
		st.unfitHost(a.Host, c, message)
		return
	}
	if a.Role == RoleArbiter || AffectsAllAgents(c) && a.Make == "" {
		st.giveUp(c, fmt.Sprintf("%s could not continue: %s", a.Name, message))
		return
	}
	a.Standing = AgentWaiting
	if st.agentFailed(a.ID, c, message) {
		return
	}
	st.tell(fmt.Sprintf("%s (%s) failed: %s (%s). It is alive. Have it try again with RETRY, summon another, or "+
		"end the task.", a.Name, a.ID, words.Cite(message), c))
}

// agentFailed reports to the machine that an agent failed, and reports whether that ended the run.
func (st *step) agentFailed(id string, c bridge.Category, message string) bool {
	st.fire(machine.AgentError, triggerData{agent: id, failure: st.Task.AgentFailure(&st.Roster, id, c, message, st.at)})
	return st.Ending != nil
}

// park stops restarting an agent until somebody decides: the Arbiter about an Orchestrator, a human about the
// Arbiter.
func (st *step) park(a *Agent, class runconfig.RestartClass, reason string) {
	a.Status, a.Since = AgentParked, st.at
	a.NewSession = a.NewSession || class == runconfig.InvalidResume // this one would be refused again
	category := cmp.Or(Categories[class], bridge.CatCrash)
	options := RecoveryOptions(category, RoleOrchestrator)
	if a.Role == RoleArbiter {
		options = ParkedOptions()
	}
	st.fail(a.ID, category, a.Name+" is "+reason, options)
	if a.Role != RoleArbiter {
		st.reportLostAgent(a.ID, "is "+reason)
		return
	}
	// What keeps the Arbiter from reading must be put right by a human: while one is there, the rules do not go on.
	forHuman := st.HumanPresent && (class == runconfig.InvalidResume || class == runconfig.HookRefused ||
		class == runconfig.CouldNotStart)
	if !forHuman && st.enterFallback("it is "+reason) {
		return
	}
	if !st.HumanPresent {
		st.giveUp(category, "The Arbiter is "+reason)
		return
	}
	// An open question stays open: it is asked again when a human chooses.
	st.emit(contract.Supervisor, contract.Question{Question: recoveryPrefix + a.ID, Options: options,
		Text: "The Arbiter is " + reason + ". Choose: retry, or cancel."})
}

// reportLostAgent reports to the Arbiter that an Orchestrator is lost, and which messages did not reach it.
func (st *step) reportLostAgent(id, why string) {
	a := *st.Edit(id)
	st.Edit(id).Dismissed = true
	st.Task.DropTasks(id)
	st.Permission.TurnOver(&st.out, id)
	why = strings.TrimSuffix(words.Cite(why), ".")
	text := fmt.Sprintf("%s (%s) is gone: it %s.", a.Name, id, why)
	for _, m := range st.passMailOn(id, a.Unfinished()) {
		if m.Kind != KindContinue && m.Kind != KindCorrection {
			text += fmt.Sprintf("\nNot delivered to it: the %s of %s.", m.Kind, st.DisplayName(m.From))
		}
	}
	if len(st.Handoff.SuccessorQueue) == 0 && a.Document != nil && a.Standing == HandedOff &&
		!st.HasSuccessor(id) {
		st.Handoff.SuccessorQueue = []string{id}
	}
	if st.agentFailed(id, bridge.CatCrash, why) {
		return
	}
	text += " Its files remain. Summon another, or decide again how the task goes on."
	if a.Unfinished() {
		st.handOver(Handover{Agent: a.AgentRef, Kind: KindGone, Why: "it " + why, Message: text})
		return
	}
	st.tell(text)
}

// enterFallback lets the rules decide until the Arbiter can rule again, and announces it. It returns false
// without a task: then there is nothing that the rules could decide.
func (st *step) enterFallback(why string) bool {
	if st.Task.Text == "" || !st.Task.Phase.Live() || st.Task.Phase == machine.Idle {
		return false
	}
	if st.Rulings.FallbackReason == "" {
		st.fire(machine.ArbiterError, triggerData{})
	}
	st.Rulings.EnterFallback(&st.out, why)
	st.callOffRenewal() // the Arbiter gets no message until it rules again
	st.takeFromArbiter()
	switch {
	case st.Conversation.Held: // nothing continues before the human has said something
	case !st.HumanPresent:
		st.Question.Open = nil
	default:
		st.Question.Drop(func(p QuestionPart) bool { return !p.Arbiter })
	}
	return true
}

// stopForLostArbiter stops the messages between agents when the Arbiter has not ruled for too long: a human
// continues the run, or it ends.
func (st *step) stopForLostArbiter(trouble, said string) {
	if !st.HumanPresent {
		if st.enterFallback(trouble) {
			return
		}
		st.fail(contract.Arbiter, bridge.CatVerdict, trouble, []string{})
		st.giveUp(bridge.CatVerdict, trouble)
		return
	}
	st.fail(contract.Arbiter, bridge.CatVerdict, trouble+"; a human decides", []string{})
	st.Conversation.Held = true
	st.ask("The Arbiter can no longer rule. Its last message: " + cmp.Or(said, noText) +
		"\nWrite a message, and it is asked again.")
}

// undecided cancels the pending decision: neither a decider nor a rule makes it.
func (st *step) undecided(why string) {
	st.fire(machine.ArbiterError, triggerData{stuck: true})
	st.leaveToHuman(why, QuestionPart{Text: "The decider no longer decides: " + why + ". Send a message, and the " +
		"Arbiter decides."})
}

// unfitHost takes another host out of use on which no agent can work before a human has mended something, such as a
// login. Its bridge is dropped, and its agents wait.
func (st *step) unfitHost(host string, c bridge.Category, reason string) {
	if !st.Lifecycle.Bridge(host).Ending && st.Lifecycle.Lost(&st.out, host, reason, time.Time{}) {
		st.Lifecycle.edit(host).Ending = true
	}
	st.loseWhatRan(host, string(c))
	st.do(input.DropBridge{Host: host})
	st.parkHost(host, c, reason)
}

// loseWhatRan records that everything ended that ran behind the bridge of a host, and why.
func (st *step) loseWhatRan(host, why string) {
	st.loseTerminals(host)
	st.loseProcesses(host, why)
	st.loseChecksOn(host)
}

// parkHost parks a host until a human decides. Without a human, its agents are lost.
func (st *step) parkHost(host string, c bridge.Category, reason string) {
	st.Lifecycle.Park(&st.out, host, reason)
	st.fail(contract.Supervisor, c, "host "+host+" cannot be used: "+reason, []string{RetryOption(host)})
	if !st.HumanPresent {
		st.abandonHost(host)
		return
	}
	st.waitsForHost(host, "cannot be used ("+words.Cite(reason)+"). The human was told, and the work goes on when "+
		"they have fixed that. Wait")
}

// waitsForHost tells the Arbiter that agents wait for their host, and what is done about that.
func (st *step) waitsForHost(host, why string) {
	for _, a := range st.Agents {
		if a.Host == host && a.Status != AgentEnded && a.Status != AgentParked {
			st.tell(fmt.Sprintf("%s waits: its host %s %s, or release it and summon a successor on another host.",
				a.ID, host, why))
		}
	}
}

// abandonHost gives up the agents on a parked host when no human is present who could have it tried again. If the run
// has no other host, it ends.
func (st *step) abandonHost(host string) {
	reason := st.Lifecycle.Bridge(host).Reason
	other := func(h runconfig.Host) bool { return !st.Lifecycle.Bridge(h.Name).Parked }
	if !st.Options.HereToo && !slices.ContainsFunc(st.Options.Hosts, other) && st.needsHost(host) {
		st.giveUp(bridge.CatHost, fmt.Sprintf("no host can be used, and no human is present to fix that: %s (%s). Fix "+
			"it, check it with arbiter hosts check %[1]s, and resume the run", host, reason))
		return
	}
	for i := range st.Agents {
		a := st.Edit(st.Agents[i].ID)
		if st.Ending == nil && a.Role == RoleOrchestrator && a.Host == host && a.Status != AgentEnded &&
			a.Status != AgentParked {
			st.dropTakeover(a, StateFailed, "host "+host+" cannot be used")
			a.Status, a.Since = AgentEnded, st.at
			st.emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatHost)})
			st.reportLostAgent(a.ID, "lived on host "+host+", which cannot be used: "+reason)
		}
	}
}

// needsHost reports whether another host is needed: by an agent, or for work of an agent that has ended.
func (s *State) needsHost(host string) bool {
	return slices.Contains(s.hostsOfWork(), host) || slices.ContainsFunc(s.Agents, func(a *Agent) bool {
		return a.Host == host && a.Status != AgentEnded && a.Status != AgentParked
	})
}

// hostsOfWork returns the hosts whose work a snapshot, a merge or a document waits for.
func (s *State) hostsOfWork() (hosts []string) {
	for _, t := range s.Changes.Queue {
		if t.Top != "" {
			hosts = append(hosts, s.HostOf(t.Agent))
		}
	}
	for _, p := range s.Handoff.Merges.Queue {
		hosts = append(hosts, s.HostOf(p.Agent))
	}
	for _, h := range s.Handoff.Documents {
		hosts = append(hosts, h.NextHost(&s.Roster))
	}
	return slices.DeleteFunc(hosts, func(host string) bool { return host == LifecycleHere })
}
