package supervisor

import (
	"cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// configureModel changes the model of an agent, or of the whole run. The CLI tries a
// model before it takes it: for the run the Arbiter's is asked, and the others follow.
func (st *step) configureModel(ref string, c contract.Configure) {
	id := cmp.Or(c.ID, contract.Arbiter)
	a, ok := st.Agent(id)
	if !ok || !a.Alive() && a.Status != roster.Parked {
		st.out.Reject(ref, "there is no living agent %q; alive: %s", id, st.AddresseesText())
		return
	}
	f := input.Configured{Agent: a.AgentRef, Model: c.Model, All: c.ID == ""}
	if a.Status != roster.Ready && a.Status != roster.Busy {
		st.out.Accept(ref, "model "+c.Model+": from the next start of "+id)
		st.configured(f)
		return
	}
	st.out.Accept(ref, "model "+c.Model+": being tried by "+id)
	st.do(effect.SetModel{Agent: f.Agent, Model: f.Model, All: f.All})
}

// configured takes the model over, for this agent or for all.
func (st *step) configured(f input.Configured) {
	a := st.Edit(f.Agent.ID)
	if a == nil {
		return
	}
	if f.Failed != "" {
		st.fail(f.Agent.ID, bridge.CatInvalidRequest, st.DisplayName(f.Agent.ID)+" did not take the model "+f.Model+
			", and keeps its own: "+f.Failed, []string{})
		return
	}
	if !f.All {
		a.Model = f.Model
		st.emit(a.ID, contract.Notice{Text: "The model of " + st.DisplayName(a.ID) + " is " + f.Model + "."})
		return
	}
	st.Options.Model, st.Options.ArbiterModel = f.Model, ""
	for i := range st.Agents {
		b := st.Edit(st.Agents[i].ID)
		if b.Model = ""; b.ID != a.ID && (b.Status == roster.Ready || b.Status == roster.Busy) {
			st.do(effect.SetModel{Agent: b.AgentRef, Model: f.Model})
		}
	}
	st.emit(contract.Supervisor, contract.Notice{Text: "The model of every agent is " + f.Model + "."})
}
