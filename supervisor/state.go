package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
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

	LifeBegan time.Time     // of this process
	LastAt    time.Time     // of the last fact that counts
	Lived     time.Duration // of earlier processes
	Lives     int           // processes so far

	Agents     []*Agent // the Arbiter first, then the Orchestrators in order of summoning
	Summoned   int      // Orchestrators so far; the next one's number less one
	Iterations int      // entries into `executing` by a summon, for this task
	Failures   int      // failed executions in a row
	Crashes    int      // processes that ended unasked
	Exchanges  int      // messages between agents since a human spoke
	Ceiling    int      // how often the ceiling of exchanges was reached since then
	Counter    int      // messages so far; their ids derive from it
	Salt       string   // and from this, of the present life

	Task  string // what the human wants, as first said
	Plan  []contract.Step
	Tasks []contract.Tasks // what agents keep in lists of their own

	TotalFailures int                 // failed executions of this task
	History       decision.History    // of its executions
	LastError     *decision.Failure   // that nobody has got over yet
	Decisions     int                 // rulings of the run, whoever made them
	Posed         *Posed              // what the Arbiter was shown with the message it rules on
	Readings      []Reading           // what it has taken up since it last ruled, oldest first
	Deciding      *Posed              // what another decider is asked
	Questions     int                 // put to it so far
	Yielded       bool                // that one leaves it to the Arbiter
	Unnoted       []Decided           // decisions that are not recorded yet
	Regency       string              // why the rules decide in the Arbiter's place; empty: they do not
	Mail          []Mail              // messages that are not delivered yet, oldest first
	Backlog       []backlog           `json:",omitempty"` // of a human's words, behind those
	Underway      []Mail              // delivered, and their turn is not over
	Talk          []*contract.Message // what was said last, oldest first
	Ledger        Ledger
	Restarts      restart.History
	BridgeUp      bool // there is one to speak to
	BridgeGone    bool // the one on its way is lost already
	BridgeMute    int  // looks in a row that the bridge did not answer
	MuteAt        time.Time
	Waking        bool    // agents come back; then see that the talk goes on
	Back          string  `json:",omitempty"` // whose session a human gave back meanwhile
	WorkLog       []Entry // reports that wait for a message to travel with
	Question      *Question
	Permits       []Permit // permission requests a human has to answer
	// Orphans are requests of processes that are gone with an earlier life. Each is open
	// again, under its id, when its agent asks for the same action again.
	Orphans       []Permit    `json:",omitempty"`
	Answered      []Answered  // answers to orphans
	PolicyChanges int         // how often mode, rules or grants were changed
	Reconsidering int         `json:",omitempty"` // Reconsider effects that have not ended
	Granted       []string    // actions a human allowed for the whole run
	GrantedRules  []string    // rules, likewise
	Asked         []Asked     // questions to a predecessor that is being started again
	Offered       []string    // recovery options of the last error, until one is taken
	Troubled      string      // whose error it was
	Handoffs      []string    // the Orchestrators whose documents wait for a successor, oldest first
	Handovers     []Handover  // documents on their way, oldest first
	Serial        int         // of the last of them
	Proof         Proof       // of the last `done`
	Proofs        []Proved    // the checks of the task's documents, oldest first
	Outworn       Proof       // of those before them
	Completing    *Completing // a COMPLETE that waits for them to be repeated
	SentBack      int         // how often one went back for them
	Rulings       []Ruling    // the ledger of decisions, oldest first
	Renewal       string      // stage of the Arbiter's renewal
	Renewals      int         // of the Arbiter so far
	Records       int         // of them, in a row, those without a document of its own
	RuledSince    int         // rulings since the last renewal
	Short         int         // renewals in a row that were due again at once

	HumanPresent bool // somebody may answer
	HumanSpoke   bool
	ToldAlone    bool      // the Arbiter was told once that no human is present
	Paused       bool      // by a human: nothing is sent
	Halted       bool      // and nobody has a process
	Halts        int       // commands to halt that were taken
	Distrust     *Distrust `json:",omitempty"` // what keeps agents from being started
	Held         bool      // by the ceiling: nothing is sent until a human speaks

	Usage   bridge.Usage
	CostUSD float64
	Ending  *Ending
}

// Proof is what the checks of the last `done` came to.
type Proof struct {
	Agent                string
	Passed, Failed, Open int
	Doubted              bool // the Arbiter was told that it completes over failed ones
}

// Ledger counts what became of messages to agents.
type Ledger struct {
	Posted    int `json:"posted"`
	Sent      int `json:"sent"`              // written to an agent, repeats included
	Seen      int `json:"seen"`              // proven to have been taken up
	Resent    int `json:"resent"`            // written again for want of proof
	Swallowed int `json:"swallowed"`         // not taken up even then; the agent was restarted
	Requeued  int `json:"requeued"`          // lost with a process, and queued again
	Returned  int `json:"returned"`          // their reader was let go before it read them
	Shelved   int `json:"shelved,omitempty"` // became reports of the work log: they were ruled on without the Arbiter
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
	Starting   Status = "starting"
	Down       Status = "down"       // the process is gone; another follows
	Restarting Status = "restarting" // it is being ended, and another follows
	Parked     Status = "parked"     // it failed too often; a human has to say so
	Ready      Status = "ready"      // no turn runs
	Busy       Status = "busy"       // a turn runs
	InHand     Status = "taken"      // a human has its session (Agent.Taken)
	Stopping   Status = "stopping"
	Ended      Status = "ended"
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
	Model       string // that a human chose for it; empty: the run's, or its mode's
	SessionID   string // Claude's
	Status      Status
	Standing    Standing
	Since       time.Time     // of Status
	Turn        []string      // ids of the messages in the running turn
	Corrections int           // how often the present verdict was asked for again
	Fallbacks   int           // how often in a row the rules decided in its place
	Troubles    int           // turns in a row lost to API trouble
	APIFailures int           // those of them that were no overload and no limit
	Goodbye     string        // why we are ending it: released, killed, shutdown …
	Dismissed   bool          // its end was its own, not the run's: it does not come back
	Spoken      bool          // its session has a history
	Fresh       bool          // its next process begins a new session
	Class       restart.Class // why it is Restarting
	Cause       string        // the same in words
	Brief       string        // what it was summoned for
	Within      string        // the Arbiter's turn it was summoned in, by a message of it
	Redo        []string      // messages of a turn that its process's end cut off, and that goes on
	Watch       Watch
	Document    *verdict.Document // the last one about its work
	Receipts    []verdict.Receipt // of the document's checks
	Paper       int               // serial of the document
	DrawnUp     string            // why the supervisor wrote it; empty: it did itself
	Taken       *Taken            `json:",omitempty"` // a human has its session, or is about to
	Returned    string            `json:",omitempty"` // told with the next message: a human had its session
	Predecessor string
	Forgotten   bool // what it left is only in the journal
	Context     bridge.Context
	Warned      string // the level of context_warning reached last
	Told        string // the level its model was told in a turn that is over
	Telling     string // the same in the running turn: a crash may have lost it
	Cornered    bool   // a compaction was prevented: there is no room left
	Curbed      bool   // its turn is being stopped for that
	Compactions int
	Demands     int      // how often it was told to hand off
	Inheritance string   // of a new Arbiter: goes with the first message it reads
	Doing       string   // the tool or subagent at hand
	At          *AtTool  // the tool call at hand; only told, not kept over a fold
	Backoff     *Backoff `json:",omitempty"` // it waits for another attempt
	Work        *Work    // the execution under way
	Assigned    int      // the step of the plan it was chosen for, counted from 1; 0: none
	Unheard     int      // questions in a row that nobody ruled on
	Turns       int      // of this Orchestrator's, that answered a message
	Limited     string   // which limit of its mode it has reached
	CostUSD     float64
	Live        bridge.Spent // of the running turn so far; not in CostUSD yet
	Delivered   int          `json:",omitempty"` // messages and reports that it was proven to have read
}

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

// Mail is a message on its way to an agent. It stays until it is delivered.
type Mail struct {
	ID       string
	From, To string
	Kind     string
	Text     string
	At       time.Time
	Strength string     // of a human's word: note, steer, stop
	Sent     bool       // written to the agent, no proof yet
	Wire     string     // the id it went out under; another one after its process died
	Content  string     // as it was sent: sent again, it is the same
	Resent   bool       // written twice under the same id
	Told     bool       // `delivered` was said
	Tries    int        // sends that failed
	Carries  []string   // work log entries that travel with it
	Inherits bool       // the Arbiter's inheritance travels with it
	Heirloom int        // bytes that it takes at the head of Content
	Stumble  bool       // a question that a failed tool led to: the execution is over
	Attached []Attached `json:",omitempty"` // parts that are not the sender's own word
}

// Entry is a report that expects no answer.
type Entry struct {
	ID      string // of its `message` event
	From    string
	Kind    string
	Text    string
	At      time.Time
	Carrier string // the message it travels with, once one is sent
	Quiet   bool   // it was announced by another event
	Shelved bool   `json:",omitempty"` // it was a message of its own, and was ruled on without its reader
}

// Question waits for a human.
type Question struct {
	Text     string
	At       time.Time
	Arbiter  bool `json:",omitempty"` // asked it, and is to read the answer; else the supervisor did
	Recalled bool `json:",omitempty"` // the Arbiter was told that it completes over it
}

// Permit is a permission request that waits for a human.
type Permit struct {
	ID     string // of the first request: it outlives the process that asked
	Params bridge.PermissionParams
	Action string // PermissionAsked.Action
	Why    string `json:",omitempty"` // it is asked about: a rule, or the mode
	At     time.Time
	// Suggestions are rules that would cover it.
	Suggestions []string
}

// Answered is a human's answer that waits for its question to be asked again.
type Answered struct {
	Agent    string
	Action   string // actionKey
	Behavior string
	Message  string
}

// Asked is a side question that waits until the one it is for is back.
type Asked struct {
	Call     string // of ask_predecessor
	Of       string
	Question string
}

// Ending is set once the run is over and its agents are being stopped.
type Ending struct {
	Status  string
	Summary string
	Exit    contract.Exit
	Said    bool          // `result` was said
	Was     machine.State // where the task stood
	// HalfDone is what was being done when the run was stopped.
	HalfDone []string
	// What was open is asked again when the run is taken up again.
	Question *Question
	Permits  []Permit
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
