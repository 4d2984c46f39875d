package contract

import "github.com/arbiter-cli/arbiter/bridge"

// Relayed returns the event that frontends receive for an event of the bridge; nil: the event is not relayed.
func Relayed(body bridge.EventBody) Body {
	switch b := body.(type) {
	case bridge.Assistant:
		return Assistant{Text: b.Text, ContextPct: b.ContextPct, Subagent: b.Subagent}
	case bridge.Delta:
		return Delta{Text: b.Text, Verdict: b.Verdict}
	case bridge.ToolUse:
		return ToolUse{Tool: b.Tool, Input: b.Input, ToolUse: b.ToolUse, Subagent: b.Subagent}
	case bridge.ToolResult:
		return ToolResult{ToolUse: b.ToolUse, Text: b.Text, IsError: b.IsError, Subagent: b.Subagent}
	case bridge.ToolRan:
		return Notice{Text: "A hook of the settings changed a call of " + b.Tool + " before it ran. It ran with: " +
			string(b.Input)}
	case bridge.SubagentStart:
		return SubagentStart(b)
	case bridge.SubagentStop:
		return SubagentStop(b)
	case bridge.SubagentProgress:
		return SubagentProgress(b)
	case bridge.Context:
		return Context{Tokens: b.Tokens, Window: b.Window, Pct: b.Pct, TurnsLeft: b.TurnsLeft,
			Source: b.Source}
	case bridge.Compact:
		return Compact{Trigger: b.Trigger, Blocked: b.Blocked, PreTokens: b.PreTokens,
			PostTokens: b.PostTokens}
	case bridge.Retry:
		return Retry{Attempt: b.Attempt, DelayMS: b.DelayMS, Reason: b.Reason}
	case bridge.Error:
		return Error{Category: b.Category, Message: b.Message, RecoveryOptions: []string{}}
	case bridge.Notice:
		return Notice{Text: b.Text}
	}
	return nil
}
