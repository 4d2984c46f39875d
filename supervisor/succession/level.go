package succession

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
)

// compactionPatience is how long a turn may continue whose compaction was prevented.
const compactionPatience = 5 * time.Minute

// Measured records a reading of an agent's context. Each level is reported once, and again only after a
// compaction has brought the context below the first level.
func Measured(c *process.Context, id string, reading bridge.Context) {
	a := c.Roster.Edit(id)
	a.Context = reading
	level := lifecycle.ContextLevel(reading, c.Options.ContextWarn, c.Options.ContextCritical)
	if level == a.WarnedLevel || level == roster.LevelWarn && a.WarnedLevel == roster.LevelCritical {
		return
	}
	a.WarnedLevel = level
	if level != "" {
		c.Out.Emit(id, contract.ContextWarning{Pct: reading.Pct, Level: level})
	}
}

// Compacted handles a compaction that happened, or that was prevented at the last moment.
func Compacted(c *process.Context, id string, b bridge.Compact) {
	a := c.Roster.Edit(id)
	if b.Blocked {
		if a.CompactionBlocked {
			return
		}
		a.CompactionBlocked = true
		c.Out.Do(effect.SetTimer{Key: process.CompactionBlockedKey(a.AgentRef), After: compactionPatience})
		c.Log(contract.Supervisor, conversation.KindNotice,
			fmt.Sprintf("The context of %s (%s) is full. Its compaction was prevented; it is told to hand off.", a.Name,
				a.ID))
		return
	}
	a.Compactions++
	a.CompactionBlocked, a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel, a.HandoffDemands = false, "", "", "", 0
	c.Out.StopTimer(process.CompactionBlockedKey(a.AgentRef))
	if a.Role == roster.RoleArbiter && a.Status != roster.Busy && a.Troubles == 0 {
		c.CallOffRenewal() // an Arbiter that already answers gives its document all the same
	}
	c.Log(contract.Supervisor, conversation.KindNotice, fmt.Sprintf("The context of %s (%s) was compacted (%s, %d "+
		"tokens before). What it knew is a summary now: details and numbers may be lost.", a.Name, a.ID, b.Trigger,
		b.PreTokens))
}

// Interrupt stops a turn that continues although its agent was told to hand off, so that the next turn can be
// used only for that.
func Interrupt(c *process.Context, a *roster.Agent) {
	if a.CompactionBlocked && a.Status == roster.Busy {
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
func Unruled(c *process.Context, a *roster.Agent, t bridge.Turn) bool {
	return a.Role == roster.RoleArbiter && (Exhausts(t) ||
		a.Interrupting && t.Outcome == bridge.TurnInterrupted && c.Renewal.Stage == renewal.None)
}
