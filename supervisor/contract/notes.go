package contract

import "github.com/arbiter-cli/arbiter/bridge"

// fieldEnums has the fields whose values are a closed set. A set that may grow stays an open string.
var fieldEnums = map[string][]string{
	"result.status": {StatusComplete, StatusIncomplete, StatusFailed, StatusCancelled, StatusNeedsInput,
		StatusLimit, StatusInterrupted},
	"permission.behavior":   {bridge.Allow, bridge.Deny},
	"session.permissions":   {"ask", "rules", "accept-edits", "allow-all"},
	"takeover.state":        {"began", "open", "ended", "failed"},
	"acceptance.by":         {"human", "arbiter"},
	"acceptance.status":     {"passed", "failed", "unproven"},
	"context_warning.level": {"warn", "critical"},
	"budget.level":          {"warn", "limit"},
}

// fieldNotes describes the fields that mean the same in every event. A field of a single event, or one with
// another meaning, has its description in its struct tag.
var fieldNotes = map[string]string{
	"session":     "The run's id.",
	"rehearsal":   "The model was scripted.",
	"usage":       "Tokens used, by subagents too.",
	"cost_usd":    "Cost as the CLI reports it.",
	"message_id":  "The message's id.",
	"subagent":    "The tool use id of its subagent; absent: the main thread.",
	"tool":        "The tool's name.",
	"input":       "The tool's input, as the model gave it.",
	"tool_use":    "The id of the tool use.",
	"text":        "The text.",
	"message":     "The text.",
	"request":     "The id of the permission request.",
	"mode":        "The mode, an agent definition's name.",
	"attempt":     "The attempt's number, from 1.",
	"delay_ms":    "Milliseconds until the next attempt.",
	"reason":      "The reason.",
	"ref":         "The command's ref.",
	"session_id":  "Claude's session id.",
	"description": "What the subagent was started for.",
	"pct":         "Percent of the effective window in use.",
	"steps":       "The steps, in order.",
	"to":          "The recipient: an agent's id, human, or empty.",
	"action":      "The SHA-256 of tool and exact input, in hexadecimal.",
	"by":          "Who decided: " + deciderNames() + ".",
}
