package supervisor

// This part of the package holds the agents of a run and their state.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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

// EngagedBeside reports whether an Orchestrator besides one works, or has asked and waits.
func (r *Roster) EngagedBeside(id string) bool {
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool { return a.ID != id && a.Engaged() })
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

// AnyWorks reports whether an Orchestrator has something to do.
func (r *Roster) AnyWorks() bool {
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool { return a.Works() })
}

// LivingCount counts the Orchestrators that hold a place.
func (r *Roster) LivingCount() int { return r.count((*Agent).holdsPlace) }

// count counts agents.
func (r *Roster) count(which func(*Agent) bool) (n int) {
	for _, a := range r.Agents {
		if which(a) {
			n++
		}
	}
	return n
}

// holdsPlace reports whether an agent is an Orchestrator that is alive and has not handed off.
func (a *Agent) holdsPlace() bool {
	return a.Role == RoleOrchestrator && a.Alive() && a.Standing != HandedOff
}

// Last returns the Orchestrator spawned last.
func (r *Roster) Last() (Agent, bool) {
	if n := len(r.Agents); n > 1 {
		return *r.Agents[n-1], true
	}
	return Agent{}, false
}

// Edit returns a writable agent, or nil. Within a step it copies the agent once: the pointer stays valid until the
// roster is frozen, and every later call returns the same one.
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

// IsOrchestrator reports whether an id is that of an Orchestrator.
func (r *Roster) IsOrchestrator(id string) bool {
	a, ok := r.Agent(id)
	return ok && a.Role == RoleOrchestrator
}

// Shown returns the Orchestrators that are listed for an Arbiter, in order of spawning: all living ones, and
// those that ended last. The second result counts the rest.
func (r *Roster) Shown() ([]*Agent, int) {
	var list []*Agent
	gone := 0
	for _, a := range slices.Backward(r.Agents) {
		if a.Gone() {
			gone++
		}
		if a.Role == RoleOrchestrator && !(a.Gone() && gone > GoneShown) {
			list = append(list, a)
		}
	}
	slices.Reverse(list)
	return list, r.Spawned - len(list)
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
	return slices.ContainsFunc(r.Agents, func(a *Agent) bool { return a.Predecessor == id })
}

// WasForgotten reports whether an id was that of an Orchestrator that the state has forgotten.
func (r *Roster) WasForgotten(id string) bool {
	number, ok := strings.CutPrefix(id, "orch-")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= 1 && n <= r.Spawned && fmt.Sprintf("orch-%d", n) == id
}

// A run can have any number of generations, so nothing may grow with each one. An agent that ended for good
// keeps its name and its place; its records are in the journal, and the state keeps as much of them as may
// still be needed.
const (
	RecordsKept = 20 // Orchestrators that have ended, with their briefs and documents
	NamesKept   = 50 // Orchestrators that have ended, with what happened to them
	GoneShown   = 10 // Orchestrators that have ended, listed for an Arbiter
)

// Agent is the Arbiter or an Orchestrator, in its present generation, divided into parts like [State].
type Agent struct {
	AgentIdentity
	AgentMake
	AgentProcess
	AgentTurn
	AgentContext
	AgentWork
	AgentHandoff
	AgentTakeover
	AgentSpending
	AgentRhythm
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

// AgentMake says what program an agent is; the zero value: Claude.
type AgentMake struct {
	Make        string   `json:",omitempty"`
	MakeSession string   `json:",omitempty"` // the make's own id of the session
	Lacks       []string `json:",omitempty"` // what it cannot do, in words
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

// Waits reports whether its start waits for the starts before it.
func (a *Agent) Waits() bool { return a.Status == AgentDown && !a.Start.Queued.IsZero() }

// StatusText is the status for people and models: "queued" for one that waits to start.
func (a *Agent) StatusText() string {
	if a.Waits() {
		return "queued"
	}
	return string(a.Status)
}

// Leaving reports whether its process is being ended, and no other follows unless somebody decides so.
func (a *Agent) Leaving() bool {
	return a.Status == AgentStopping || a.Status == AgentParked && a.EndReason != ""
}

// HasProcess reports whether it has a process, even one that is being ended.
func (a *Agent) HasProcess() bool {
	return a.Up() || a.Leaving() || a.Status == AgentRestarting ||
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
	// CostUnknown says that some of its turns have cost what nobody knows.
	CostUnknown bool         `json:",omitempty"`
	Live        bridge.Spent // of the running turn so far; not in CostUSD yet
	Level       string       `json:",omitempty"` // of its cost limit that was reported last
	Stopped     bool         `json:",omitempty"` // its turn is being stopped, because little is left of a cost limit
	Fuse        AgentFuse    `json:",omitzero"`
	// Subagents are those of the running turn that work, by the calls that started them.
	Subagents []string `json:",omitempty"`
}

// AgentFuse is what an Orchestrator may cost before it is parked. Successors share one, until another is set for them.
type AgentFuse struct {
	USD   float64 // 0: none
	From  float64 `json:",omitempty"` // what its agent had cost when it was set
	Level string  `json:",omitempty"` // that was reported last: one of a cost limit
	Nth   int     `json:",omitempty"` // of those that were set for this work since a human said something
}

// FuseSpent is how much of its fuse an agent has spent.
func (a *Agent) FuseSpent() float64 { return max(a.Spent()-a.Fuse.From, 0) }

// AgentRhythm counts what an agent repeats.
type AgentRhythm struct {
	// Stalled counts messages in a row of an Orchestrator during which no file changed; of the Arbiter, the documents that
	// it got in a row.
	Stalled int    `json:",omitempty"`
	Failing string `json:",omitempty"` // the tool call that failed last, if nothing else ran since
	Fails   int    `json:",omitempty"` // how often in a row it failed
	// RefusedSubagents counts the subagents that a limit refused to the running turn since one has started.
	RefusedSubagents int `json:",omitempty"`
}

// Engaged reports whether it is an Orchestrator that works, or has asked and waits.
func (a *Agent) Engaged() bool {
	return a.Works() || a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting
}

// ReadsOnly says why an Orchestrator may only read now; empty: it may do more. commits: it may commit as well. A
// successor waits for the Arbiter's answer to what it has understood; one whose context is fuller than stop percent
// (0: any) hands off.
func (a *Agent) ReadsOnly(stop float64) (why string, commits bool) {
	switch {
	case a.Role != RoleOrchestrator || a.Status != AgentBusy:
	case a.Unexamined:
		return "the Arbiter has not answered yet how you understood the document that you continue. Until then you can " +
			"only read. End the turn with kind question, and say what holds and what comes next", false
	case stop > 0 && a.ContextLow() && a.Context.Pct >= stop:
		return fmt.Sprintf("your context is %.0f %% full: from %.0f %% on you can only read and commit. Hand off now, "+
			"with kind handoff and its document", a.Context.Pct, stop), true
	}
	return "", false
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

// Charge adds what a turn has cost that is over.
func (a *Agent) Charge(usd float64) {
	a.CostUSD, a.Live, a.Subagents, a.RefusedSubagents = a.CostUSD+usd, bridge.Spent{}, nil, 0
}

// HandoffDemand is the end of every message to an Orchestrator whose context is nearly full.
func (a *Agent) HandoffDemand() string {
	why := fmt.Sprintf("Your context is nearly full (%.0f%% of %d tokens).", a.Context.Pct, a.Context.Window)
	if a.ReachedLimit != "" && a.WarnedLevel != LevelCritical && !a.CompactionBlocked {
		why = "You have reached a limit: " + a.ReachedLimit + "."
	}
	return why + " Whatever this message asks: start nothing new. Commit what is finished, then end this turn with " +
		"kind handoff and the document. What is not in it is lost, so write into it what this message told you, too."
}

// editTakeover returns an agent's takeover for writing: the old value is shared with the old state.
func (a *Agent) editTakeover() *Takeover {
	t := *a.Takeover
	a.Takeover = &t
	return &t
}

const (
	RoleArbiter      Role = "arbiter"
	RoleOrchestrator Role = "orchestrator"
)

// AgentProcess tracks the process of an agent.
type AgentProcess struct {
	Status       AgentStatus
	Since        time.Time              // of Status
	EndReason    string                 // why it is being ended: released, killed, shutdown …
	Dismissed    bool                   // the agent itself has ended, not only the run: it is not started again
	HasHistory   bool                   // its session has a history
	NewSession   bool                   // its next process begins a new session
	Start        AgentStart             `json:",omitzero"`
	RestartClass runconfig.RestartClass // why it is Restarting
	RestartCause string                 // the same in words
	Watch        AgentWatch
	Backoff      *AgentBackoff      `json:",omitempty"` // it waits for another attempt
	Own          runconfig.Worktree `json:",omitzero"`  // its own directory
}

// AgentStart is what is known about a start that is still to come.
type AgentStart struct {
	First  bool      `json:",omitempty"` // no process of the agent was started yet
	Queued time.Time `json:",omitzero"`  // since when it waits for the starts before it; zero: it does not
}

// AgentStatus is the state of an agent's process.
type AgentStatus string

const (
	AgentStarting   AgentStatus = "starting"
	AgentDown       AgentStatus = "down"       // the process has ended; another follows
	AgentRestarting AgentStatus = "restarting" // it is being ended, and another follows
	AgentParked     AgentStatus = "parked"     // it failed too often; a human has to restart it
	AgentReady      AgentStatus = "ready"      // no turn runs
	AgentBusy       AgentStatus = "busy"       // a turn runs
	InHand          AgentStatus = "taken"      // a human has its session (Agent.Takeover)
	AgentStopping   AgentStatus = "stopping"
	AgentEnded      AgentStatus = "ended"
)

// AgentBackoff is the wait of an agent that failed to reach the API, or whose process failed, before the next
// attempt. It is only for display: timers control what happens next.
type AgentBackoff struct {
	Category bridge.Category // of the failure
	Attempt  int             // number of the next attempt
	Until    time.Time
}

// AgentWatch is what the watchdog and the resource guard know about an agent.
type AgentWatch struct {
	Last    bridge.ProbeResult
	At      time.Time // of Last; zero: none yet
	Quiet   int       // probes in a row without any activity
	Hung    bool      // it counts as hung, and that was reported
	Stopped bool      // its process is stopped, and that was reported
	Silent  bool      `json:",omitempty"` // it has been quiet for long, and that was reported
	Warned  []string  // the resources about which a warning was given
	Spared  time.Time // no conclusion before this time: the machine slept
}

// Waiting is the present wait of an agent, or nil.
func (a *Agent) Waiting() *AgentBackoff {
	switch a.Status {
	case AgentReady, AgentBusy, AgentDown:
		return a.Backoff
	}
	return nil
}

// DisplayName is the name of a party in prose.
func (r *Roster) DisplayName(id string) string {
	switch id {
	case contract.Arbiter:
		return "the Arbiter"
	case contract.Human:
		return "the human"
	case contract.Supervisor:
		return "the supervisor"
	}
	if a, ok := r.Agent(id); ok {
		return a.Name
	}
	return id
}

// AnyTakenOver reports whether a human has an agent's session.
func (r *Roster) AnyTakenOver() bool { return r.TakenOver() != "" }

// TakenOver lists the agents whose sessions a human has.
func (r *Roster) TakenOver() string {
	var names []string
	for _, a := range r.Agents {
		if a.Takeover != nil {
			names = append(names, a.ID)
		}
	}
	return strings.Join(names, ", ")
}

// WaitingAgents lists the Orchestrators that wait for a message, without those that are released when a human gives
// their sessions back.
func (r *Roster) WaitingAgents() []string {
	var ids []string
	for _, a := range r.Agents {
		if a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting &&
			(a.Takeover == nil || a.Takeover.Release == "") {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// SharingText warns an Orchestrator of the others in the same working tree.
func (r *Roster) SharingText(self string) string {
	var others []string
	for _, a := range r.Agents {
		if a.ID != self && a.Isolation == "" && a.holdsPlace() {
			others = append(others, a.Name+" ("+a.ID+")")
		}
	}
	if len(others) == 0 {
		return ""
	}
	return contract.BriefCompany + "\n\nIn the same working tree: " + strings.Join(others, ", ") +
		". Keep to the files of your brief, expect changes you did not make, and never undo them."
}

// ForSuccessor lists the Orchestrators for an Arbiter that does not know them.
func (r *Roster) ForSuccessor() string {
	var b strings.Builder
	list, others := r.Shown()
	b.WriteString(OthersText(others))
	for _, a := range list {
		where := string(a.Standing)
		if !a.Alive() {
			where += ", gone"
		}
		fmt.Fprintf(&b, "- %s, %s: %s", a.ID, a.Name, where)
		if a.Mode != "" {
			fmt.Fprintf(&b, ", as %s", a.Mode)
		}
		if a.Make != "" {
			fmt.Fprintf(&b, ", of make %s", a.Make)
		}
		if a.Predecessor != "" {
			fmt.Fprintf(&b, ", successor of %s", a.Predecessor)
		}
		if a.Alive() {
			fmt.Fprintf(&b, ". Its brief: %s", strings.ReplaceAll(words.Head(a.Brief, 1500), "\n", "\n  "))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "(none was summoned)"
	}
	return b.String()
}

// Unfinished reports whether an Orchestrator, in the state before its end, leaves work that it has not reported
// on.
func (a *Agent) Unfinished() bool {
	return a.Role == RoleOrchestrator && a.HasHistory &&
		(a.Standing == AgentWorking || a.Standing == AgentWaiting)
}

// SpawnedBefore finds the Orchestrator that the same call of the Arbiter spawned before the Arbiter's process
// ended. The turn continues in another process, and the call is repeated.
func (r *Roster) SpawnedBefore(prompt, mode string) (Agent, bool) {
	for i := range r.Agents {
		a := r.Agents[i]
		if a.SpawnedIn != "" && slices.Contains(r.Agents[0].InterruptedTurn, a.SpawnedIn) && a.Brief == prompt &&
			a.Mode == mode && a.Alive() {
			r.Edit(a.ID).SpawnedIn = "" // a further call means another Orchestrator
			return *r.Agents[i], true
		}
	}
	return Agent{}, false
}

// AgentTurn tracks the running turn of an agent, and the failures of its last turns.
type AgentTurn struct {
	Turn                []string     // ids of the messages in the running turn
	InterruptedTurn     []string     // messages of a turn that the end of its process cut off, and that continues
	Corrections         int          // requests in a row that gave no valid verdict
	Fallbacks           int          // how often in a row the rules decided in its place
	Troubles            int          // turns in a row lost to API errors
	APIFailures         int          // those of them that were neither overload nor a limit
	CurrentTool         string       // the current tool or subagent
	ToolCall            *RunningTool // the current tool call
	Delivered           int          `json:",omitempty"` // messages and reports that it has proven to have read
	UnansweredQuestions int          // questions in a row without a ruling
	Refused             string       `json:",omitempty"` // session whose last request the API refused
	LastAnswered        string       `json:",omitempty"` // the last message whose turn its session has ended with an answer
}

// RunningTool is a tool call that runs.
type RunningTool struct {
	Tool, ToolUse string
	What          string // its command, path or pattern
	Since         time.Time
	Cut           bool `json:",omitempty"` // its process has ended: shown until the agent does something else
}

// AgentWork is the work of an Orchestrator, and its progress.
type AgentWork struct {
	Standing     AgentStanding
	Work         *Work  // the present execution
	Turns        int    // of this Orchestrator that answered a message
	ReachedLimit string // which limit it has reached
	// Unexamined: it continues the work of another, and has heard nothing since its brief from the Arbiter or a human.
	Unexamined bool `json:",omitempty"`
}

// AgentStanding is the state of an Orchestrator as the Arbiter sees it.
type AgentStanding string

const (
	AgentWorking  AgentStanding = "working"    // it has something to do
	AgentWaiting  AgentStanding = "waiting"    // for a message of the Arbiter
	AgentFinished AgentStanding = "done"       // it said `done`
	HandedOff     AgentStanding = "handed_off" // it said `handoff`
)

// Work is a running execution: one period of an Orchestrator's work, from a spawn or an instruction to its
// `done`, `handoff` or end.
type Work struct {
	Since     time.Time
	Iteration int
	Files     []string
	Accessed  []string `json:",omitempty"` // files that its calls named, the latest last, at most filesAccessed
	Tokens    decider.Tokens
	Failed    *bridge.FailedTool        // the last tool call, if it failed
	Said      string                    // with `done` or `handoff`
	Completed time.Time                 // it was reported; the document's checks may still run
	Document  *decider.DecisionDocument // that it handed over, as deciders see it
}

// filesAccessed bounds Work.Accessed.
const filesAccessed = 40

// accesses notes the file that a call names.
func (a *Agent) accesses(input json.RawMessage) {
	file := bridge.FileOf(input)
	if a.Work == nil || file == "" {
		return
	}
	w, name := *a.Work, words.Head(file, 500)
	w.Accessed = append(slices.DeleteFunc(slices.Clone(w.Accessed), func(f string) bool { return f == name }), name)
	w.Accessed = w.Accessed[max(0, len(w.Accessed)-filesAccessed):]
	a.Work = &w
}

// touched are the files that the work has written, and those that its calls named.
func (w *Work) touched() []string {
	list := slices.Clone(w.Files)
	for _, f := range w.Accessed {
		if !slices.ContainsFunc(list, func(g string) bool { return g == f || strings.HasSuffix(f, "/"+g) }) {
			list = append(list, f)
		}
	}
	return list
}

// AgentContext tracks how full the context of an agent is, and what was done about it.
type AgentContext struct {
	Context           bridge.Context
	WarnedLevel       string // the level of context_warning reached last
	NotifiedLevel     string // the level reported to its model in a turn that is over
	NotifyingLevel    string // the same in the running turn: a crash may have lost it
	CompactionBlocked bool   // a compaction was prevented: the context has no space left
	Interrupting      bool   // its turn is being stopped because of that
	Compactions       int
	HandoffDemands    int // how often it was told to hand off
}

// Levels of a context_warning.
const (
	AgentLevelWarn = "warn"
	LevelCritical  = "critical"
)

// AgentHandoff holds the documents of an agent, or for the Arbiter those of its predecessor.
type AgentHandoff struct {
	Document       *verdict.Document // the last one about its work
	Receipts       []verdict.Receipt // of the document's checks
	DocumentSerial int               // serial of the document
	GeneratedWhy   string            // why the supervisor wrote it; empty: the agent did
	HandoffBrief   string            // of a new session: put before the first message it reads
}
