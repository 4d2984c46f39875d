package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
)

// RosterState holds the agents of a run.
type RosterState struct {
	Agents   []*Agent // the Arbiter first, then the Orchestrators in order of summoning
	Summoned int      // Orchestrators so far; the next one's number less one
}

// Agent is the Arbiter or an Orchestrator, in its present incarnation, in parts as [State]
// has them.
type Agent struct {
	AgentIdentity
	AgentProcess
	AgentTurn
	AgentContext
	AgentWork
	AgentHandoff
	AgentTakeover
	AgentSpending
}

// AgentIdentity says who an agent is, and why it was summoned.
type AgentIdentity struct {
	bridge.AgentRef
	Role        Role
	Name        string // "Orchestrator I"
	Mode        string
	Model       string // that a human chose for it; empty: the run's, or its mode's
	SessionID   string // Claude's
	Brief       string // what it was summoned for
	SummonedIn  string // the Arbiter's turn it was summoned in, by a message of it
	Predecessor string
	Forgotten   bool // what it left is only in the journal
}

// Role says what an agent is in the hierarchy.
type Role string

// The roles.
const (
	RoleArbiter      Role = "arbiter"
	RoleOrchestrator Role = "orchestrator"
)

// Alive says whether the agent can still be spoken to.
func (a *Agent) Alive() bool {
	return a.Status != Ended && a.Status != Stopping && a.Status != Parked
}

// Up says whether it has a process that can be spoken to.
func (a *Agent) Up() bool { return a.Status == Starting || a.Status == Ready || a.Status == Busy }

// Works says whether an Orchestrator has something to do.
func (a *Agent) Works() bool {
	return a.Role == RoleOrchestrator && a.Alive() && a.Standing == Working
}

// agent returns a copy of the agent named, and whether there is one.
func (s *State) agent(id string) (Agent, bool) {
	i := slices.IndexFunc(s.Agents, func(a *Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return *s.Agents[i], true
}

// AnyWorks says whether an Orchestrator has something to do.
func (s *State) AnyWorks() bool {
	return slices.ContainsFunc(s.Agents, func(a *Agent) bool { return a.Works() })
}

// living counts the Orchestrators that hold a place: alive and not handed off.
func (s *State) living() int {
	n := 0
	for _, a := range s.Agents {
		if a.Role == RoleOrchestrator && a.Alive() && a.Standing != HandedOff {
			n++
		}
	}
	return n
}

// Last returns the Orchestrator summoned last.
func (s *State) Last() (Agent, bool) {
	if n := len(s.Agents); n > 1 {
		return *s.Agents[n-1], true
	}
	return Agent{}, false
}
