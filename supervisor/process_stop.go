package supervisor

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Relaunch ends an agent's process in order to start another in its place.
func (c *ProcessContext) Relaunch(id string, class runconfig.RestartClass, reason string) {
	a := c.Roster.Edit(id)
	if a == nil || !a.Up() {
		return
	}
	a.Status, a.Since, a.RestartClass, a.RestartCause, a.Backoff = AgentRestarting, c.Out.Now, class, reason, nil
	c.Permission.TurnOver(c.Out, id)
	c.Out.Do(effect.Kill{Agent: a.AgentRef, Now: class == runconfig.RestartHung})
}

// Release ends an agent for good.
func (c *ProcessContext) Release(id, reason string, now bool) {
	a := c.Roster.Edit(id)
	if a == nil || !a.Alive() || c.keepsTakeover(a, reason) {
		return
	}
	c.Question.Recovery.Overcome(c.Roster, id)
	c.Task.Abandon(c.Roster.Edit(id), c.Out.Now)
	c.Task.DropTasks(id)
	a = c.Roster.Edit(id)
	down := a.Status == AgentDown || a.Status == InHand && !a.Takeover.HasProcess()
	c.dropTakeover(a, reason)
	a.Status, a.Since, a.EndReason, a.Dismissed = AgentStopping, c.Out.Now, reason, true
	if down {
		a.Status = AgentEnded // there is no process to end
	}
	if slices.Contains(c.Handoff.SuccessorQueue, id) {
		// Its document stays: the next Orchestrator that is spawned still receives it.
		a.Standing = HandedOff
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
func (c *ProcessContext) ReleasePredecessor(id string) {
	a, _ := c.Roster.Agent(id)
	if old, ok := c.Roster.Agent(a.Predecessor); ok && old.Alive() && old.Standing == HandedOff {
		c.Release(old.ID, "succeeded by "+id, false)
	}
}

// keepsTakeover reports whether a takeover delays the release of an agent: only a human's command ends a
// session that a human has.
func (c *ProcessContext) keepsTakeover(a *Agent, reason string) bool {
	if a.Takeover == nil || c.Ordered {
		return false
	}
	a.SetTakeover(a.Takeover.ReleaseAfter(reason))
	return true
}

// dropTakeover ends the takeover of an agent that is released.
func (c *ProcessContext) dropTakeover(a *Agent, reason string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: StateEnded, Reason: reason})
}

// FailTakeover ends the takeover of an agent whose session ended by itself.
func (c *ProcessContext) FailTakeover(a *Agent, why string) {
	if a.Takeover == nil {
		return
	}
	a.Takeover = nil
	c.Out.Emit(a.ID, contract.Takeover{State: StateFailed, Reason: why})
}

// ReleaseOrchestrators releases every Orchestrator.
func (c *ProcessContext) ReleaseOrchestrators() {
	for i := range c.Roster.Agents {
		if a := *c.Roster.Agents[i]; a.Role == RoleOrchestrator && a.Alive() {
			c.Release(a.ID, "reset by the human", false)
		}
	}
}

// InterruptTurns stops the turn of an agent, or every running turn, at a human's request.
func (c *ProcessContext) InterruptTurns(ref, id string) {
	n := 0
	for i := range c.Roster.Agents {
		if a := c.Roster.Agents[i]; (id == "" || a.ID == id) && a.Status == AgentBusy {
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
func (c *ProcessContext) ReleaseFinished() {
	for i := range c.Roster.Agents {
		switch a := *c.Roster.Agents[i]; {
		case a.Role != RoleOrchestrator || !a.Alive():
		case a.Standing == AgentFinished:
			c.Release(a.ID, "its work is done", false)
		case a.Standing == AgentWaiting && a.Work == nil && !c.Rulings.IsStumbling(c.RulingStanding, a.ID):
			c.Release(a.ID, "another takes its place", false)
		}
	}
}
