package fakecli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"
)

// subagent is a blocking subagent: its own conversation inside a tool call, on the goroutine of
// that call.
type subagent struct {
	id      string
	kind    string // subagent_type
	toolUse string // id of the Agent call
	begun   time.Time
	tools   int
	tokens  int // of its context now, not of all its calls together (observed with CLI 2.1.329)
}

// calls counts a tool call when it is made, and says what the subagent does.
func (a *subagent) calls(s *session, tokens int, c toolCall) {
	a.tokens = tokens
	a.tools++
	a.emit(s, "task_progress", obj{"description": "Running " + cmp.Or(describe(c), c.Name), "usage": a.usage(),
		"last_tool_name": c.Name})
}

func (a *subagent) usage() obj {
	return obj{"total_tokens": a.tokens, "tool_uses": a.tools, "duration_ms": time.Since(a.begun).Milliseconds()}
}

// emit shows a frame about the subagent.
func (a *subagent) emit(s *session, subtype string, o obj) {
	maps.Copy(o, obj{"type": "system", "subtype": subtype, "task_id": a.id, "tool_use_id": a.toolUse,
		"subagent_type": a.kind})
	s.emit(o)
}

func runAgent(ctx context.Context, t *thread, c toolCall) *toolResult {
	var in struct {
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
		Type        string `json:"subagent_type"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	a := &subagent{id: "a" + strings.ToLower(rand.Text()), kind: cmp.Or(in.Type, "general-purpose"),
		toolUse: c.ID, begun: time.Now()}
	sub := &thread{s: t.s, sub: a, turn: t.turn, tr: newTranscript("", t.s)} // of which no more is kept than the report
	a.emit(t.s, "task_started", obj{"description": in.Description, "is_backgrounded": false, "spawn_depth": 1,
		"task_type": "local_agent", "prompt": in.Prompt})
	started := sub.hook(ctx, "SubagentStart", "", nil)
	sub.sayAsUser(textBlock(in.Prompt), nil, nil)
	sub.introduce()
	sub.remember("SubagentStart", started.contexts())
	sub.tellContexts()
	end, status := sub.converse(ctx), "completed"
	sub.hook(ctx, "SubagentStop", "", obj{"last_assistant_message": end.text})
	if end.isError {
		status = "failed"
	}
	a.emit(t.s, "task_notification", obj{"status": status, "summary": end.text, "usage": a.usage()})
	if end.isError {
		return failed("%s", end.text)
	}
	text := fmt.Sprintf("[Subagent hand-back] What the subagent reports, in its own words:\n  %s\nagentId: %s\n",
		strings.ReplaceAll(end.text, "\n", "\n  "), a.id)
	return &toolResult{content: []json.RawMessage{textBlock(text)}}
}
