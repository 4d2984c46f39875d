package attach

import (
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

// Detach gives a session back to its agent.
func (c *Context) Detach(ref, id string) {
	a := c.Roster.Edit(id)
	if a == nil || a.Takeover == nil {
		c.Out.Reject(ref, "%s is not taken over: there is nothing to give back", id)
		return
	}
	c.Out.Accept(ref, "giving back "+id)
	c.close(a, takeover.GivenBack)
}

// close ends a takeover, whatever its stage.
func (c *Context) close(a *roster.Agent, why string) {
	t, next := a.Takeover.Close(why)
	a.SetTakeover(t)
	switch next {
	case takeover.Wait:
	case takeover.Over:
		c.end(a.ID, takeover.StateEnded, t.Why)
	case takeover.CloseTerminal:
		c.Out.Do(effect.ClosePTY{Agent: a.AgentRef})
	}
}

// end ends a takeover in which nothing was done, and starts the agent again.
func (c *Context) end(id, state, reason string) {
	a := c.Roster.Edit(id)
	release := a.Takeover.Release
	c.resumeLimit(a)
	a.Takeover, a.Status, a.Since, a.Watch = nil, roster.Down, c.Out.Now, roster.Watch{}
	c.Out.Emit(id, contract.Takeover{State: state, Reason: reason})
	c.goOn(id, release)
}

// goOn continues after a takeover.
func (c *Context) goOn(id, release string) {
	if release != "" {
		c.Release(id, release, false)
	} else {
		c.Restart(id)
	}
	c.Lifecycle.Waking, c.Lifecycle.ReturnedAgent = true, id // the Arbiter may have waited for this session
	if t := c.Options.Timeout; t > 0 && !c.Closed && !c.Roster.AnyTakenOver() && c.Elapsed >= t {
		c.TimeIsOver = true // the end of the run had waited for the session
	}
}

// TerminalEnded handles the end of the terminal's process, whether it ended by itself or was closed.
func (c *Context) TerminalEnded(a *roster.Agent, e bridge.Exit) {
	program := ""
	if e.Code != 0 {
		program = lifecycle.ExitText(e)
	}
	a.SetTakeover(a.Takeover.Left(program))
	c.inspect(a)
}

// inspect requests an inspection of what was done.
func (c *Context) inspect(a *roster.Agent) {
	c.Handoff.DocumentSerial++
	a.SetTakeover(a.Takeover.Read(c.Handoff.DocumentSerial))
	c.inspectFor(a, bridge.InspectParams{Since: a.Takeover.Mark})
}

// report ends a takeover: the Arbiter receives a digest of what was done, and the agent's process is
// started again on its session.
func (c *Context) report(id string, f input.Inspected) {
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
	c.goOn(id, t.Release)
}

// Halt closes a terminal at once, and returns how many processes that ends.
func (c *Context) Halt(a *roster.Agent) int {
	switch {
	case a.Takeover == nil:
		return 0
	case a.Takeover.HasProcess():
		t, _ := a.Takeover.Close(takeover.Halted)
		a.SetTakeover(t)
		c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: true})
		return 1
	case a.Takeover.Stage == takeover.Inspecting:
		c.end(a.ID, takeover.StateFailed, takeover.Halted)
	}
	return 0
}

// resumeLimit starts an agent's time limit anew after a takeover: a limit that ended meanwhile was ignored.
func (c *Context) resumeLimit(a *roster.Agent) {
	if a.Role == roster.RoleOrchestrator && a.Alive() {
		c.LimitWork(a.ID)
	}
}
