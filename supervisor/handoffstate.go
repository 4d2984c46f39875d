package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// HandoffState holds the documents that pass work on, and the proofs of their checks.
type HandoffState struct {
	SuccessorQueue      []string    // the Orchestrators whose documents wait for a successor, oldest first
	PendingHandoffs     []Handover  // documents on their way, oldest first
	DocumentSerial      int         // of the last of them
	LastProof           Proof       // of the last `done`
	Proofs              []Proved    // the checks of the task's documents, oldest first
	EarlierProofs       Proof       // of those before them
	Completing          *Completing // a COMPLETE that waits for them to be repeated
	CompletionsSentBack int         // how often one went back for them
	WaitingQuestions    []Asked     // questions to a predecessor that is being started again
}

// AgentHandoff holds the documents of an agent, and of the Arbiter before it.
type AgentHandoff struct {
	Document       *verdict.Document // the last one about its work
	Receipts       []verdict.Receipt // of the document's checks
	DocumentSerial int               // serial of the document
	GeneratedWhy   string            // why the supervisor wrote it; empty: it did itself
	HandoffBrief   string            // of a new Arbiter: goes with the first message it reads
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
	Of       string
	Question string
}
