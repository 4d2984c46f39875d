package supervisor

import (
	"encoding/json"
	"fmt"
	"time"
)

// AtTool is a tool call that runs. It is told by events that only narrate: after a fold
// that leaves those out it is not known.
type AtTool struct {
	Tool, ToolUse string
	What          string // its command, path or pattern
	Since         time.Time
}

// whatOf is the one member of a tool's input that says most.
func whatOf(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, name := range []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description"} {
		var text string
		if raw, ok := in[name]; ok && json.Unmarshal(raw, &text) == nil && text != "" {
			return headOf(firstLineOf(text), 200)
		}
	}
	return ""
}

// halfDone tells what is being done at this moment, and will not be finished.
func (st *step) halfDone() []string {
	var list []string
	for i := range st.Agents {
		if text := st.halfDoneBy(st.Agents[i]); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// halfDoneBy tells it of one; empty: nothing.
func (st *step) halfDoneBy(a *Agent) string {
	if a.Role != RoleOrchestrator || a.Status != Busy && a.Status != Restarting {
		return ""
	}
	text := a.Name + " (" + a.ID + ")"
	if a.At != nil {
		text += " was at " + a.At.Tool
		if a.At.What != "" {
			text += " `" + a.At.What + "`"
		}
		text += fmt.Sprintf(" for %s", st.at.Sub(a.At.Since).Round(time.Second))
	} else {
		text += " was in the middle of a turn"
	}
	if n := st.stepOf(a.ID); n > 0 {
		text += fmt.Sprintf(", step %d of the plan: %s", n, headOf(firstLineOf(st.Plan[n-1].Text), 200))
	}
	if a.Work != nil && len(a.Work.Files) > 0 {
		text += fmt.Sprintf("; files written in this execution: %d", len(a.Work.Files))
	}
	return text
}
