package supervisor

// This part of the package holds the agents of a run and their state.
//
// An [Agent] is the Arbiter or an Orchestrator in its current generation. Its parts describe its process, turn,
// context, work, documents and cost, and the human who has taken over its session. The package only answers questions
// about agents; package supervisor changes them.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Roster holds the agents of a run.
//
// It is a value that is copied with the state it is part of: agents are shared between copies until [Roster.Edit] or
// [Roster.Add] replaces them.
type Roster struct {
	Agents  []*Agent // the Arbiter first, then the Orchestrators in order of spawning
	Spawned int      // Orchestrators so far; the next one's number minus one

	own []*Agent // not shared with an earlier state
}

// Engaged reports whether an Orchestrator works, or has asked and waits.
func (r *Roster) Engaged() bool { return r.EngagedBeside("") }

// EngagedBeside reports the same for all Orchestrators but one.
func (r *Roster) EngagedBeside(id string) bool {
	for _, a := range r.Agents {
		if a.ID == id && id != "" {
			continue
		}
		if a.Engaged() {
			return true
		}
	}
	return false
}

// Add appends an agent, which belongs to the roster from then on.
func (r *Roster) Add(a *Agent) { r.Agents, r.own = append(slices.Clip(r.Agents), a), append(r.own, a) }

// Freeze ends the editing of this copy: agents that are edited later are copied again. Call it before the
// roster is shared.
func (r *Roster) Freeze() { r.own = nil }

// Agent returns a copy of an agent by its id, and whether it exists.
func (r *Roster) Agent(id string) (Agent, bool) {
	i := slices.IndexFunc(r.Agents, func(a *Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return *r.Agents[i], true
}

// HostOf is the host that an agent runs on.
func (r *Roster) HostOf(id string) string {
	a, _ := r.Agent(id)
	return a.Host
}

// Needs reports whether an agent runs on a host, or will.
func (r *Roster) Needs(host string) bool {
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool {
		return a.Host == host && a.Status != AgentEnded && a.Status != AgentParked
	})
}

// AnyWorks reports whether an Orchestrator has something to do.
func (r *Roster) AnyWorks() bool {
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool { return a.Works() })
}

// LivingCount counts the Orchestrators that hold a place: alive and not handed off.
func (r *Roster) LivingCount() int {
	n := 0
	for _, a := range r.Agents {
		if a.Role == RoleOrchestrator && a.Alive() && a.Standing != HandedOff {
			n++
		}
	}
	return n
}

// Last returns the Orchestrator spawned last.
func (r *Roster) Last() (Agent, bool) {
	if n := len(r.Agents); n > 1 {
		return *r.Agents[n-1], true
	}
	return Agent{}, false
}

// Edit returns a writable agent, or nil.
func (r *Roster) Edit(id string) *Agent {
	i := slices.IndexFunc(r.Agents, func(a *Agent) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	if !slices.Contains(r.own, r.Agents[i]) {
		if r.own == nil {
			r.Agents = slices.Clone(r.Agents)
		}
		a := *r.Agents[i]
		r.Agents[i], r.own = &a, append(r.own, &a)
	}
	return r.Agents[i]
}

// LivingText names the living Orchestrators and their standing.
func (r *Roster) LivingText() string {
	var list []string
	for _, a := range r.Agents {
		if a.Role == RoleOrchestrator && a.Alive() {
			list = append(list, fmt.Sprintf("%s %s", a.ID, a.Standing))
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// AddresseesText names all agents that can receive messages, the Arbiter first, for the human.
func (r *Roster) AddresseesText() string {
	if r.LivingText() == "none" {
		return "arbiter"
	}
	return "arbiter, " + r.LivingText()
}

// OrchestratorID is the id of the nth Orchestrator, counted from 1.
func OrchestratorID(n int) string { return fmt.Sprintf("orch-%d", n) }

// OrchestratorName is the name of the nth Orchestrator, counted from 1.
func OrchestratorName(n int) string { return "Orchestrator " + contract.Roman(n) }

// IsOrchestrator reports whether an id is that of an Orchestrator.
func (r *Roster) IsOrchestrator(id string) bool {
	a, ok := r.Agent(id)
	return ok && a.Role == RoleOrchestrator
}

// Shown returns the Orchestrators that are listed for an Arbiter, in order of spawning: all living ones, and
// those that ended last. The second result counts the rest.
func (r *Roster) Shown() ([]*Agent, int) {
	var list []*Agent
	gone, others := 0, r.Spawned // minus those in the roster
	for _, a := range r.Agents {
		if a.Role == RoleOrchestrator {
			if others--; a.Gone() {
				gone++
			}
		}
	}
	for _, a := range r.Agents {
		switch {
		case a.Role != RoleOrchestrator:
		case !a.Gone():
			list = append(list, a)
		default:
			if gone--; gone < GoneShown {
				list = append(list, a)
			} else {
				others++
			}
		}
	}
	return list, others
}

// OthersText reports the Orchestrators that Shown leaves out.
func OthersText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("- and %d before them, gone\n", n)
}

// HasSuccessor reports whether a successor of the agent was spawned.
func (r *Roster) HasSuccessor(id string) bool {
	for i := range r.Agents {
		if r.Agents[i].Predecessor == id {
			return true
		}
	}
	return false
}

// ModeEngagedBeside reports whether another Orchestrator of a mode works, or has asked and waits.
func (r *Roster) ModeEngagedBeside(mode, id string) bool {
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool { return a.ID != id && a.Mode == mode && a.Engaged() })
}

// WasForgotten reports whether an id was that of an Orchestrator that the state has forgotten.
func (r *Roster) WasForgotten(id string) bool {
	number, ok := strings.CutPrefix(id, "orch-")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= 1 && n <= r.Spawned && OrchestratorID(n) == id
}

// AnyWaiting reports whether an Orchestrator has asked and waits.
func (r *Roster) AnyWaiting() bool {
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool {
		return a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting
	})
}

// A run can have any number of generations, so nothing may grow with each one. An agent that ended for good
// keeps its name and its place; its records are in the journal, and the state keeps as much of them as may
// still be needed.
const (
	RecordsKept = 20 // Orchestrators that have ended, with their briefs and documents
	NamesKept   = 50 // Orchestrators that have ended, with what happened to them
	GoneShown   = 10 // Orchestrators that have ended, listed for an Arbiter
)
