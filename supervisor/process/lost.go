package process

import (
	"cmp"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/costs"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// Classes of process ends that are not failures, and for which restarts are not counted.
const (
	// ClassHalt: every process is ended; they start again when the human continues the run.
	ClassHalt restart.Class = "halted"
	// ClassRenewal: an Arbiter's process is ended so that its successor's can start.
	ClassRenewal restart.Class = "renewed"
)

// Lost handles a process that ended unexpectedly: it is started again with its session, or Lost reports why its
// agent is parked instead.
func (c *Context) Lost(id string, class restart.Class, reason string) (parked string, park bool) {
	a := c.Roster.Edit(id)
	switch class {
	case ClassHalt:
		a.CurrentTool, a.Backoff = "", nil
		fallthrough
	case ClassRenewal:
		a.Status, a.Since, a.Watch = roster.Down, c.Out.Now, roster.Watch{}
		c.Restart(id) // if it may start again already
		return "", false
	}
	d := c.Decide(id, a.Generation, class, reason, time.Time{})
	a.Since, a.CurrentTool, a.Watch, a.Backoff = c.Out.Now, "", roster.Watch{}, nil
	if !d.Starts() {
		return d.Reason, true
	}
	a.Status = roster.Down
	if d.Action == restart.Fresh {
		a.NewSession = true
	}
	c.Out.Emit(id, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(), Reason: d.Reason})
	if d.Delay <= 0 {
		c.Restart(id)
		return "", false
	}
	c.BackOff(a, cmp.Or(lifecycle.Categories[class], bridge.CatCrash), d.Attempt, d.Delay)
	c.Out.Do(effect.SetTimer{Key: RestartKey(a.AgentRef), After: d.Delay})
	return "", false
}

// LoseQuestions drops the questions that agents of a host have asked a predecessor: the agents ended with the
// host's bridge.
func (c *Context) LoseQuestions(host string) {
	c.Handoff.WaitingQuestions = slices.DeleteFunc(slices.Clone(c.Handoff.WaitingQuestions),
		func(q handoff.Asked) bool { return c.Roster.HostOf(q.By) == host })
}

// LoseProcesses records that the processes of a host ended with its bridge.
func (c *Context) LoseProcesses(host string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Host == host {
			c.lostWithBridge(c.Roster.Edit(c.Roster.Agents[i].ID))
		}
	}
}

func (c *Context) lostWithBridge(a *roster.Agent) {
	a.Backoff = nil // the agent now waits for the bridge
	switch {
	case a.Status == roster.InHand: // the next bridge reads what was done in the terminal
	case a.Status == roster.Stopping:
		a.Status, a.Since = roster.Ended, c.Out.Now
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: a.EndReason})
		c.Drop(a.ID)
	case a.Alive() && a.Status != roster.Down:
		a.Status, a.Since, a.CurrentTool = roster.Down, c.Out.Now, ""
		lifecycle.MarkCut(a)
		costs.Account{Options: c.Options, Roster: c.Roster, Budget: c.Budget}.ChargeLost(a)
		c.Out.Emit(a.ID, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatCrash)})
		c.Permission.TurnOver(c.Out, a.ID)
	}
}

// RetryHost handles the option to retry a parked host, and reports whether the option was one for a parked
// host.
func (c *Context) RetryHost(ref, option string) bool {
	i := slices.IndexFunc(c.Lifecycle.Parked(), func(host string) bool { return lifecycle.RetryOption(host) == option })
	if i < 0 {
		return false
	}
	host := c.Lifecycle.Parked()[i]
	c.Out.Accept(ref, "host "+host+" is tried again")
	if slices.Contains(c.Question.Recovery.Options, option) {
		c.Question.Recovery = question.Recovery{}
	}
	c.Lifecycle.Unpark(c.Out, host)
	return true
}
