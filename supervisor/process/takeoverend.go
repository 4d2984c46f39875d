package process

import (
	"cmp"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// Detach gives it back.
func (c *Context) Detach(ref, id string) {
	a := c.Roster.Edit(id)
	if a == nil || a.Takeover == nil {
		c.Out.Reject(ref, "%s is not taken over: there is nothing to give back", id)
		return
	}
	c.Out.Accept(ref, "giving back "+id)
	c.closeTakeover(a, takeover.GivenBack)
}

// closeTakeover ends a takeover, whatever its stage.
func (c *Context) closeTakeover(a *roster.Agent, why string) {
	t, next := a.Takeover.Close(why)
	a.SetTakeover(t)
	switch next {
	case takeover.Wait:
	case takeover.Over:
		c.endTakeover(a.ID, takeover.StateEnded, t.Why)
	case takeover.CloseTerminal:
		c.Out.Do(effect.ClosePTY{Agent: a.AgentRef})
	}
}

// endTakeover ends a takeover in which nothing was done, and starts the agent again.
func (c *Context) endTakeover(id, state, reason string) {
	a := c.Roster.Edit(id)
	release := a.Takeover.Release
	c.resumeLimit(a)
	a.Takeover, a.Status, a.Since, a.Watch = nil, roster.Down, c.Out.Now, roster.Watch{}
	c.Out.Emit(id, contract.Takeover{State: state, Reason: reason})
	c.goOnAfterTakeover(id, release)
}

// goOnAfterTakeover continues after a takeover.
func (c *Context) goOnAfterTakeover(id, release string) {
	if release != "" {
		c.Release(id, release, false)
	} else {
		c.Restart(id)
	}
	c.Lifecycle.Waking, c.Lifecycle.ReturnedAgent = true, id // the Arbiter may have waited for just that
	if t := c.Options.Timeout; t > 0 && !c.Closed && !c.Roster.AnyTakenOver() && c.Elapsed >= t {
		c.TimeIsOver = true // it had waited for that
	}
}

// TerminalEnded: the terminal's process is gone, of its own accord or because somebody closed it.
func (c *Context) TerminalEnded(a *roster.Agent, e bridge.Exit) {
	program := ""
	if e.Code != 0 {
		program = lifecycle.ExitText(e)
	}
	a.SetTakeover(a.Takeover.Left(program))
	c.inspectTakeover(a)
}

// inspectTakeover has it read what was done.
func (c *Context) inspectTakeover(a *roster.Agent) {
	c.Handoff.DocumentSerial++
	a.SetTakeover(a.Takeover.Read(c.Handoff.DocumentSerial))
	c.inspectFor(a, bridge.InspectParams{Since: a.Takeover.Mark})
}

// takeoverRead ends a takeover: the Arbiter receives a digest of what was done, and the agent's process is
// started again on its session.
func (c *Context) takeoverRead(id string, f input.Inspected) {
	a := c.Roster.Edit(id)
	t := *a.Takeover
	d := t.Digest(a.Name, id, c.Out.Now, f.Result, f.Failed)
	a.Takeover, a.Status, a.Since, a.Watch = nil, roster.Down, c.Out.Now, roster.Watch{}
	a.ReturnNotice = strings.TrimPrefix(a.ReturnNotice+"\n"+d.Notice, "\n")
	c.Out.Emit(id, contract.Takeover{
		State: takeover.StateEnded, Reason: t.Why, Words: d.Changes.Words, Files: d.Changes.Files, Digest: d.Text(),
	})
	c.resumeLimit(a)
	switch {
	case d.Idle && a.Role == roster.RoleArbiter:
	case d.Idle: // no reason to wake the Arbiter
		c.Conversation.AddEntry(conversation.Entry{
			ID: c.NewID(), From: contract.Supervisor, Kind: conversation.KindNotice, At: c.Out.Now, Quiet: true,
			Text: d.Finding,
		})
	default:
		m := conversation.Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: conversation.KindNotice,
			Text: d.Finding}
		if d.Quotes != "" {
			m.Attached = []conversation.Attached{{Title: "quoted from the session of " + id, From: id,
				Kind: "transcript", Text: d.Quotes}}
		}
		c.Post(m)
	}
	c.goOnAfterTakeover(id, t.Release)
}

// LoseTakeovers: the bridge is gone, and with it every terminal.
func (c *Context) LoseTakeovers(host string) {
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

// RereadTakeovers takes up, with another bridge or in another process, the end of takeovers
// that the last one saw begin.
func (c *Context) RereadTakeovers(of func(*roster.Agent) bool, why string) {
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
			c.inspectTakeover(a)
		}
	}
}

// HaltTakeover closes a terminal at once, and says how many processes that ends.
func (c *Context) HaltTakeover(a *roster.Agent) int {
	switch {
	case a.Takeover == nil:
		return 0
	case a.Takeover.HasProcess():
		t, _ := a.Takeover.Close(takeover.Halted)
		a.SetTakeover(t)
		c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: true})
		return 1
	case a.Takeover.Stage == takeover.Inspecting:
		c.endTakeover(a.ID, takeover.StateFailed, takeover.Halted)
	}
	return 0
}

// FailTakeover ends the takeover of an agent whose session came to an end of its own.
func (c *Context) FailTakeover(a *roster.Agent, why string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: why})
}
