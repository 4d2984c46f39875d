package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
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

// Alive reports whether the agent can still be spoken to.
func (a *Agent) Alive() bool {
	return a.Status != Ended && a.Status != Stopping && a.Status != Parked
}

// Up reports whether it has a process that can be spoken to.
func (a *Agent) Up() bool { return a.Status == Starting || a.Status == Ready || a.Status == Busy }

// Works reports whether an Orchestrator has something to do.
func (a *Agent) Works() bool {
	return a.Role == RoleOrchestrator && a.Alive() && a.Standing == Working
}

// AgentTakeover follows an agent's session in the hands of a human.
type AgentTakeover struct {
	Takeover     *takeover.Takeover `json:",omitempty"` // a human has its session, or is about to
	ReturnNotice string             `json:",omitempty"` // told with the next message: a human had its session
}

// AgentSpending counts what an agent has cost.
type AgentSpending struct {
	CostUSD float64
	Live    bridge.Spent // of the running turn so far; not in CostUSD yet
}
