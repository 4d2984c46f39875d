package handoff

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/isolation"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// State holds the documents that pass work on, and the proofs of their checks.
type State struct {
	SuccessorQueue      []string    // the Orchestrators whose documents wait for a successor, oldest first
	Documents           []Handover  // documents on their way, oldest first
	DocumentSerial      int         // of the last of them
	LastProof           Proof       // of the last `done`
	Proofs              []Proved    // the checks of the task's documents, oldest first
	EarlierProofs       Proof       // of those before them
	Completing          *Completing // a COMPLETE that waits for them to be repeated
	CompletionsSentBack int         // how often one went back for them
	Merges              isolation.State
	WaitingQuestions    []Asked // questions to a predecessor that is being started again
}

// Proof is what the checks of the last `done` came to.
type Proof struct {
	Agent                string
	Passed, Failed, Open int
	Doubted              bool // the Arbiter was told that it completes over failed ones
}

// Asked is a side question that waits until the one it is for is back.
type Asked struct {
	Call     string // of ask_predecessor
	By       string // the agent that asked
	Of       string
	Question string
}

// Handover is a document on its way from its author to whom it concerns. The
// supervisor runs its checks on the way, and writes it where the author no longer can.
type Handover struct {
	Serial   int             // names it among all of the run
	Agent    bridge.AgentRef // whose work it is about
	Kind     Kind
	Message  string             // what is said with it
	Why      string             // the supervisor generates it; empty: the author gave it
	Document *verdict.Document  // nil until it is generated
	Receipts []verdict.Receipt  // of its checks so far
	Request  string             // the check under way, as a permission request
	Taken    bool               // a successor was summoned meanwhile
	Authors  []bridge.AgentRef  `json:",omitempty"` // of KindRepeated: the author of each check
	Merged   *isolation.Outcome `json:",omitempty"` // of KindDone, of an author with a directory of its own
}

// Kind reports what happens to a document.
type Kind string

const (
	KindDone     Kind = "done"    // to the Arbiter, with the Orchestrator's `done`
	KindHandoff  Kind = "handoff" // to the Arbiter, and to the next Orchestrator summoned
	KindGone     Kind = "gone"    // the same, for one that can speak no more
	KindReleased Kind = "left"    // into the work log: it was let go before its work was done
	KindKilled   Kind = "killed"  // to the Arbiter: the human ended it
	KindRenewal  Kind = "renew"   // from one Arbiter to the next
	KindAccept   Kind = "accept"  // has no reader: the commands of acceptance criteria, before COMPLETE
	KindRepeated Kind = "final"   // has no reader: the checks of all documents, repeated before COMPLETE
)

// Completing is a COMPLETE whose checks are being repeated.
type Completing struct {
	Ruling verdict.Arbiter
	Asked  string // the question to the human that it was decided over; empty: none
	Waits  bool   // they are repeated once it is recorded which files the last turns changed
}

// Proved is a check of a document of the task, with its last result.
type Proved struct {
	Author  bridge.AgentRef
	Mode    string
	Check   verdict.Check
	Files   []string `json:",omitempty"` // that the document is about, below the top of the work tree; MaxFiles at most
	Receipt verdict.Receipt
	Changed string `json:",omitempty"` // of one that failed when it was repeated: says who changed its files last
	Held    bool   // it has passed once
	Told    bool   // it failed, and the decider was told since the last document
}

// Broken reports whether it held once and does not any more.
func (p *Proved) Broken() bool { return p.Held && p.Receipt.Result == verdict.CheckFailed }
