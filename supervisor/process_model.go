package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// ConfigureModel changes the model of an agent, or of the whole run. The CLI tries a model before it accepts
// it: for the whole run the Arbiter's process tries it, and the others follow.
func (c *ProcessContext) ConfigureModel(ref string, given contract.Configure) {
	id := cmp.Or(given.ID, contract.Arbiter)
	a, ok := c.Roster.Agent(id)
	if !ok || !a.Alive() && a.Status != AgentParked {
		c.Out.Reject(ref, "there is no living agent %q; alive: %s", id, c.Roster.AddresseesText())
		return
	}
	f := input.Configured{Agent: a.AgentRef, Model: given.Model, All: given.ID == ""}
	if a.Status != AgentReady && a.Status != AgentBusy {
		c.Out.Accept(ref, "model "+given.Model+": from the next start of "+id)
		c.Configured(f)
		return
	}
	c.Out.Accept(ref, "model "+given.Model+": being tried by "+id)
	c.Out.Do(effect.SetModel{Agent: f.Agent, Model: f.Model, All: f.All})
}

// Configured records a model that the CLI has accepted, for one agent or for all.
func (c *ProcessContext) Configured(f input.Configured) {
	a := c.Roster.Edit(f.Agent.ID)
	if a == nil {
		return
	}
	if f.Failed != "" {
		c.Question.Recovery.Fail(c.Out, f.Agent.ID, bridge.CatInvalidRequest, c.Roster.DisplayName(f.Agent.ID)+
			" did not take the model "+f.Model+", and keeps its own: "+f.Failed, []string{})
		return
	}
	if !f.All {
		a.Model = f.Model
		c.Out.Emit(a.ID, contract.Notice{Text: "The model of " + c.Roster.DisplayName(a.ID) + " is " + f.Model + "."})
		return
	}
	c.Options.Model, c.Options.ArbiterModel = f.Model, ""
	for i := range c.Roster.Agents {
		b := c.Roster.Edit(c.Roster.Agents[i].ID)
		if b.Model = ""; b.ID != a.ID && (b.Status == AgentReady || b.Status == AgentBusy) {
			c.Out.Do(effect.SetModel{Agent: b.AgentRef, Model: f.Model})
		}
	}
	c.Out.Emit(contract.Supervisor, contract.Notice{Text: "The model of every agent is " + f.Model + "."})
}
