package supervisor

import (
	"path"
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// AgentDirs determines where the agents of a run work: in the run's directory, or in directories of their own.
type AgentDirs struct {
	Options *runconfig.Options
	Roster  *Roster
	HostDir func(host string) string // where agents of another host work; empty: it is not known yet
}

// Own is the working directory of an agent with a directory of its own; empty: it shares the run's.
func (d AgentDirs) Own(id string) string {
	if d.Place(id).Agent == "" {
		return ""
	}
	if a, _ := d.Roster.Agent(id); a.Host != "" {
		top := d.topOn(a.Host, id)
		if top == "" {
			return ""
		}
		return path.Join(top, d.Options.Workspace.Prefix)
	}
	return d.Options.Workspace.Dir(id)
}

// topOn is the top of an agent's own directory on another host; empty if that host was never up.
func (d AgentDirs) topOn(host, id string) string {
	dir := d.HostDir(host)
	if dir == "" {
		return ""
	}
	return path.Join(dir, d.Options.Run[:min(len(d.Options.Run), 8)], id)
}

// Place describes the directory to create for an agent; zero: it shares the run's.
func (d AgentDirs) Place(id string) runconfig.Place {
	a, ok := d.Roster.Agent(id)
	switch {
	case !ok:
	case a.Role == RoleArbiter && d.Options.Workspace.Isolated():
		return runconfig.Place{Agent: id, Generation: a.Generation}
	case a.Isolation != "":
		p := runconfig.Place{Agent: id, Generation: a.Generation, Kind: a.Isolation, After: a.Predecessor}
		if d.Options.Sandbox != nil { // the sandbox must not let it write to the user's Git directory
			p.Kind = runconfig.IsolationClone
		}
		return p
	}
	return runconfig.Place{}
}

// Of is the working directory of an agent.
func (d AgentDirs) Of(id string) string {
	if dir := d.Own(id); dir != "" {
		return dir
	}
	return d.Options.CWD
}

// Result is the directory with the files that the run delivers: there checks are repeated and criteria are
// judged.
func (d AgentDirs) Result() string {
	if d.Options.Workspace.Isolated() {
		return d.Options.Workspace.Dir(contract.Arbiter)
	}
	return d.Options.CWD
}

// Sandbox is the sandbox of a process that works in a directory; nil: none.
func (d AgentDirs) Sandbox(dir string) *bridge.SandboxConfig {
	o := d.Options
	if o.Sandbox == nil || dir == o.CWD {
		return o.Sandbox
	}
	cfg := *o.Sandbox
	top := dir
	for _, a := range d.Roster.Agents { // the agent starts in the same place below the top as the run does
		switch {
		case d.Own(a.ID) != dir:
		case a.Host != "": // its port knows the rest
			top = d.topOn(a.Host, a.ID)
			return &bridge.SandboxConfig{Program: o.Sandbox.Program, Write: []string{top}, Reach: []string{top},
				Network: o.Sandbox.Network, Hosts: o.Sandbox.Hosts}
		default:
			top = o.Workspace.Top(a.ID)
		}
	}
	cfg.Write = append(slices.Clone(cfg.Write), top)
	if o.Workspace.Objects != "" {
		cfg.Read = append(slices.Clone(cfg.Read), o.Workspace.Objects)
	}
	cfg.Reach = append(slices.Clone(cfg.Reach), top) // it lies in the state directory, which is hidden
	return &cfg
}
