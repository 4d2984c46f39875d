package supervisor

import (
	"cmp"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Classes of process ends that are not failures, and for which restarts are not counted.
const (
	// ClassHalt: every process is ended; they start again when the human continues the run.
	ClassHalt runconfig.RestartClass = "halted"
	// ClassRenewal: an Arbiter's process is ended so that its successor's can start.
	ClassRenewal runconfig.RestartClass = "renewed"
)

// Lost handles a process that ended unexpectedly: it is started again with its session, or Lost reports why its
// agent is parked instead.
func (c *ProcessContext) Lost(id string, class runconfig.RestartClass, reason string) (parked string, park bool) {
	a := c.Roster.Edit(id)
	switch class {
	case ClassHalt:
		a.CurrentTool, a.Backoff = "", nil
		fallthrough
	case ClassRenewal:
		a.Status, a.Since, a.Watch = AgentDown, c.Out.Now, AgentWatch{}
		c.Restart(id) // if it may start again already
		return "", false
	}
	d := c.Decide(id, a.Generation, class, reason, time.Time{})
	a.Since, a.CurrentTool, a.Watch, a.Backoff = c.Out.Now, "", AgentWatch{}, nil
	if !d.Starts() {
		return d.Reason, true
	}
	a.Status = AgentDown
	if d.Action == runconfig.RestartFresh {
		a.NewSession = true
	}
	c.Out.Emit(id, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(), Reason: d.Reason})
	if d.Delay <= 0 {
		c.Restart(id)
		return "", false
	}
	c.BackOff(a, cmp.Or(Categories[class], bridge.CatCrash), d.Attempt, d.Delay)
	c.Out.Do(effect.SetTimer{Key: RestartKey(a.AgentRef), After: d.Delay})
	return "", false
}

// LoseQuestions drops the questions that agents of a host have asked a predecessor: the agents ended with the
// host's bridge.
func (c *ProcessContext) LoseQuestions(host string) {
	c.Handoff.WaitingQuestions = slices.DeleteFunc(slices.Clone(c.Handoff.WaitingQuestions),
		func(q HandoffAsked) bool { return c.Roster.HostOf(q.By) == host })
}

// LoseProcesses records that the processes of a host ended with its bridge.
func (c *ProcessContext) LoseProcesses(host string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Host == host {
			c.lostWithBridge(c.Roster.Edit(c.Roster.Agents[i].ID))
		}
	}
}

func (c *ProcessContext) lostWithBridge(a *Agent) {
	a.Backoff = nil // the agent now waits for the bridge
	switch {
	case a.Status == InHand: // the next bridge reads what was done in the terminal
	case a.Status == AgentStopping:
		a.Status, a.Since = AgentEnded, c.Out.Now
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
		c.Drop(a.ID)
	case a.Alive() && a.Status != AgentDown:
		a.Status, a.Since, a.CurrentTool = AgentDown, c.Out.Now, ""
		MarkCut(a)
		Account{Options: c.Options, Roster: c.Roster, Budget: c.Budget}.ChargeLost(a)
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatCrash)})
		c.Permission.TurnOver(c.Out, a.ID)
	}
}

// RetryHost handles the option to retry a parked host, and reports whether the option was one for a parked
// host.
func (c *ProcessContext) RetryHost(ref, option string) bool {
	i := slices.IndexFunc(c.Lifecycle.Parked(), func(host string) bool { return RetryOption(host) == option })
	if i < 0 {
		return false
	}
	host := c.Lifecycle.Parked()[i]
	c.Out.Accept(ref, "host "+host+" is tried again")
	if slices.Contains(c.Question.Recovery.Options, option) {
		c.Question.Recovery = QuestionRecovery{}
	}
	c.Lifecycle.Unpark(c.Out, host)
	return true
}
