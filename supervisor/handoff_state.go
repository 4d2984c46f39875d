package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// HandoffState holds the hand-off documents of a run, and the proofs of their checks.
type HandoffState struct {
	SuccessorQueue      []string    // the Orchestrators whose documents wait for a successor, oldest first
	Documents           []Handover  // documents that are being processed, oldest first
	DocumentSerial      int         // of the last of them
	LastProof           Proof       // of the last `done`
	Proofs              []Proved    // the checks of the task's documents, oldest first
	EarlierProofs       Proof       // of the checks before those
	Completing          *Completing // a COMPLETE that waits for the checks to be repeated
	CompletionsSentBack int         // how often one was sent back because of them
	Merges              input.IsolationState
	WaitingQuestions    []HandoffAsked // questions to a predecessor that is being restarted
}

// Proof counts the results of checks.
type Proof struct {
	Agent                string
	Passed, Failed, Open int
	Doubted              bool // the Arbiter was told that it completes despite failed ones
}

// HandoffAsked is a side question that waits until the agent it is for is running again.
type HandoffAsked struct {
	Call     string // of ask_predecessor
	By       string // the agent that asked
	Of       string
	Question string
}

// Handover is a document that is being processed, between its author and its readers. Meanwhile the supervisor
// runs its checks. If the author can no longer write it, the supervisor does.
type Handover struct {
	Serial   int             // identifies it among all of the run
	Agent    bridge.AgentRef // the agent whose work it is about
	Kind     HandoffKind
	Message  string                  // is sent with it
	Why      string                  // why the supervisor generates it; empty: the author gave it
	Document *verdict.Document       // nil until it is generated
	Receipts []verdict.Receipt       // of its checks so far
	Request  string                  // the running check, as a permission request
	Taken    bool                    // a successor was spawned meanwhile
	Authors  []bridge.AgentRef       `json:",omitempty"` // of KindRepeated: the author of each check
	Merged   *input.IsolationOutcome `json:",omitempty"` // of KindDone, of an author with a directory of its own
}

// HandoffKind says what happens to a document.
type HandoffKind string

const (
	KindDone           HandoffKind = "done"    // to the Arbiter, with the Orchestrator's `done`
	KindHandoff        HandoffKind = "handoff" // to the Arbiter, and to the next Orchestrator spawned
	KindGone           HandoffKind = "gone"    // the same, for an agent that can answer no more
	KindReleased       HandoffKind = "left"    // into the work log: the agent was released before its work was done
	KindKilled         HandoffKind = "killed"  // to the Arbiter: the human ended it
	HandoffKindRenewal HandoffKind = "renew"   // from one Arbiter to the next
	KindAccept         HandoffKind = "accept"  // has no reader: the commands of acceptance criteria, before COMPLETE
	KindRepeated       HandoffKind = "final"   // has no reader: the checks of all documents, repeated before COMPLETE
)

// Completing is a COMPLETE whose checks are being repeated.
type Completing struct {
	Ruling verdict.Arbiter
	Asked  string // the open question to the human when it was decided; empty: none
	Waits  bool   // the checks are repeated once the file changes of the last turns are recorded
}

// Proved is a check of a document of the task, with its last result.
type Proved struct {
	Author   bridge.AgentRef
	Mode     string
	Check    verdict.Check
	Files    []string `json:",omitempty"` // that the document names, below the top of the work tree; MaxFiles at most
	Receipt  verdict.Receipt
	Changed  string `json:",omitempty"` // of one that failed when repeated: says who changed its files last
	Held     bool   // it has passed once
	Reported bool   // it failed, and the decider was told since the last document
}

// Broken reports whether it held once and no longer does.
func (p *Proved) Broken() bool { return p.Held && p.Receipt.Result == verdict.CheckFailed }
