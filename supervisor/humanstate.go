package supervisor

import (
	"time"
)

// HumanState holds what the human is asked, and what they have stopped.
type HumanState struct {
	HumanPresent    bool // somebody may answer
	HumanSpoke      bool
	NotifiedAlone   bool // the Arbiter was told once that no human is present
	Question        *Question
	RecoveryOptions []string // recovery options of the last error, until one is taken
	FailedAgent     string   // whose error it was
	Paused          bool     // by a human: nothing is sent
	Halted          bool     // and nobody has a process
	Halts           int      // commands to halt that were taken
}

// Question waits for a human.
type Question struct {
	Text     string
	At       time.Time
	Arbiter  bool `json:",omitempty"` // asked it, and is to read the answer; else the supervisor did
	Recalled bool `json:",omitempty"` // the Arbiter was told that it completes over it
}
