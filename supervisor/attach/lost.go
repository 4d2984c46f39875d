package attach

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// LoseTerminals handles the loss of a bridge: every terminal ended with it.
func (c *Context) LoseTerminals(host string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Takeover == nil || c.Roster.Agents[i].Host != host {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		t, read := a.Takeover.Lose()
		if a.Status == roster.Stopping || !read {
			release := a.Takeover.Release
			c.resumeLimit(a)
			a.Takeover = nil
			c.Out.Emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: takeover.BridgeLost})
			if a.Status == roster.InHand {
				a.Status, a.Since = roster.Down, c.Out.Now
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
func (c *Context) Reread(of func(*roster.Agent) bool, why string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Takeover == nil || !of(c.Roster.Agents[i]) {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		switch {
		case a.Status != roster.Down && a.Status != roster.InHand:
			a.Takeover = nil
		case a.Takeover.Mark == nil:
			release := a.Takeover.Release
			a.Takeover, a.Status = nil, roster.Down
			c.Out.Emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: why})
			if release != "" {
				c.Release(a.ID, release, false)
			}
		default:
			a.Status, a.Since = roster.InHand, c.Out.Now
			t := *a.Takeover
			t.Why = cmp.Or(t.Why, why)
			a.SetTakeover(t)
			c.inspect(a)
		}
	}
}
