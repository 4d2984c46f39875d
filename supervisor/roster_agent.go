package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Agent is the Arbiter or an Orchestrator, in its present generation, divided into parts like [State].
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

// AgentIdentity says who an agent is, and why it was spawned.
type AgentIdentity struct {
	bridge.AgentRef
	Role        Role
	Name        string // "Orchestrator I"
	Mode        string
	Model       string // chosen for it by a human; empty: the run's, or its mode's
	SessionID   string // Claude's
	Brief       string // the work it was spawned for
	SpawnedIn   string // the Arbiter's turn that spawned it, named by one of the turn's messages
	Predecessor string
	Isolation   string `json:",omitempty"` // of its own directory; empty: it shares the run's
	Host        string `json:",omitempty"` // that it runs on; empty: the one that Arbiter runs on
	Forgotten   bool   // its records are only in the journal
}

// Role is the role of an agent in the hierarchy.
type Role string

// Alive reports whether the agent can still receive messages.
func (a *Agent) Alive() bool {
	return a.Status != AgentEnded && a.Status != AgentStopping && a.Status != AgentParked
}

// Up reports whether it has a process that can receive messages.
func (a *Agent) Up() bool {
	return a.Status == AgentStarting || a.Status == AgentReady || a.Status == AgentBusy
}

// HasProcess reports whether it has a process, even one that is being ended.
func (a *Agent) HasProcess() bool {
	return a.Up() || a.Status == AgentStopping || a.Status == AgentRestarting ||
		a.Status == InHand && a.Takeover != nil && a.Takeover.HasProcess()
}

// Works reports whether an Orchestrator has something to do.
func (a *Agent) Works() bool {
	return a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWorking
}

// AgentTakeover tracks an agent's session while a human has it.
type AgentTakeover struct {
	Takeover     *Takeover `json:",omitempty"` // a human has its session, or is about to
	ReturnNotice string    `json:",omitempty"` // sent with the next message: what a human did meanwhile
}

// AgentSpending counts what an agent has cost.
type AgentSpending struct {
	CostUSD float64
	Live    bridge.Spent // of the running turn so far; not in CostUSD yet
	Level   string       `json:",omitempty"` // of its cost limit that was reported last
	Stopped bool         `json:",omitempty"` // its turn is being stopped, because little is left of a cost limit
}

// Engaged reports whether it is an Orchestrator that works, or has asked and waits.
func (a *Agent) Engaged() bool {
	return a.Works() || a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting
}

// ContextLow reports whether the agent needs a successor: its context is nearly full, or it has reached a
// limit.
func (a *Agent) ContextLow() bool {
	return a.WarnedLevel == LevelCritical || a.CompactionBlocked || a.ReachedLimit != ""
}

// WithoutRecords returns a copy without what only successors need: the brief, the document, the last
// measurements.
func (a *Agent) WithoutRecords() *Agent {
	b := *a
	b.Brief, b.Document, b.Receipts, b.GeneratedWhy = "", nil, nil, ""
	b.Context, b.Watch, b.Turn, b.InterruptedTurn = bridge.Context{}, AgentWatch{}, nil, nil
	b.Forgotten = true
	return &b
}

// Gone reports whether an agent has ended for good.
func (a *Agent) Gone() bool { return a.Status == AgentEnded && a.Dismissed }

// Spent returns what an agent has cost, its running turn included.
func (a *Agent) Spent() float64 { return a.CostUSD + a.Live.CostUSD }

// HandoffDemand is the end of every message to an Orchestrator whose context is nearly full.
func (a *Agent) HandoffDemand() string {
	if a.ReachedLimit != "" && a.WarnedLevel != LevelCritical && !a.CompactionBlocked {
		return fmt.Sprintf("You have reached a limit: %s. Whatever this message asks: begin nothing. "+
			"Commit what is finished, then end this turn with kind handoff and the document. "+
			"What is not in it is lost; what this message told you belongs into it.", a.ReachedLimit)
	}
	return fmt.Sprintf("Your context is at its end (%.0f%% of %d tokens). Whatever this message asks: begin nothing. "+
		"Commit what is finished, then end this turn with kind handoff and the document. What is not in it is lost; "+
		"what this message told you belongs into it.", a.Context.Pct, a.Context.Window)
}

// SetTakeover sets the next value of a takeover. The old value is shared with the old state.
func (a *Agent) SetTakeover(t Takeover) { a.Takeover = &t }

// The roles.
const (
	RoleArbiter      Role = "arbiter"
	RoleOrchestrator Role = "orchestrator"
)
