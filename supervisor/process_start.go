package supervisor

// This part of the package starts, stops and watches the processes of agents.
//
// A process run is one process of an agent, named by its generation. [ProcessContext.Add] and [ProcessContext.Restart]
// start one, [ProcessContext.Relaunch] replaces one, [ProcessContext.Release] ends an agent for good.
// [ProcessContext.Probed] judges whether a process is alive. [ProcessContext.Distrusted] keeps agents stopped if their
// workspace is not as the human trusted it.
//
// The package changes the parts of the state that a [ProcessContext] points to, and collects effects. Package restart
// decides which class of failure leads to which restart; package lifecycle tracks the bridges; package attach hands
// the session of an agent to a human. Package supervisor decides what a lost agent means for the task.
//
// Events: spawn, done of agents without a process, takeover that failed or ended with its agent, quiet.
// Effects: Spawn, Kill, Probe, timers.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Add adds an agent and starts its process.
func (c *ProcessContext) Add(a Agent, prompt string) {
	a.Status, a.Since = AgentStarting, c.Out.Now
	a.SessionID = c.SessionID(a.ID, a.Generation)
	c.Roster.Add(&a)
	c.Out.Emit(a.ID, contract.Spawn{
		Name: a.Name, Mode: a.Mode, Prompt: prompt, SessionID: a.SessionID,
		Generation: a.Generation, SuccessorOf: a.Predecessor, Host: a.Host,
	})
	if w := c.Options.Workspace; w.Enabled() && a.Role == RoleOrchestrator && a.Isolation == "" {
		c.Out.Emit(a.ID, contract.Workspace{Dir: c.Options.CWD, Base: w.Base, Isolation: runconfig.IsolationShared})
	}
	if c.Halted || !c.Lifecycle.MayStart(a.Host) { // it starts with the others
		e := c.Roster.Edit(a.ID)
		e.Status, e.NewSession = AgentDown, true
		c.wantHost(a.Host)
		return
	}
	c.Out.Do(effect.Spawn{
		Params: bridge.SpawnParams{AgentRef: a.AgentRef, Config: c.Configuration().Config(&a)}, Place: c.Dirs().Place(a.ID),
	})
}

// Restart starts another process for an agent, with the next generation: on the session of the last process, or
// on a new session if that one is lost.
func (c *ProcessContext) Restart(id string) {
	a := c.Roster.Edit(id)
	if a == nil || a.Status != AgentDown || c.Closed || c.Halted {
		return
	}
	if !c.Lifecycle.MayStart(a.Host) {
		c.wantHost(a.Host) // it starts with the others
		return
	}
	a.Generation++
	a.Status, a.Since, a.CurrentTool, a.EndReason = AgentStarting, c.Out.Now, "", ""
	a.Watch, a.Backoff, a.NotifyingLevel, a.Interrupting = AgentWatch{}, nil, "", false
	if a.NewSession {
		a.SessionID = c.SessionID(a.ID, a.Generation)
		c.emptied(a)
		a = c.Roster.Edit(id)
	}
	config := c.Configuration().Config(a)
	config.Resume = !a.NewSession
	c.Out.Emit(id, contract.Spawn{
		Name: a.Name, Mode: a.Mode, SessionID: a.SessionID, Generation: a.Generation,
		SuccessorOf: a.Predecessor, Resumed: !a.NewSession, Host: a.Host,
	})
	p := bridge.SpawnParams{AgentRef: a.AgentRef, Config: config}
	if !a.NewSession {
		p.Pending = a.Turn
	}
	c.Out.Do(effect.Spawn{Params: p, Place: c.Dirs().Place(id)})
}

// RestartAll starts the agents whose process has ended: the Arbiter at once, the others one after the other.
func (c *ProcessContext) RestartAll() { c.RestartWhere(func(*Agent) bool { return true }) }

// RestartWhere does the same for some of them.
func (c *ProcessContext) RestartWhere(want func(*Agent) bool) {
	after := time.Duration(0)
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		switch {
		case a.Status != AgentDown || !want(a):
		case a.Role == RoleArbiter:
			c.Restart(a.ID)
		default:
			after += startGap
			c.Out.Do(effect.SetTimer{Key: RestartKey(a.AgentRef), After: after})
		}
	}
}

// wantHost starts a bridge on a host on which an agent has to run.
func (c *ProcessContext) wantHost(host string) {
	if !c.Closed && !c.Halted {
		c.Lifecycle.Want(c.Out, host)
	}
}

// emptied resets what is known about an agent's context, when the context is new.
func (c *ProcessContext) emptied(a *Agent) {
	a.Context, a.CompactionBlocked, a.HandoffDemands = bridge.Context{}, false, 0
	a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel = "", "", ""
	if a.Role == RoleArbiter {
		c.CallOffRenewal()
		c.Renewal.Stage = RenewalNone
		c.Rulings.Readings = nil // another session has read nothing
	}
}

// Recall tells an agent whose history is lost what the supervisor knows about it.
func (c *ProcessContext) Recall(id string) {
	a := c.Roster.Edit(id)
	a.HasHistory = false
	var b strings.Builder
	b.WriteString("Your session's history is lost, and you begin anew. This is the supervisor's record of what " +
		"went before.\n")
	if a.Role == RoleArbiter {
		fmt.Fprintf(&b, "\n## The task\n\n%s\n\n## The plan\n\n%s\n\n## Who lives\n\n%s\n",
			cmp.Or(c.Task.Text, NothingText), PlanText(c.Task.Plan), c.Roster.LivingText())
		if a.Document != nil {
			fmt.Fprintf(&b, "\n## What the Arbiter before you left, whose place you took\n\n%s",
				DocumentText(a.Document, a.Receipts, a.GeneratedWhy))
		}
		b.WriteString("\n## The ledger of decisions\n\n" + c.Rulings.LedgerText())
	} else {
		fmt.Fprintf(&b, "\n## Your brief\n\n%s\n\n## The plan\n\n%s\n", cmp.Or(a.Brief, NothingText),
			PlanText(c.Task.Plan))
	}
	b.WriteString("\n## What was said to and by you, as far as it is kept\n")
	b.WriteString(c.Conversation.Recollect(id, max(recallChars-b.Len(), QuotedTalk), c.Roster.DisplayName))
	b.WriteString("\nFiles in the workspace are as you left them: look before you build on anything. If no message " +
		"follows this one, say where you stand.")
	c.Notify(id, KindRetry, b.String())
}

// CallOffRenewal cancels a renewal that the Arbiter has been asked for: it takes back the request for a
// document.
func (c *ProcessContext) CallOffRenewal() {
	if c.Renewal.Stage != RenewalAsked {
		return
	}
	c.Renewal.Stage = RenewalNone
	a := c.Roster.Edit(contract.Arbiter)
	demand := func(m Mail) bool { return m.To == a.ID && m.Kind == KindRenewal }
	for _, m := range slices.Concat(c.Conversation.Mail, c.Conversation.InTurn) {
		if demand(m) {
			a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(w string) bool { return w == m.Wire })
		}
	}
	c.TakeBack(demand)
	c.Conversation.InTurn = slices.DeleteFunc(slices.Clone(c.Conversation.InTurn), demand)
}

// CallBack makes every agent that ended with the run, or in a crash, ready to be started again.
func (c *ProcessContext) CallBack() {
	for i := range c.Roster.Agents {
		a := c.Roster.Edit(c.Roster.Agents[i].ID)
		if a.Dismissed || a.Status == AgentParked && a.Role == RoleOrchestrator {
			a.Status, a.Takeover = AgentEnded, nil
			continue
		}
		a.Status, a.Since, a.ToolCall, a.Backoff = AgentDown, c.Out.Now, nil, nil
		if a.Role == RoleOrchestrator && a.ReachedLimit == "" {
			c.LimitWork(a.ID) // timers ended with the process; each process has the full time
		}
	}
}

// KeepModes keeps modes whose files are gone, while an agent still works under them: without its mode, the
// agent would have tools that the mode denied.
func (c *ProcessContext) KeepModes(old []agents.Agent) {
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		if _, known := c.Options.ModeNamed(a.Mode); known || a.Mode == "" || a.Dismissed {
			continue
		}
		for _, m := range old {
			if m.Name == a.Mode {
				c.Options.Modes = append(slices.Clip(c.Options.Modes), m)
				c.Out.Emit(contract.Supervisor, contract.Notice{Text: "the file of the mode " + m.Name + " was removed; " +
					a.Name + " keeps the mode as it was"})
			}
		}
	}
}

// Placed records the directory that an agent got.
func (c *ProcessContext) Placed(a *Agent, own runconfig.Worktree) {
	if own.Branch == "" || a.Own == own {
		return
	}
	a.Own = own
	c.Out.Emit(a.ID, contract.Workspace{
		Dir: c.Dirs().Own(a.ID), Branch: own.Branch, Base: own.Base, Isolation: own.Isolation,
	})
}

// recallChars bounds the summary of a lost session for the session that follows it.
const recallChars = 60_000

// startGap spreads the starts of Orchestrators when several come back at once.
const startGap = 250 * time.Millisecond

// NothingText stands for an empty text in what a model reads.
const NothingText = "(nothing)"
