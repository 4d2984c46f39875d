package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// State is all that a run knows. It is a value: apply returns a new one and
// never changes the one it was given, so that any goroutine may read an old one.
// Slices are shared between versions and copied before they are written.
type State struct {
	Options Options
	Claude  bridge.ClaudeInfo
	Began   time.Time
	Phase   machine.State

	Agents     []Agent // the Arbiter first, then the Orchestrators in order of summoning
	Summoned   int     // Orchestrators so far; the next one's number less one
	Iterations int     // entries into `executing` by a summon
	Failures   int     // failed executions in a row
	Crashes    int     // processes that ended unasked
	Exchanges  int     // messages between agents since a human spoke
	Ceiling    int     // how often the ceiling of exchanges was reached since then
	Counter    int     // messages so far; their ids derive from it

	Task     string // what the human wants, as first said
	Plan     []contract.Step
	Mail     []Mail  // messages that are not delivered yet, oldest first
	WorkLog  []Entry // reports that wait for a message to travel with
	Question *Question
	Permits  []Permit // permission requests a human has to answer
	Granted  []string // actions a human allowed for the whole run
	Offered  []string // recovery options of the last error
	Handoff  string   // the Orchestrator whose document waits for a successor

	HumanPresent bool // somebody may answer
	HumanSpoke   bool
	ToldAlone    bool // the Arbiter was told once that no human is present
	Paused       bool // by a human: nothing is sent
	Held         bool // by the ceiling: nothing is sent until a human speaks

	Usage   bridge.Usage
	CostUSD float64
	Ending  *Ending
}

// Role says what an agent is in the hierarchy.
type Role string

// The roles.
const (
	RoleArbiter      Role = "arbiter"
	RoleOrchestrator Role = "orchestrator"
)

// Status is where an agent's process stands.
type Status string

// The statuses of an agent.
const (
	Starting Status = "starting"
	Ready    Status = "ready" // no turn runs
	Busy     Status = "busy"  // a turn runs
	Stopping Status = "stopping"
	Ended    Status = "ended"
)

// Standing is where an Orchestrator stands with the Arbiter.
type Standing string

// The standings of an Orchestrator.
const (
	Working   Standing = "working"    // it has something to do
	Waiting   Standing = "waiting"    // for the Arbiter's word
	Finished  Standing = "done"       // it said `done`
	HandedOff Standing = "handed_off" // it said `handoff`
)

// Agent is the Arbiter or an Orchestrator, in its present incarnation.
type Agent struct {
	bridge.AgentRef
	Role        Role
	Name        string // "Orchestrator I"
	Mode        string
	SessionID   string // Claude's
	Status      Status
	Standing    Standing
	Since       time.Time // of Status
	Turn        []string  // ids of the messages in the running turn
	Corrections int       // how often the present verdict was asked for again
	Fallbacks   int       // how often in a row the rules decided in its place
	Troubles    int       // turns in a row lost to API trouble
	Goodbye     string    // why we are ending it: released, killed, shutdown …
	Document    *verdict.Document
	Predecessor string
	Context     bridge.Context
	Warned      string // the level of context_warning reached last
	Doing       string // the tool or subagent at hand
	CostUSD     float64
}

// Alive says whether the agent can still be spoken to.
func (a *Agent) Alive() bool { return a.Status != Ended && a.Status != Stopping }

// Works says whether an Orchestrator has something to do.
func (a *Agent) Works() bool {
	return a.Role == RoleOrchestrator && a.Alive() && a.Standing == Working
}

// Mail is a message on its way to an agent. It stays until it is delivered.
type Mail struct {
	ID       string
	From, To string
	Kind     string
	Text     string
	At       time.Time
	Strength string   // of a human's word: note, steer, stop
	Sent     bool     // written to the agent, no proof yet
	Tries    int      // sends that failed
	Carries  []string // work log entries that travel with it
}

// Entry is a report that expects no answer.
type Entry struct {
	ID      string // of its `message` event
	From    string
	Kind    string
	Text    string
	At      time.Time
	Carrier string // the message it travels with, once one is sent
}

// Question waits for a human.
type Question struct {
	Text string
	At   time.Time
}

// Permit is a permission request that waits for a human.
type Permit struct {
	Params bridge.PermissionParams
	At     time.Time
}

// Ending is set once the run is over and its agents are being stopped.
type Ending struct {
	Status  string
	Summary string
	Exit    contract.Exit
	Said    bool // `result` was said
}

// agent returns a copy of the agent named, and whether there is one.
func (s *State) agent(id string) (Agent, bool) {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.ID == id })
	if i < 0 {
		return Agent{}, false
	}
	return s.Agents[i], true
}

// AnyWorks says whether an Orchestrator has something to do.
func (s *State) AnyWorks() bool {
	return slices.ContainsFunc(s.Agents, func(a Agent) bool { return a.Works() })
}

// living counts the Orchestrators that hold a place: alive and not handed off.
func (s *State) living() int {
	n := 0
	for i := range s.Agents {
		a := &s.Agents[i]
		if a.Role == RoleOrchestrator && a.Alive() && a.Standing != HandedOff {
			n++
		}
	}
	return n
}

// Last returns the Orchestrator summoned last.
func (s *State) Last() (Agent, bool) {
	if n := len(s.Agents); n > 1 {
		return s.Agents[n-1], true
	}
	return Agent{}, false
}
