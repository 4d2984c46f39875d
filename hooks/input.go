package hooks

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Event names a hook event of the CLI. Events not listed here are accepted and get an empty answer.
type Event string

// The events that the policy answers or reports.
const (
	PostToolUse        Event = "PostToolUse"
	PostToolUseFailure Event = "PostToolUseFailure"
	UserPromptSubmit   Event = "UserPromptSubmit"
	PreCompact         Event = "PreCompact"
	PostCompact        Event = "PostCompact"
	SessionStart       Event = "SessionStart"
	SubagentStart      Event = "SubagentStart"
	SubagentStop       Event = "SubagentStop"
)

// Triggers of a compaction, and the source of a SessionStart that follows one.
const (
	TriggerAuto   = "auto"
	TriggerManual = "manual" // a person's /compact
	SourceCompact = "compact"
	SourceClear   = "clear"
)

// Input is one event of the CLI. Fields that an event does not have are empty.
type Input struct {
	Event     Event  `json:"hook_event_name"`
	SessionID string `json:"session_id,omitempty"`
	// of the session's main thread, also in a subagent's events
	TranscriptPath string `json:"transcript_path,omitempty"`
	AgentID        string `json:"agent_id,omitempty"` // of the subagent; empty: the main thread
	AgentType      string `json:"agent_type,omitempty"`
	Tool           string `json:"tool_name,omitempty"`
	ToolUseID      string `json:"tool_use_id,omitempty"`
	Trigger        string `json:"trigger,omitempty"`      // of a compaction
	Source         string `json:"source,omitempty"`       // of a SessionStart
	IsInterrupt    bool   `json:"is_interrupt,omitempty"` // the call failed because of an interrupt
}

// Parse parses an event by the exact names of its fields: encoding/json would accept `Agent_ID` for `agent_id`.
// Unknown events and fields are not errors. A known field of another type is one: guessing whose call it was
// would be worse.
func Parse(raw json.RawMessage) (Input, error) {
	var in Input
	fields := map[string]any{
		"hook_event_name": &in.Event, "session_id": &in.SessionID, "transcript_path": &in.TranscriptPath,
		"agent_id": &in.AgentID, "agent_type": &in.AgentType, "tool_name": &in.Tool, "tool_use_id": &in.ToolUseID,
		"trigger": &in.Trigger, "source": &in.Source, "is_interrupt": &in.IsInterrupt,
	}
	members, err := jsonl.Members(raw)
	if err != nil {
		return Input{}, fmt.Errorf("read hook event: %w", err)
	}
	for _, m := range members {
		if to := fields[m.Key]; to != nil {
			if err := json.Unmarshal(m.Value, to); err != nil {
				return Input{}, fmt.Errorf("read hook event: field %s: %w", m.Key, err)
			}
		}
	}
	if in.Event == "" {
		return Input{}, errors.New("read hook event: it has no hook_event_name")
	}
	return in, nil
}

// JSON returns the event as the CLI would write it, with only the fields that [Parse] reads. It has a few kilobytes,
// whatever the tool's input and output were.
func (in Input) JSON() json.RawMessage {
	raw, err := json.Marshal(in)
	if err != nil {
		return json.RawMessage("{}") // impossible: it has only strings and flags
	}
	return raw
}
