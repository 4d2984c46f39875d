package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Where agents work: in the run's directory, or in a directory of their own, whose work is merged when they are done.

// OwnDir is where an agent starts that has a directory of its own; empty: it shares the run's.
func (s *State) OwnDir(id string) string {
	if s.place(id).Agent == "" {
		return ""
	}
	return s.Options.Workspace.Dir(id)
}

// place is what an agent's directory is asked for with; zero: it shares the run's.
func (s *State) place(id string) runconfig.Place {
	a, ok := s.Agent(id)
	switch {
	case !ok:
	case a.Role == roster.RoleArbiter && s.Options.Workspace.Isolated():
		return runconfig.Place{Agent: id, Generation: a.Generation}
	case a.Isolation != "":
		p := runconfig.Place{Agent: id, Generation: a.Generation, Kind: a.Isolation, After: a.Predecessor}
		if s.Options.Sandbox != nil { // which must not let it write to the user's Git directory
			p.Kind = runconfig.IsolationClone
		}
		return p
	}
	return runconfig.Place{}
}

// dirOf is where an agent starts.
func (s *State) dirOf(id string) string {
	if dir := s.OwnDir(id); dir != "" {
		return dir
	}
	return s.Options.CWD
}

// resultDir has the files that the run delivers: where checks are repeated and criteria are judged.
func (s *State) resultDir() string {
	if s.Options.Workspace.Isolated() {
		return s.Options.Workspace.Dir(contract.Arbiter)
	}
	return s.Options.CWD
}

// checkDir is where the checks of a document run: where the work was done, and again where it was merged.
func (s *State) checkDir(h *handoff.Handover) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return s.resultDir()
	}
	return s.dirOf(h.Agent.ID)
}

// sandboxIn is what confines a process that works in a directory; nil: nothing does.
func (s *State) sandboxIn(dir string) *bridge.SandboxConfig {
	o := s.Options
	if o.Sandbox == nil || dir == o.CWD {
		return o.Sandbox
	}
	cfg := *o.Sandbox
	top := dir
	for _, a := range s.Agents { // the agent starts below the top where the run does
		if s.OwnDir(a.ID) == dir {
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

// mustMerge reports whether a document waits for its author's work to be merged.
func (s *State) mustMerge(h *handoff.Handover) bool {
	a, ok := s.Agent(h.Agent.ID)
	return ok && h.Kind == handoff.KindDone && h.Merged == nil && a.Isolation != ""
}
