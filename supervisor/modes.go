package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// The modes that an Orchestrator can be summoned under, in this run.

// Modes are the agents of this run.
func (s *State) Modes() []agents.Agent { return s.Options.AvailableModes() }

// ModeNamed finds one of them.
func (s *State) ModeNamed(name string) (agents.Agent, bool) {
	return agents.Lookup(s.Options.AvailableModes(), name)
}

// modeNames lists their names.
func (s *State) modeNames() []string {
	return agents.Names(s.Options.AvailableModes())
}

// keepModes holds on to modes whose files are gone, while somebody lives under them: an
// agent without its mode would have tools that it was denied.
func (st *step) keepModes(old []agents.Agent) {
	for i := range st.Agents {
		a := st.Agents[i]
		if _, known := st.ModeNamed(a.Mode); known || a.Mode == "" || a.Dismissed {
			continue
		}
		for _, m := range old {
			if m.Name == a.Mode {
				st.Options.Modes = append(slices.Clip(st.Options.Modes), m)
				st.emit(contract.Supervisor, contract.Notice{Text: "the file of the mode " + m.Name + " is gone; " + a.Name + " goes on as it was"})
			}
		}
	}
}
