package history

import (
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Entry is an event as it was reported, with what happened to it.
type Entry struct {
	N     int // its number among all events, from 0
	At    time.Time
	Event contract.Event
	// Outcome is the event that ended this one: a tool_result, a subagent_stop, a permission, a delivered,
	// the answer to a question. It is nil until that event comes.
	Outcome   *contract.Event
	OutcomeAt time.Time
	// Edited is the message after it was changed, nil if it was not.
	Edited *contract.Message
	// Progress is the latest progress of a running subagent, on its subagent_start.
	Progress *contract.SubagentProgress
}
