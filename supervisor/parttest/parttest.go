// Package parttest builds the parts of a run for tests of packages that change several of them.
package parttest

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/budget"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/delivery"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/supervisor/process"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/rulings"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/sender"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// Run returns a run with an Arbiter that is ready.
func Run(o runconfig.Options) *process.Context {
	o.Run, o.Delimiter = "run", "d"
	options, r, h, p := o.WithDefaults(), &roster.Roster{}, &handoff.State{}, &permission.State{}
	c := &process.Context{
		Context: &delivery.Context{
			Standing: rulings.Standing{Options: &options, Task: &task.State{}, Roster: r,
				Conversation: &conversation.State{}, Handoff: h},
			Rulings: &rulings.State{}, Out: &effect.Collector{Now: time.Unix(1, 0)},
			Senders: sender.Run{Roster: r, Handoff: h, Permission: p},
		},
		Lifecycle: &lifecycle.State{}, Permission: p, Question: &question.State{}, Renewal: &renewal.State{},
		Budget: &budget.State{},
	}
	c.Lifecycle.Start(bridge.ClaudeInfo{})
	r.Add(&roster.Agent{
		AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: roster.RoleArbiter, Name: "The Arbiter"},
		AgentProcess: roster.AgentProcess{Status: roster.Ready},
	})
	return c
}

// Orchestrator adds the next Orchestrator to a run, at work, with a running turn. The caller may change the
// result.
func Orchestrator(c *process.Context) *roster.Agent {
	n := c.Roster.Spawned + 1
	c.Roster.Spawned = n
	c.Roster.Add(&roster.Agent{
		AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: roster.OrchestratorID(n), Generation: 1},
			Role: roster.RoleOrchestrator, Name: roster.OrchestratorName(n)},
		AgentProcess: roster.AgentProcess{Status: roster.Busy},
		AgentWork:    roster.AgentWork{Standing: roster.Working},
	})
	return c.Roster.Edit(roster.OrchestratorID(n))
}

// Did returns the effects of one kind so far.
func Did[E effect.Effect](c *process.Context) (list []E) {
	for _, e := range c.Out.Effects() {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// Emitted returns the bodies of the events of one kind so far.
func Emitted[B contract.Body](c *process.Context) (list []B) {
	for _, e := range Did[effect.Emit](c) {
		if b, ok := e.Event.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}
