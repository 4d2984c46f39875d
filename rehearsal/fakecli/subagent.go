package fakecli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// subagent is a blocking subagent: its own conversation inside a tool call.
type subagent struct {
	id      string
	kind    string // subagent_type
	model   string
	toolUse string // id of the Agent call
	begun   time.Time

	mu     sync.Mutex
	tools  int
	tokens int // of its context now
}

// used is told how many tokens the subagent's context holds, not what all of its calls took
// together (observed with CLI 2.1.329).
func (a *subagent) used(tokens int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = tokens
}

// calls counts a tool call when it is made, and says what the subagent does.
func (a *subagent) calls(s *session, tokens int, c toolCall) {
	a.used(tokens)
	a.mu.Lock()
	a.tools++
	a.mu.Unlock()
	what := describe(c)
	if what == "" {
		what = c.Name
	}
	a.emit(s, "task_progress", obj{"description": "Running " + what, "usage": a.usage(), "last_tool_name": c.Name})
}

func (a *subagent) usage() obj {
	a.mu.Lock()
	defer a.mu.Unlock()
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
		Model       string `json:"model"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	if in.Type == "" {
		in.Type = "general-purpose"
	}
	a := &subagent{id: "a" + strings.ToLower(rand.Text()), kind: in.Type, model: in.Model, toolUse: c.ID,
		begun: time.Now()}
	path := ""
	if dir := strings.TrimSuffix(t.s.main.tr.path, ".jsonl"); dir != "" {
		path = filepath.Join(dir, "subagents", "agent-"+a.id+".jsonl")
	}
	sub := &thread{s: t.s, sub: a, turn: t.turn, tr: newTranscript(path, t.s, a.id)}
	defer sub.tr.close()
	a.emit(t.s, "task_started", obj{"description": in.Description, "is_backgrounded": false, "spawn_depth": 1,
		"task_type": "local_agent", "prompt": in.Prompt})
	sub.begin(ctx, in.Prompt)
	end := sub.converse(ctx)
	if path != "" { // like the transcript: a session continues without its files
		meta := encode(obj{"agentType": a.kind, "toolUseId": c.ID})
		_ = os.WriteFile(strings.TrimSuffix(path, ".jsonl")+".meta.json", meta, 0o644)
	}
	return sub.handBack(ctx, end)
}

// begin opens the conversation with the prompt.
func (t *thread) begin(ctx context.Context, prompt string) {
	answers := t.hook(ctx, "SubagentStart", "", nil)
	t.sayAsUser(textBlock(prompt), nil, nil)
	t.introduce()
	t.remember("SubagentStart", answers.contexts())
	t.tellContexts()
}

// handBack ends the task and makes the Agent call's result.
func (t *thread) handBack(ctx context.Context, end ending) *toolResult {
	a, status := t.sub, "completed"
	switch {
	case ctx.Err() != nil:
		status = "killed"
	case end.api != nil:
		status = "failed"
	}
	a.emit(t.s, "task_updated", obj{"patch": obj{"status": status, "end_time": time.Now().UnixMilli()}})
	a.emit(t.s, "task_notification", obj{"status": status, "summary": end.text, "usage": a.usage()})
	if end.api != nil {
		return failed("%s", end.text)
	}
	text := fmt.Sprintf("[Subagent hand-back] What the subagent reports, in its own words:\n  %s\nagentId: %s\n",
		strings.ReplaceAll(end.text, "\n", "\n  "), a.id)
	return &toolResult{content: []json.RawMessage{textBlock(text)}}
}
