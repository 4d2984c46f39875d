package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// LoseTerminals handles the loss of a bridge: every terminal ended with it.
func (c *AttachContext) LoseTerminals(host string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Takeover == nil || c.Roster.Agents[i].Host != host {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		t, read := a.Takeover.Lose()
		if a.Status == AgentStopping || !read {
			release := a.Takeover.Release
			c.resumeLimit(a)
			a.Takeover = nil
			c.Out.Emit(a.ID, contract.Takeover{State: StateFailed, Reason: BridgeLost})
			if a.Status == InHand {
				a.Status, a.Since = AgentDown, c.Out.Now
			}
			if release != "" {
				c.Release(a.ID, release, false)
			}
			continue
		}
		a.SetTakeover(t)
	}
}

// Reread finishes, with another bridge or in another process, takeovers that the previous one began.
func (c *AttachContext) Reread(of func(*Agent) bool, why string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Takeover == nil || !of(c.Roster.Agents[i]) {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		switch {
		case a.Status != AgentDown && a.Status != InHand:
			a.Takeover = nil
		case a.Takeover.Mark == nil:
			release := a.Takeover.Release
			a.Takeover, a.Status = nil, AgentDown
			c.Out.Emit(a.ID, contract.Takeover{State: StateFailed, Reason: why})
			if release != "" {
				c.Release(a.ID, release, false)
			}
		default:
			a.Status, a.Since = InHand, c.Out.Now
			t := *a.Takeover
			t.Why = cmp.Or(t.Why, why)
			a.SetTakeover(t)
			c.inspect(a)
		}
	}
}
