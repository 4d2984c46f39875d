package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agentconfig"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// Configuration is what the process of each agent is started with.
func (s *State) Configuration() agentconfig.Run {
	return agentconfig.Run{Dirs: s.Dirs(), Task: s.Task.Text, Plan: s.Task.Plan, Spent: s.Spent(),
		Untrusted: s.Lifecycle.Untrusted()}
}

// Dirs says where the agents work.
func (s *State) Dirs() roster.Dirs {
	return s.Lifecycle.Dirs(&s.Options, &s.Roster)
}

// remind renews what an agent reads after a compaction.
func (st *step) remind(a *roster.Agent) {
	st.do(effect.Configure{Params: bridge.ConfigureParams{AgentRef: a.AgentRef, Reminder: st.Configuration().Reminder(a)}})
}

// keepModes holds on to modes whose files are gone, while somebody lives under them: an
// agent without its mode would have tools that it was denied.
func (st *step) keepModes(old []agents.Agent) {
	for i := range st.Agents {
		a := st.Agents[i]
		if _, known := st.Options.ModeNamed(a.Mode); known || a.Mode == "" || a.Dismissed {
			continue
		}
		for _, m := range old {
			if m.Name == a.Mode {
				st.Options.Modes = append(slices.Clip(st.Options.Modes), m)
				st.emit(contract.Supervisor, contract.Notice{Text: "the file of the mode " + m.Name + " is gone; " +
					a.Name + " goes on as it was"})
			}
		}
	}
}
