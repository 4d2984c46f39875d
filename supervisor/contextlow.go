package supervisor

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// maxDemands is how often an Orchestrator is asked to hand off before the
	// supervisor does it in its place.
	maxDemands = 3
	// compactionPatience is how long a turn may go on whose compaction was prevented.
	compactionPatience = 5 * time.Minute
)

// measured takes a reading of an agent's context. Each level is reported once, and
// again only after a compaction has brought the context below the first.
func (st *step) measured(e bridge.Event, c bridge.Context) {
	a := st.Edit(e.ID)
	a.Context = c
	st.relay(e)
	level := lifecycle.ContextLevel(c, st.Options.ContextWarn, st.Options.ContextCritical)
	if level == a.WarnedLevel || level == roster.LevelWarn && a.WarnedLevel == roster.LevelCritical {
		return
	}
	a.WarnedLevel = level
	if level != "" {
		st.emit(e.ID, contract.ContextWarning{Pct: c.Pct, Level: level})
	}
}

// compacted takes a compaction that happened, or was prevented at the last moment.
func (st *step) compacted(e bridge.Event, c bridge.Compact) {
	st.relay(e)
	a := st.Edit(e.ID)
	if c.Blocked {
		if a.CompactionBlocked {
			return
		}
		a.CompactionBlocked = true
		st.do(effect.SetTimer{Key: process.CompactionBlockedKey(a.AgentRef), After: compactionPatience})
		st.mail().Log(contract.Supervisor, conversation.KindNotice,
			fmt.Sprintf("The context of %s (%s) is full. Its compaction was prevented; it is told to hand off.", a.Name,
				a.ID))
		return
	}
	a.Compactions++
	a.CompactionBlocked, a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel, a.HandoffDemands = false, "", "", "", 0
	st.do(effect.SetTimer{Key: process.CompactionBlockedKey(a.AgentRef)})
	if a.Role == roster.RoleArbiter && a.Status != roster.Busy && a.Troubles == 0 {
		st.processes().CallOffRenewal() // one that is at it gives its document all the same
	}
	st.mail().Log(contract.Supervisor, conversation.KindNotice, fmt.Sprintf("The context of %s (%s) was compacted (%s, "+
		"%d "+
		"tokens before). "+
		"What it knew is a summary now: details and numbers may be lost.", a.Name, a.ID, c.Trigger, c.PreTokens))
}

// interruptForContext stops a turn that goes on although it was told to hand off, so that the next one
// can be about nothing else.
func (st *step) interruptForContext(a *roster.Agent) {
	if a.CompactionBlocked && a.Status == roster.Busy {
		st.Edit(a.ID).Interrupting = true
		st.do(effect.Interrupt{Agent: a.AgentRef})
	}
}

// interruptedForContext reports whether a turn of the Arbiter's was stopped by interruptForContext before it ruled
// on a message.
func (s *State) interruptedForContext(a *roster.Agent, t bridge.Turn) bool {
	return a.Interrupting && t.Outcome == bridge.TurnInterrupted && s.Renewal.Stage == renewal.None
}

// askForHandOff asks an Orchestrator for its document when its context is at its end and it
// gave another verdict. It reports whether it did: the supervisor hands off in place of one
// that does not heed.
func (st *step) askForHandOff(id string, v verdict.Orchestrator) bool {
	a := st.Edit(id)
	if !a.ContextLow() || v.Kind == verdict.KindHandoff || v.Kind == verdict.KindDone {
		return false
	}
	if a.HandoffDemands >= maxDemands {
		st.mail().Log(id, v.Kind, v.Message) // its last word
		st.emit(id, contract.Notice{Text: a.Name + " was told to hand off " + words.Count(a.HandoffDemands, "time") +
			" and did not; the supervisor does it in its place"})
		st.spent(id, bridge.CatPromptTooLong, "its context is full, and it did not hand off when it was told to")
		return true
	}
	if v.ExpectsResponse {
		return false // the answer carries the demand
	}
	st.mail().Log(id, v.Kind, v.Message)
	st.exchange()
	if !st.pendingFor(id) {
		st.mail().Tell(id, conversation.KindRelief, "Your report is in the work log. Hand off now.")
	}
	return true
}

// exhausts reports whether a turn shows that its agent can speak no more.
func exhausts(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnFailed && (t.Category == bridge.CatPromptTooLong ||
		t.Category == bridge.CatCompaction)
}

// exhausted handles a turn that failed because the context is full, or refills as
// fast as it is compacted: the agent can speak no more.
func (st *step) exhausted(id string, t bridge.Turn) {
	a := st.Edit(id)
	why := "its context is exhausted"
	if t.Category == bridge.CatCompaction {
		why = "its context fills as fast as it is compacted"
	}
	switch {
	case a.Role == roster.RoleArbiter:
		st.emit(id, contract.Notice{Text: a.Name + " can rule no more: " + why +
			"; another takes its place by the supervisor's record"})
		st.renewByRecord(why)
	default:
		st.spent(id, t.Category, why)
	}
}

// spent parks an Orchestrator whose session is of no more use. A record of its work
// goes to the Arbiter and to its successor; should somebody want it back all the same, it
// begins another session.
func (st *step) spent(id string, c bridge.Category, why string) {
	a := st.Edit(id)
	st.do(effect.Kill{Agent: a.AgentRef})
	st.emit(id, contract.Done{SessionID: a.SessionID, Reason: string(c)})
	a.Status, a.Since, a.CurrentTool, a.NewSession, a.Turn = roster.Parked, st.at, "", true, nil
	st.processes().FailTakeover(a, why)
	st.Permission.TurnOver(&st.out, id)
	st.fail(id, c, a.Name+" is parked: "+why, lifecycle.RecoveryOptions(c, roster.RoleOrchestrator))
	st.reportLostAgent(id, "is parked: "+why)
}
