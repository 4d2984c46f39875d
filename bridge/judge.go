package bridge

import "encoding/json"

// JudgeParams is a tool call that is about to run. It comes before anything the CLI
// decides, and is answered from rules alone, at once, without asking.
type JudgeParams struct {
	AgentRef
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use,omitempty"`
	Subagent string          `json:"subagent,omitempty"` // the subagent's id when one calls
	CWD      string          `json:"cwd,omitempty"`      // the directory that the session's shell is in
}

// JudgeResult is what happens to it. Deny: it does not run, and the model reads
// Message. Ask: `permission` follows, whatever the CLI's own rules say. Allow has no
// say: the CLI may still ask or refuse by its own rules. Anything else, an error and no
// answer within JudgeTimeout are a deny.
type JudgeResult struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}

// Ask is a behavior of JudgeResult, beside Allow and Deny.
const Ask = "ask"
