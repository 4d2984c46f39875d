package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// happened handles an event of an agent. A late word of an earlier incarnation
// never touches the present one.
func (st *step) happened(e bridge.Event) {
	a, ok := st.Agent(e.ID)
	if !ok || a.Generation != e.Generation || a.Status == roster.Ended {
		return
	}
	if a.Backoff != nil && speaks(e.Body) {
		st.Edit(e.ID).Backoff = nil
	}
	if a.Status == roster.InHand && !ofTerminal(e.Body) {
		return
	}
	switch b := e.Body.(type) {
	case bridge.Turn:
		st.turnEnded(e.ID, b)
	case bridge.Delivered:
		st.delivered(b.MessageID)
	case bridge.Done:
		st.ended(e.ID, b)
	case bridge.Context:
		st.measured(e, b)
	case bridge.ContextWarning:
		st.Edit(e.ID).NotifyingLevel = b.Level
	case bridge.Compact:
		st.compacted(e, b)
	case bridge.ToolUse:
		if b.Subagent == "" {
			a := st.Edit(e.ID)
			a.CurrentTool, a.ToolCall = b.Tool, &roster.RunningTool{Tool: b.Tool, ToolUse: b.ToolUse, What: whatOf(b.Input), Since: st.at}
		}
		st.relay(e)
	case bridge.ToolResult:
		if a.ToolCall != nil && a.ToolCall.ToolUse == b.ToolUse {
			st.Edit(e.ID).ToolCall = nil
		}
		st.relay(e)
	case bridge.Spent:
		st.spending(e.ID, b)
	case bridge.Tasks:
		st.tasksChanged(e.ID, b)
	case bridge.Retry:
		if a.Status == roster.Busy {
			st.backOff(st.Edit(e.ID), retryCategory(b), b.Attempt, time.Duration(b.DelayMS)*time.Millisecond)
		}
		st.relay(e)
	case bridge.SubagentStart:
		st.Edit(e.ID).CurrentTool = b.Description
		st.relay(e)
	default:
		st.relay(e)
	}
}

// ofTerminal reports whether an event can be one of a terminal's.
func ofTerminal(b bridge.EventBody) bool {
	switch b.(type) {
	case bridge.Done, bridge.Error, bridge.Notice:
		return true
	}
	return false
}

// speaks reports whether an event shows that the agent has got through to its model.
func speaks(b bridge.EventBody) bool {
	switch b.(type) {
	case bridge.Context, bridge.Turn, bridge.Delivered:
		return true
	}
	return false
}

// relay hands an event on to the faces; it changes nothing. This is the one
// place where the bridge's events become the contract's; those that do not are listed,
// with the reason, beside TestEveryEventIsRelayed.
func (st *step) relay(e bridge.Event) {
	switch b := e.Body.(type) {
	case bridge.Assistant:
		st.emit(e.ID, contract.Assistant{Text: b.Text, ContextPct: b.ContextPct, Subagent: b.Subagent})
	case bridge.Delta:
		st.emit(e.ID, contract.Delta{Text: b.Text, Verdict: b.Verdict})
	case bridge.ToolUse:
		st.emit(e.ID, contract.ToolUse{Tool: b.Tool, Input: b.Input, ToolUse: b.ToolUse, Subagent: b.Subagent})
	case bridge.ToolResult:
		st.emit(e.ID, contract.ToolResult{ToolUse: b.ToolUse, Text: b.Text, IsError: b.IsError, Subagent: b.Subagent})
	case bridge.SubagentStart:
		st.emit(e.ID, contract.SubagentStart(b))
	case bridge.SubagentStop:
		st.emit(e.ID, contract.SubagentStop(b))
	case bridge.SubagentProgress:
		st.emit(e.ID, contract.SubagentProgress(b))
	case bridge.Context:
		st.emit(e.ID, contract.Context{Tokens: b.Tokens, Window: b.Window, Pct: b.Pct, TurnsLeft: b.TurnsLeft, Source: b.Source})
	case bridge.Compact:
		st.emit(e.ID, contract.Compact{Trigger: b.Trigger, Blocked: b.Blocked, PreTokens: b.PreTokens, PostTokens: b.PostTokens})
	case bridge.Retry:
		st.emit(e.ID, contract.Retry{Attempt: b.Attempt, DelayMS: b.DelayMS, Reason: b.Reason})
	case bridge.Error:
		st.emit(e.ID, contract.Error{Category: b.Category, Message: b.Message, RecoveryOptions: []string{}})
	case bridge.Notice:
		st.emit(e.ID, contract.Notice{Text: b.Text})
	}
}
