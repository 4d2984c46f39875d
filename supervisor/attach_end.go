package supervisor

import (
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Detach gives a session back to its agent.
func (c *AttachContext) Detach(ref, id string) {
	a := c.Roster.Edit(id)
	if a == nil || a.Takeover == nil {
		c.Out.Reject(ref, "%s is not taken over: there is nothing to give back", id)
		return
	}
	c.Out.Accept(ref, "giving back "+id)
	c.close(a, GivenBack)
}

// close ends a takeover, whatever its stage.
func (c *AttachContext) close(a *Agent, why string) {
	t, next := a.Takeover.Close(why)
	a.SetTakeover(t)
	switch next {
	case TakeoverWait:
	case TakeoverOver:
		c.end(a.ID, StateEnded, t.Why)
	case CloseTerminal:
		c.Out.Do(effect.ClosePTY{Agent: a.AgentRef})
	}
}

// end ends a takeover in which nothing was done, and starts the agent again.
func (c *AttachContext) end(id, state, reason string) {
	a := c.Roster.Edit(id)
	release := a.Takeover.Release
	c.resumeLimit(a)
	a.Takeover, a.Status, a.Since, a.Watch = nil, AgentDown, c.Out.Now, AgentWatch{}
	c.Out.Emit(id, contract.Takeover{State: state, Reason: reason})
	c.goOn(id, release)
}

// goOn continues after a takeover.
func (c *AttachContext) goOn(id, release string) {
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
func (c *AttachContext) TerminalEnded(a *Agent, e bridge.Exit) {
	program := ""
	if e.Code != 0 {
		program = ExitText(e)
	}
	a.SetTakeover(a.Takeover.Left(program))
	c.inspect(a)
}

// inspect requests an inspection of what was done.
func (c *AttachContext) inspect(a *Agent) {
	c.Handoff.DocumentSerial++
	a.SetTakeover(a.Takeover.Read(c.Handoff.DocumentSerial))
	c.inspectFor(a, bridge.InspectParams{Since: a.Takeover.Mark})
}

// report ends a takeover: the Arbiter receives a digest of what was done, and the agent's process is
// started again on its session.
func (c *AttachContext) report(id string, f input.Inspected) {
	a := c.Roster.Edit(id)
	t := *a.Takeover
	d := t.Digest(a.Name, id, c.Out.Now, f.Result, f.Failed)
	a.Takeover, a.Status, a.Since, a.Watch = nil, AgentDown, c.Out.Now, AgentWatch{}
	a.ReturnNotice = strings.TrimPrefix(a.ReturnNotice+"\n"+d.Notice, "\n")
	c.Out.Emit(id, contract.Takeover{
		State: StateEnded, Reason: t.Why, Words: d.Changes.Words, Files: d.Changes.Files, Digest: d.Text(),
	})
	c.resumeLimit(a)
	switch {
	case d.Idle && a.Role == RoleArbiter:
	case d.Idle: // no reason to wake the Arbiter
		c.Conversation.AddEntry(ConversationEntry{
			ID: c.NewID(), From: contract.Supervisor, Kind: KindNotice, At: c.Out.Now, Quiet: true,
			Text: d.Finding,
		})
	default:
		m := Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: KindNotice,
			Text: d.Finding}
		if d.Quotes != "" {
			m.Attached = []ConversationAttached{{Title: "quoted from the session of " + id, From: id,
				Kind: "transcript", Text: d.Quotes}}
		}
		c.Post(m)
	}
	c.goOn(id, t.Release)
}

// Halt closes a terminal at once, and returns how many processes that ends.
func (c *AttachContext) Halt(a *Agent) int {
	switch {
	case a.Takeover == nil:
		return 0
	case a.Takeover.HasProcess():
		t, _ := a.Takeover.Close(TakeoverHalted)
		a.SetTakeover(t)
		c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: true})
		return 1
	case a.Takeover.Stage == TakeoverInspecting:
		c.end(a.ID, StateFailed, TakeoverHalted)
	}
	return 0
}

// resumeLimit starts an agent's time limit anew after a takeover: a limit that ended meanwhile was ignored.
func (c *AttachContext) resumeLimit(a *Agent) {
	if a.Role == RoleOrchestrator && a.Alive() {
		c.LimitWork(a.ID)
	}
}
