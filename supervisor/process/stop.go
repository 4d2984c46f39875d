package process

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// Relaunch ends an agent's process in order to start another in its place.
func (c *Context) Relaunch(id string, class restart.Class, reason string) {
	a := c.Roster.Edit(id)
	if a == nil || !a.Up() {
		return
	}
	a.Status, a.Since, a.RestartClass, a.RestartCause, a.Backoff = roster.Restarting, c.Out.Now, class, reason, nil
	c.Permission.TurnOver(c.Out, id)
	c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: class == restart.Hung})
}

// Release ends an agent for good.
func (c *Context) Release(id, reason string, now bool) {
	a := c.Roster.Edit(id)
	if a == nil || !a.Alive() || c.keepsTakeover(a, reason) {
		return
	}
	c.Question.Recovery.Overcome(c.Roster, id)
	c.Task.Abandon(c.Roster.Edit(id), c.Out.Now)
	c.Task.DropTasks(id)
	a = c.Roster.Edit(id)
	down := a.Status == roster.Down || a.Status == roster.InHand && !a.Takeover.HasProcess()
	c.dropTakeover(a, reason)
	a.Status, a.Since, a.EndReason, a.Dismissed = roster.Stopping, c.Out.Now, reason, true
	if down {
		a.Status = roster.Ended // there is no process to end
	}
	if slices.Contains(c.Handoff.SuccessorQueue, id) {
		// Its document stays: the next Orchestrator that is spawned still receives it.
		a.Standing = roster.HandedOff
	}
	c.Permission.TurnOver(c.Out, id)
	c.Drop(id)
	if down { // its process has ended, and no other follows
		c.Out.Emit(id, contract.Done{SessionID: a.SessionID, Reason: reason})
	} else {
		c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: now})
	}
}

// ReleasePredecessor releases a predecessor once its successor has given its first verdict: until then the
// predecessor can be asked questions.
func (c *Context) ReleasePredecessor(id string) {
	a, _ := c.Roster.Agent(id)
	if old, ok := c.Roster.Agent(a.Predecessor); ok && old.Alive() && old.Standing == roster.HandedOff {
		c.Release(old.ID, "succeeded by "+id, false)
	}
}

// keepsTakeover reports whether a takeover delays the release of an agent: only a human's command ends a
// session that a human has.
func (c *Context) keepsTakeover(a *roster.Agent, reason string) bool {
	if a.Takeover == nil || c.Ordered {
		return false
	}
	a.SetTakeover(a.Takeover.ReleaseAfter(reason))
	return true
}

// dropTakeover ends the takeover of an agent that is released.
func (c *Context) dropTakeover(a *roster.Agent, reason string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: takeover.StateEnded, Reason: reason})
}

// FailTakeover ends the takeover of an agent whose session ended by itself.
func (c *Context) FailTakeover(a *roster.Agent, why string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: takeover.StateFailed, Reason: why})
}

// ReleaseOrchestrators releases every Orchestrator.
func (c *Context) ReleaseOrchestrators() {
	for i := range c.Roster.Agents {
		if a := *c.Roster.Agents[i]; a.Role == roster.RoleOrchestrator && a.Alive() {
			c.Release(a.ID, "reset by the human", false)
		}
	}
}

// InterruptTurns stops the turn of an agent, or every running turn, at a human's request.
func (c *Context) InterruptTurns(ref, id string) {
	n := 0
	for i := range c.Roster.Agents {
		if a := c.Roster.Agents[i]; (id == "" || a.ID == id) && a.Status == roster.Busy {
			c.Out.Do(effect.Interrupt{Agent: a.AgentRef})
			n++
		}
	}
	if n == 0 {
		c.Out.Reject(ref, "no turn runs%s", forAgent(id))
		return
	}
	c.Out.Accept(ref, fmt.Sprintf("interrupted: %d", n))
}

func forAgent(id string) string {
	if id == "" {
		return ""
	}
	return " in " + id
}

// ReleaseFinished releases the Orchestrators whose work is done, or has failed and is now another agent's, in
// case no decider does it.
func (c *Context) ReleaseFinished() {
	for i := range c.Roster.Agents {
		switch a := *c.Roster.Agents[i]; {
		case a.Role != roster.RoleOrchestrator || !a.Alive():
		case a.Standing == roster.Finished:
			c.Release(a.ID, "its work is done", false)
		case a.Standing == roster.Waiting && a.Work == nil && !c.Rulings.IsStumbling(c.Standing, a.ID):
			c.Release(a.ID, "another takes its place", false)
		}
	}
}
