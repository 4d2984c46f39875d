package supervisor

import (
	"encoding/json"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// TurnEnd is how far an agent came with a turn during which its process ended, from finished to unfinished.
type TurnEnd int

// The ends of a turn.
const (
	TurnFinished        TurnEnd = iota // nothing to continue
	TurnUnanswered                     // a message was read, and nothing was done about it
	LifecycleTurnCutOff                // something was done
)

// LostTurn is what the end of a process left of the agent's turn.
type LostTurn struct {
	End   TurnEnd
	Over  []string               // messages that the session contains
	Open  []string               // messages that it does not contain: they are sent again
	Ruled *bridge.DeliveryStatus // the last verdict of the turn; nil: none
}

// Reconcile determines from the session's history what happened to the messages of a turn. Messages that the
// history does not name are open.
func Reconcile(turn []string, history []bridge.DeliveryStatus) LostTurn {
	statuses := map[string]bridge.DeliveryStatus{}
	for _, s := range history {
		statuses[s.MessageID] = s
	}
	var t LostTurn
	for _, message := range turn {
		s := statuses[message]
		switch s.Status {
		case bridge.DeliverySeen:
			t.End = max(t.End, TurnUnanswered)
		case bridge.DeliveryBegun, bridge.DeliveryEnded:
			t.End = max(t.End, LifecycleTurnCutOff)
		case bridge.DeliveryRuled:
			t.Ruled, t.End = &s, TurnFinished
		default: // absent, or its history is lost
			t.Open = append(t.Open, message)
			continue
		}
		t.Over = append(t.Over, message)
	}
	return t
}

// MidTurn reports whether an agent's turn runs, or will continue with another process.
func MidTurn(a *Agent) bool {
	switch a.Status {
	case AgentBusy, AgentRestarting:
		return true
	case AgentDown, AgentStarting:
		return len(a.Turn) > 0
	}
	return false
}

// MarkCut marks the tool call that an agent was running when its process ended.
func MarkCut(a *Agent) {
	if a.ToolCall != nil {
		at := *a.ToolCall
		at.Cut = true
		a.ToolCall = &at
	}
}

// ToolSubject is the member of a tool's input that says most about the call; empty: there is none.
func ToolSubject(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, name := range []string{
		"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description",
	} {
		var text string
		if raw, ok := in[name]; ok && json.Unmarshal(raw, &text) == nil && text != "" {
			return words.Head(words.FirstLine(text), 200)
		}
	}
	return ""
}
