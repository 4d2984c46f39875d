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

// Classes of ends that are no failures, and that restarts are not counted for.
const (
	// ClassHalt: every process is ended; another follows when the human says so.
	ClassHalt restart.Class = "halted"
	// ClassRenewal: an Arbiter's process is ended for its successor's.
	ClassRenewal restart.Class = "renewed"
)

// Lost handles the end of a process that ended unexpectedly: it comes back, with
// what it knew. It reports why its agent is parked instead.
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

// LoseQuestions drops the questions that agents of a host have asked a predecessor: they ended with its bridge.
func (c *Context) LoseQuestions(host string) {
	c.Handoff.WaitingQuestions = slices.DeleteFunc(slices.Clone(c.Handoff.WaitingQuestions),
		func(q handoff.Asked) bool { return c.Roster.HostOf(q.By) == host })
}

// LoseProcesses notes that the processes of a host ended with its bridge.
func (c *Context) LoseProcesses(host string) {
	for i := range c.Roster.Agents {
		if c.Roster.Agents[i].Host == host {
			c.lostWithBridge(c.Roster.Edit(c.Roster.Agents[i].ID))
		}
	}
}

func (c *Context) lostWithBridge(a *roster.Agent) {
	a.Backoff = nil // the bridge is waited for
	switch {
	case a.Status == roster.InHand: // what was done in the terminal is read with the next bridge
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

// RetryHost takes the option to try a parked host again, and reports whether it was one.
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
