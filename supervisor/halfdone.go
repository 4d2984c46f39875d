package supervisor

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// markCut keeps what an agent was at whose process ended in the middle of it.
func markCut(a *roster.Agent) {
	if a.ToolCall != nil {
		at := *a.ToolCall
		at.Cut = true
		a.ToolCall = &at
	}
}

// midTurn reports whether an agent's turn runs, or is to go on with another process.
func midTurn(a *roster.Agent) bool {
	switch a.Status {
	case roster.Busy, roster.Restarting:
		return true
	case roster.Down, roster.Starting:
		return len(a.Turn) > 0
	}
	return false
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
			return words.Head(words.FirstLine(text), 200)
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
func (st *step) halfDoneBy(a *roster.Agent) string {
	if a.Role != roster.RoleOrchestrator || !midTurn(a) {
		return ""
	}
	text := a.Name + " (" + a.ID + ")"
	if a.ToolCall != nil {
		text += " was at " + a.ToolCall.Tool
		if a.ToolCall.What != "" {
			text += " `" + a.ToolCall.What + "`"
		}
		if a.ToolCall.Cut {
			text += " when its process ended"
		} else {
			text += fmt.Sprintf(" for %s", st.at.Sub(a.ToolCall.Since).Round(time.Second))
		}
	} else {
		text += " was in the middle of a turn"
	}
	if n := st.Task.StepOf(&st.Roster, a.ID); n > 0 {
		text += fmt.Sprintf(", step %d of the plan: %s", n, words.Head(words.FirstLine(st.Task.Plan[n-1].Text), 200))
	}
	if a.Work != nil && len(a.Work.Files) > 0 {
		text += fmt.Sprintf("; files written in this execution: %d", len(a.Work.Files))
	}
	return text
}
