package supervisor

import (
	"fmt"
	"maps"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxDemands is how often an Orchestrator is asked to hand off before the supervisor does it in its place.
const maxDemands = 3

// askForHandOff asks an Orchestrator for its document when its context is nearly full and it gave another
// verdict. It reports whether it asked: for an agent that ignores the requests, the supervisor hands off in its
// place.
func (st *step) askForHandOff(a *Agent, v verdict.Orchestrator) bool {
	if !a.ContextLow() || v.Kind == verdict.KindHandoff || v.Kind == verdict.KindDone {
		return false
	}
	if a.HandoffDemands >= maxDemands {
		st.log(a.ID, v.Kind, v.Message) // its last message
		st.notice(a.ID, a.Name+" was told to hand off "+words.Count(a.HandoffDemands, "time")+" and did not; "+
			"the supervisor hands off instead")
		st.spent(a, bridge.CatPromptTooLong, "its context is full, and it did not hand off when it was told to")
		return true
	}
	if v.ExpectsResponse {
		return false // the answer carries the demand
	}
	st.log(a.ID, v.Kind, v.Message)
	st.exchange()
	if !st.pendingFor(a.ID) {
		st.notify(a.ID, KindRelief, "Your report is in the work log. Hand off now, with kind handoff and its document.")
	}
	return true
}

// exhausted handles a turn that failed because the context is full, or fills up again as fast as it is
// compacted: the agent can answer no more.
func (st *step) exhausted(a *Agent, t bridge.Turn) {
	st.learnWindow(t)
	why := "its context is exhausted"
	if t.Category == bridge.CatCompaction {
		why = "its context fills as fast as it is compacted"
	}
	if a.Role != RoleArbiter {
		st.spent(a, t.Category, why)
		return
	}
	st.notice(a.ID, a.Name+" can no longer rule: "+why+"; a successor replaces it, with the supervisor's record")
	st.renewByRecord(why)
}

// learnWindow remembers how many tokens a model takes, once it has refused more: the CLI does not know the window of
// each model behind a gateway. Agents that start from now on are renewed before they meet the same limit.
func (st *step) learnWindow(t bridge.Turn) {
	known := st.Options.ContextTokensFor[t.Model]
	if t.Model == "" || t.Window == 0 || known > 0 && known <= t.Window {
		return
	}
	windows := map[string]int{}
	maps.Copy(windows, st.Options.ContextTokensFor)
	windows[t.Model] = t.Window
	st.Options.ContextTokensFor = windows
	st.do(input.KeepWindow{Model: t.Model, Tokens: t.Window})
	st.notice(contract.Supervisor, fmt.Sprintf("%s takes at most %d tokens, less than Claude Code assumes. Agents "+
		"that start from now on hand off before that, as with --context-tokens-for %[1]s=%[2]d.", t.Model, t.Window))
}

// spent parks an Orchestrator whose session can no longer be used. A record of its work goes to the Arbiter and
// to its successor. If the Orchestrator is restarted all the same, it begins another session.
func (st *step) spent(a *Agent, c bridge.Category, why string) {
	running := a.HasProcess()
	a.Status, a.Since, a.EndReason, a.CurrentTool, a.NewSession, a.Turn = AgentParked, st.at, string(c), "", true, nil
	if running {
		st.do(input.Kill{Agent: a.AgentRef}) // what its last turn has cost follows with its end
	} else {
		st.left(a)
	}
	st.dropTakeover(a, StateFailed, why)
	st.Permission.TurnOver(&st.out, a.ID)
	st.fail(a.ID, c, a.Name+" is parked: "+why, RecoveryOptions(c, RoleOrchestrator))
	st.reportLostAgent(a.ID, "is parked: "+why)
}

// keepFuses parks the Orchestrators that have spent their fuse, and asks the Arbiter what follows. Who has said that it
// is done, or has handed off, needs no end: it costs nothing unless it is given something to do.
func (st *step) keepFuses() {
	for i := range st.Agents {
		a := st.Agents[i]
		if a.Fuse.Level != LevelLimit || !a.Up() || !a.Engaged() {
			continue
		}
		a, session := st.Edit(a.ID), a.NewSession
		st.spent(a, bridge.CatBudget, fmt.Sprintf("its fuse is spent ($%.4f of $%.4f). If the work is worth more, summon a "+
			"successor with fuse_usd; else have it done in another way, or leave it", a.FuseSpent(), a.Fuse.USD))
		if st.Ending != nil {
			return
		}
		st.Edit(a.ID).NewSession = session // a human may have it go on: its context is sound
	}
}

// setAside handles a message that the Arbiter could not read: its successors could not read it either, and do
// not get it. Of a large one they receive the beginning. The human is notified.
func (st *step) setAside(m Mail) {
	size, whose := words.Size(int64(len(m.Text))), st.DisplayName(m.From)
	st.Renewal.GeneratedInRow = 0 // the next Arbiter reads something else
	if m.Kind == KindTask {
		st.dropTask(m)
		return
	}
	cut := len(m.Content) > 2*BeginningKept
	what := "was set aside"
	if cut {
		what = "was cut: its beginning goes to the next Arbiter"
	}
	st.fail(contract.Arbiter, bridge.CatPromptTooLong,
		fmt.Sprintf("the %s of %s (message %s, %s) was too large to be read and %s", m.Kind, whose, m.ID, size, what),
		[]string{"say it in fewer words, or " + contract.SmallerText})
	if !cut {
		st.Conversation.SetAside(m)
		st.correctRecord(m.ID, "(set aside: the model refused it as too long)")
		st.tell(fmt.Sprintf("The %s of %s could not be read: the model refused it as too long. It was set aside, "+
			"and the human was told. Decide without it, or ask for it in fewer words.", m.Kind, whose))
		return
	}
	st.shorten(m)
}

// dropTask drops a task that no Arbiter can read, and asks for another.
func (st *step) dropTask(m Mail) {
	text := fmt.Sprintf("The task has %s, more than the model can read at once: %s.", words.Size(int64(len(m.Text))),
		contract.SmallerText)
	st.fail(contract.Arbiter, bridge.CatPromptTooLong, text, []string{contract.SmallerText})
	st.Conversation.SetAside(m)
	st.correctRecord(m.ID, "(set aside: the task was too large to be read)")
	st.fire(machine.Reset, triggerData{})
	st.Task.Text, st.Question.Open = "", nil
	if !st.HumanPresent {
		st.end(contract.StatusNeedsInput, text, contract.ExitNeedsInput, machine.GiveUp)
		return
	}
	st.ask(text)
}

// askRenewal asks the Arbiter for its document when its context is nearly full, between two turns. Messages
// that wait for it then go to its successor. While the rules decide, the Arbiter gets no messages, and its
// context does not grow.
func (st *step) askRenewal() {
	if len(st.Agents) == 0 {
		return
	}
	a := st.Agents[0]
	st.Renewal.Lapse(a, &st.Conversation)
	if st.Paused || st.budgetHolds() || st.Conversation.Held || st.Rulings.FallbackReason != "" ||
		!st.Renewal.IsDue(a, &st.Conversation) {
		return
	}
	if st.Renewal.ShortInRow >= MaxShort {
		st.giveUp(bridge.CatCompaction, fmt.Sprintf("the Arbiter's context is full as soon as it is renewed (%s): "+
			"raise --context-tokens or --context-critical, or use a model with a larger window, and resume",
			fullness(a)))
		return
	}
	st.Renewal.Stage = RenewalAsked
	st.notify(a.ID, KindRenewal, DemandText(a))
}

// renewByRecord replaces the Arbiter by a successor although it left no document.
func (st *step) renewByRecord(why string) {
	if st.Renewal.GeneratedInRow++; st.Renewal.GeneratedInRow > MaxGenerated {
		st.fail(contract.Arbiter, bridge.CatCompaction, "the Arbiter cannot continue: "+why, []string{})
		st.giveUp(bridge.CatCompaction, "the Arbiter cannot continue, however often it is renewed: "+why)
		return
	}
	st.callOffRenewal()
	st.Renewal.Stage = RenewalGiven
	a, _ := st.Agent(contract.Arbiter)
	st.handOver(Handover{Agent: a.AgentRef, Kind: HandoffKindRenewal, Why: why,
		Document: ArbiterRecord(why, st.Task.Plan, st.Question.Text())})
}
