package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// PermissionState holds the open permission requests, and what was allowed for longer than one.
type PermissionState struct {
	OpenRequests []Permit // permission requests a human has to answer
	// Orphans are requests of processes that are gone with an earlier life. Each is open
	// again, under its id, when its agent asks for the same action again.
	OrphanedRequests []Permit       `json:",omitempty"`
	OrphanAnswers    []Answered     // answers to orphans
	PolicyChanges    int            // how often mode, rules or grants were changed
	Reconsidering    int            `json:",omitempty"` // Reconsider effects that have not ended
	GrantedActions   []string       // actions a human allowed for the whole run
	GrantedRules     []string       // rules, likewise
	TrustQuestion    *TrustQuestion `json:",omitempty"` // what keeps agents from being started
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
