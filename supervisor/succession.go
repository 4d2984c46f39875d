package supervisor

// This part of the package tracks how full the contexts of agents are, and gives the Arbiter a successor.
//
// [Measured] and [Compacted] handle the bridge's reports about a context. [Interrupt] stops a turn that continues
// although its compaction was prevented. [Renew] ends the session of the Arbiter when its document is complete: a new
// session follows under the same id, with a brief of what it must know.
//
// Package renewal keeps the progress of a renewal. Package supervisor decides when to give up an agent that cannot
// continue.
//
// Events: context_warning, handoff of the Arbiter. Effects: Interrupt, Kill, timers.

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// compactionPatience is how long a turn may continue whose compaction was prevented.
const compactionPatience = 5 * time.Minute

// Measured records a reading of an agent's context. Each level is reported once, and again only after a
// compaction has brought the context below the first level.
func Measured(c *ProcessContext, id string, reading bridge.Context) {
	a := c.Roster.Edit(id)
	a.Context = reading
	level := ContextLevel(reading, c.Options.ContextWarn, c.Options.ContextCritical)
	if level == a.WarnedLevel || level == AgentLevelWarn && a.WarnedLevel == LevelCritical {
		return
	}
	a.WarnedLevel = level
	if level != "" {
		c.Out.Emit(id, contract.ContextWarning{Pct: reading.Pct, Level: level})
	}
}

// Compacted handles a compaction that happened, or that was prevented at the last moment.
func Compacted(c *ProcessContext, id string, b bridge.Compact) {
	a := c.Roster.Edit(id)
	if b.Blocked {
		if a.CompactionBlocked {
			return
		}
		a.CompactionBlocked = true
		c.Out.Do(effect.SetTimer{Key: CompactionBlockedKey(a.AgentRef), After: compactionPatience})
		c.Log(contract.Supervisor, KindNotice,
			fmt.Sprintf("The context of %s (%s) is full. Its compaction was prevented; it is told to hand off.", a.Name,
				a.ID))
		return
	}
	a.Compactions++
	a.CompactionBlocked, a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel, a.HandoffDemands = false, "", "", "", 0
	c.Out.StopTimer(CompactionBlockedKey(a.AgentRef))
	if a.Role == RoleArbiter && a.Status != AgentBusy && a.Troubles == 0 {
		c.CallOffRenewal() // an Arbiter that already answers gives its document all the same
	}
	c.Log(contract.Supervisor, KindNotice, fmt.Sprintf("The context of %s (%s) was compacted (%s, %d "+
		"tokens before). What it knew is a summary now: details and numbers may be lost.", a.Name, a.ID, b.Trigger,
		b.PreTokens))
}

// Interrupt stops a turn that continues although its agent was told to hand off, so that the next turn can be
// used only for that.
func Interrupt(c *ProcessContext, a *Agent) {
	if a.CompactionBlocked && a.Status == AgentBusy {
		c.Roster.Edit(a.ID).Interrupting = true
		c.Out.Do(effect.Interrupt{Agent: a.AgentRef})
	}
}

// Exhausts reports whether a turn shows that its agent can answer no more.
func Exhausts(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnFailed && (t.Category == bridge.CatPromptTooLong ||
		t.Category == bridge.CatCompaction)
}

// Unruled reports whether a turn of the Arbiter ended before it ruled on its messages, because its context is
// exhausted or [Interrupt] stopped it. Its successor then rules on them.
func Unruled(c *ProcessContext, a *Agent, t bridge.Turn) bool {
	return a.Role == RoleArbiter && (Exhausts(t) ||
		a.Interrupting && t.Outcome == bridge.TurnInterrupted && c.Renewal.Stage == RenewalNone)
}

// Renew ends the Arbiter's process so that its successor can start: another session, under the same id, in the
// next generation. The successor reads the brief with its first message.
func Renew(c *ProcessContext, h Handover, brief string) {
	a := c.Roster.Edit(contract.Arbiter)
	c.Out.Emit(a.ID, h.Event(a.ID, a.ID))
	a.HandoffBrief = brief
	a.Document, a.Receipts, a.GeneratedWhy = h.Document, h.Receipts, h.Why // in case its successor's history is lost
	a.NewSession, a.HasHistory = true, false
	a.Corrections, a.Fallbacks, a.Troubles, a.APIFailures = 0, 0, 0, 0
	c.Renewal.Renew()
	forSuccessor(c)
	if a.Up() {
		a.Status, a.Since = AgentRestarting, c.Out.Now
		a.RestartClass, a.RestartCause = ClassRenewal, "its context was at its end"
		c.Permission.TurnOver(c.Out, a.ID)
		c.Out.Do(effect.Kill{Agent: a.AgentRef})
	}
}

// forSuccessor prepares what waits for the Arbiter for another session: messages about the old session are
// dropped, and so is what the old session got from its predecessor.
func forSuccessor(c *ProcessContext) {
	unruled := c.Conversation.ForSuccessor()
	c.TakeBack(func(m Mail) bool { return m.To == contract.Arbiter && m.OfSession() })
	if unruled {
		c.Notify(contract.Arbiter, KindNotice, "The Arbiter before you ended before it had ruled on what "+
			"was said to it last. Look what that was, and rule how it goes on.")
	}
}
