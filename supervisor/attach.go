package supervisor

// This part of the package gives the session of an agent to a human's terminal, and takes it back.
//
// [AttachContext.Attach] stops the agent's own process, records the state of its session and of the repository, and
// opens the terminal. When the human gives the session back ([AttachContext.Detach]), leaves the terminal, or loses
// it, the package reads what was done there, reports it to the Arbiter, and starts the agent's process again on
// the session. The stages of a takeover are values of package takeover.
//
// Events: takeover, done of an agent without a process. Effects: OpenPTY, ClosePTY, Kill, Inspect of a takeover.

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AttachClass is the class of a process that is ended so that the human can have its session in a terminal. It is not
// a failure, and restarts are not counted for it.
const AttachClass runconfig.RestartClass = "takeover"

// Attach gives an agent's session to the human: it stops the agent's process normally, and opens the terminal
// when the process has ended.
func (c *AttachContext) Attach(ref, id string) {
	a := c.Roster.Edit(id)
	if why := c.refusal(a, id); why != "" {
		c.Out.Reject(ref, "%s", why)
		return
	}
	c.Out.Accept(ref, "taking over "+id+": its process is being stopped")
	a.SetTakeover(BeginTakeover(c.Out.Now, cmp.Or(c.Channel, input.ChannelStdin)))
	c.Out.Emit(id, contract.Takeover{State: StateBegan})
	c.Relaunch(id, AttachClass, "the human takes its session over")
}

// refusal says why an agent's session cannot be taken over now; empty: it can.
func (c *AttachContext) refusal(a *Agent, id string) string {
	switch {
	case a == nil, a.Status == AgentEnded, a.Status == AgentStopping:
		return fmt.Sprintf("there is no living agent %q; alive: %s", id, c.Roster.AddresseesText())
	case a.Takeover != nil:
		return fmt.Sprintf("the session of %s was taken over already, at %s by %s; one person has it at a time: "+
			"detach %s first",
			id, a.Takeover.Since.UTC().Format("15:04:05 MST"), a.Takeover.Channel, id)
	case a.Status == AgentParked:
		return id + " is parked, and has no process: choose retry first"
	case c.Halted:
		return "everything is halted: continue first"
	case c.Lifecycle.AwaitsTrust(a.Host):
		return "no process starts before you have reviewed what changed in the workspace: choose " +
			strings.Join(c.Lifecycle.TrustQuestion.Choices(), ", ")
	case !c.Lifecycle.IsUp(a.Host):
		return "there is no bridge at the moment: try again"
	case a.Role == RoleArbiter && c.Renewal.Stage == RenewalGiven:
		return id + " is being renewed: try again when its successor is there"
	case a.Status != AgentReady && a.Status != AgentBusy:
		return fmt.Sprintf("%s is %s: try again when it is ready", id, a.Status)
	case !a.HasHistory || a.NewSession:
		return id + " has said nothing yet: there is no session to take over"
	}
	return ""
}

// Stopped continues when the supervised process has ended, as requested.
func (c *AttachContext) Stopped(id string) {
	a := c.Roster.Edit(id)
	a.Status, a.Since, a.CurrentTool, a.ToolCall, a.Watch = AgentDown, c.Out.Now, "", nil, AgentWatch{}
	switch {
	case a.Takeover == nil:
		c.Restart(id)
	case a.Takeover.Why != "":
		c.end(id, StateEnded, a.Takeover.Why)
	case c.Halted:
		c.end(id, StateFailed, TakeoverHalted)
	case a.NewSession || !a.HasHistory:
		c.end(id, StateFailed, "its session ended: another follows")
	default:
		a.Status = InHand
		c.Handoff.DocumentSerial++
		a.SetTakeover(a.Takeover.Inspect(c.Handoff.DocumentSerial))
		c.inspectFor(a, bridge.InspectParams{Mark: true})
	}
}

// Inspected handles an inspection before or after a takeover, and reports whether the inspection was for a
// takeover.
func (c *AttachContext) Inspected(f input.Inspected) bool {
	for i := range c.Roster.Agents {
		if t := c.Roster.Agents[i].Takeover; t == nil || t.Serial != f.Serial {
			continue
		}
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		if a.Status != InHand {
			return true
		}
		switch a.Takeover.Stage {
		case TakeoverInspecting:
			c.openTerminal(a, f)
		case TakeoverReading:
			c.report(a.ID, f)
		}
		return true
	}
	return false
}

// openTerminal opens the terminal, now that the state before it is recorded.
func (c *AttachContext) openTerminal(a *Agent, f input.Inspected) {
	a.SetTakeover(a.Takeover.Opens(c.Out.Now, f.Result, f.Failed))
	a.Generation++
	trusted := c.Options.Trusted && !c.Lifecycle.Bridge(a.Host).Untrusted
	config := TerminalConfig(c.Configuration().Config(a), trusted || c.Options.Rehearsal)
	c.Out.Do(effect.OpenPTY{Params: bridge.PTYOpenParams{AgentRef: a.AgentRef, Config: config, Cols: TakeoverCols,
		Rows: TakeoverRows}})
}

// TerminalOpened handles a terminal that was opened, or could not be opened.
func (c *AttachContext) TerminalOpened(f input.PTYOpened) {
	a := c.Roster.Edit(f.Agent.ID)
	switch {
	case a == nil || a.Generation != f.Agent.Generation:
		return
	case a.Status == AgentStopping && f.Failed != "":
		a.Status, a.Since = AgentEnded, c.Out.Now // the agent was released meanwhile, and nothing follows
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
		c.Drop(a.ID)
	case a.Status != InHand || a.Takeover == nil || !a.Takeover.HasProcess():
		return
	case f.Failed != "" && a.Takeover.Why != "":
		c.end(a.ID, StateEnded, a.Takeover.Why)
	case f.Failed != "":
		c.end(a.ID, StateFailed, f.Failed)
	default:
		if t, awaited := a.Takeover.Opened(); awaited {
			a.SetTakeover(t)
			c.Out.Emit(a.ID, contract.Takeover{State: StateOpen})
		}
	}
}

// inspectFor requests an inspection of the session and the repository.
func (c *AttachContext) inspectFor(a *Agent, p bridge.InspectParams) {
	dir := c.Dirs().Of(a.ID)
	p.SessionID, p.CWD, p.Env, p.Sandbox = a.SessionID, dir, c.Options.Env, c.Dirs().Sandbox(dir)
	c.Out.Do(effect.Inspect{Serial: a.Takeover.Serial, Host: a.Host, Params: p})
}

// AttachContext is what a step uses to hand over sessions. It is created for one use within a step.
type AttachContext struct {
	*ProcessContext

	// TimeIsOver is set when a takeover ends in a run whose time limit has passed: the step ends the run.
	TimeIsOver bool
}

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
