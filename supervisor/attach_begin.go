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
