package bridge

import "encoding/json"

// JudgeParams is a tool call that is about to run. It comes before any decision of the CLI.
// The client answers at once, by rules only, without asking a human.
type JudgeParams struct {
	AgentRef
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use,omitempty"`
	Subagent string          `json:"subagent,omitempty"` // the subagent's id, if a subagent calls
	CWD      string          `json:"cwd,omitempty"`      // the current directory of the session's shell
}

// JudgeResult can only take away. Deny: the call does not run, and the model reads
// Message. Ask: `permission` follows, whatever the CLI's own rules say. Pass: the CLI
// decides by its own rules. Any other value, an error, and no answer within JudgeTimeout mean deny.
type JudgeResult struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}
