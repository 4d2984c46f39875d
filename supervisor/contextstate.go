package supervisor

import (
	"github.com/arbiter-cli/arbiter/bridge"
)

// SuccessionState follows the renewal of the Arbiter.
type SuccessionState struct {
	RenewalStage        string // stage of the Arbiter's renewal
	Renewals            int    // of the Arbiter so far
	GeneratedInRow      int    // of them, in a row, those without a document of its own
	RulingsSinceRenewal int    // rulings since the last renewal
	ShortRenewals       int    // renewals in a row that were due again at once
}

// AgentContext follows how full the context of an agent is, and what was done about it.
type AgentContext struct {
	Context           bridge.Context
	WarnedLevel       string // the level of context_warning reached last
	NotifiedLevel     string // the level its model was told in a turn that is over
	NotifyingLevel    string // the same in the running turn: a crash may have lost it
	CompactionBlocked bool   // a compaction was prevented: there is no room left
	Interrupting      bool   // its turn is being stopped for that
	Compactions       int
	HandoffDemands    int // how often it was told to hand off
}

// Levels of a context_warning.
const (
	levelWarn     = "warn"
	levelCritical = "critical"
)
