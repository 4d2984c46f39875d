package fakecli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"strings"
)

// subagent is a blocking subagent: its own conversation inside a tool call, on the goroutine of
// that call.
type subagent struct {
	id      string
	kind    string // subagent_type
	toolUse string // id of the Agent call
	tools   int
	tokens  int // of its context now, not of all its calls together (observed with CLI 2.1.329)
}

// calls counts a tool call when it is made, and shows what the subagent does.
func (a *subagent) calls(s *session, tokens int, c toolCall) {
	a.tokens = tokens
	a.tools++
	a.emit(s, "task_progress", obj{"description": "Running " + cmp.Or(describe(c), c.Name), "last_tool_name": c.Name})
}

// emit shows a frame about the subagent.
func (a *subagent) emit(s *session, subtype string, o obj) {
	maps.Copy(o, obj{"type": "system", "subtype": subtype, "task_id": a.id, "tool_use_id": a.toolUse,
		"subagent_type": a.kind, "usage": obj{"total_tokens": a.tokens, "tool_uses": a.tools}})
	s.emit(o)
}

func runAgent(ctx context.Context, t *thread, c toolCall) *toolResult {
	var in struct {
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
		Type        string `json:"subagent_type"`
	}
	_ = json.Unmarshal(c.Input, &in) // another shape asks for nothing
	a := &subagent{id: "a" + strings.ToLower(rand.Text()), kind: cmp.Or(in.Type, "general-purpose"), toolUse: c.ID}
	sub := &thread{s: t.s, sub: a, turn: t.turn, tr: newTranscript("", t.s)} // of which no more is kept than the report
	a.emit(t.s, "task_started", obj{"description": in.Description, "is_backgrounded": false, "spawn_depth": 1,
		"task_type": "local_agent", "prompt": in.Prompt})
	sub.hook(ctx, "SubagentStart", "", nil)
	sub.sayAsUser(textBlock(in.Prompt), nil, nil)
	sub.introduce()
	sub.tellContexts()
	end := sub.converse(ctx)
	sub.hook(ctx, "SubagentStop", "", obj{"last_assistant_message": end.text})
	if end.isError {
		a.emit(t.s, "task_notification", obj{"status": "failed", "summary": end.text})
		return failed(end.text)
	}
	a.emit(t.s, "task_notification", obj{"status": "completed", "summary": end.text})
	text := "[Subagent hand-back] What the subagent reports, in its own words:\n  " +
		strings.ReplaceAll(end.text, "\n", "\n  ") + "\nagentId: " + a.id + "\n"
	return &toolResult{content: []json.RawMessage{textBlock(text)}}
}
