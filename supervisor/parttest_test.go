package supervisor

// This file builds the parts of a run for tests of packages that change several of them.

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// PartsRun returns a run with an Arbiter that is ready.
func PartsRun(o runconfig.Options) *ProcessContext {
	o.Run, o.Delimiter = "run", "d"
	options, r, h, p := o.WithDefaults(), &Roster{}, &HandoffState{}, &input.PermissionState{}
	c := &ProcessContext{
		DeliveryContext: &DeliveryContext{
			RulingStanding: RulingStanding{Options: &options, Task: &TaskState{}, Roster: r,
				Conversation: &ConversationState{}, Handoff: h},
			Rulings: &RulingState{}, Out: &effect.Collector{Now: time.Unix(1, 0)},
			Senders: SenderRun{Roster: r, Handoff: h, Permission: p},
		},
		Lifecycle: &LifecycleState{}, Permission: p, Question: &QuestionState{}, Renewal: &RenewalState{},
		Budget: &BudgetState{},
	}
	c.Lifecycle.Start(bridge.ClaudeInfo{})
	r.Add(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: RoleArbiter, Name: "The Arbiter"},
		AgentProcess: AgentProcess{Status: AgentReady},
	})
	return c
}

// PartsOrchestrator adds the next Orchestrator to a run, at work, with a running turn. The caller may change the
// result.
func PartsOrchestrator(c *ProcessContext) *Agent {
	n := c.Roster.Spawned + 1
	c.Roster.Spawned = n
	c.Roster.Add(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: OrchestratorID(n), Generation: 1},
			Role: RoleOrchestrator, Name: OrchestratorName(n)},
		AgentProcess: AgentProcess{Status: AgentBusy},
		AgentWork:    AgentWork{Standing: AgentWorking},
	})
	return c.Roster.Edit(OrchestratorID(n))
}

// Did returns the effects of one kind so far.
func Did[E effect.Effect](c *ProcessContext) (list []E) {
	for _, e := range c.Out.Effects() {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// Emitted returns the bodies of the events of one kind so far.
func Emitted[B contract.Body](c *ProcessContext) (list []B) {
	for _, e := range Did[effect.Emit](c) {
		if b, ok := e.Event.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}
