package standin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// subagent is a blocking subagent: a conversation of its own inside a tool call.
type subagent struct {
	id, runID   string
	kind        string // subagent_type
	description string
	toolUse     string // id of the Agent call
	model       string
	begun       time.Time

	mu     sync.Mutex
	tools  int
	tokens int // of its context now
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// calls counts a tool call when it is made. Until the answer is complete its
// output is estimated, four bytes a token.
func (a *subagent) calls(opening usage, block json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tools++
	a.tokens = opening.context() + len(block)/4
}

// used is told the figures of a complete answer: what its context holds now, not
// what all its calls took together (observed with CLI 2.1.329).
func (a *subagent) used(u usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = u.context() + u.Output
}

func (a *subagent) usage() obj {
	a.mu.Lock()
	defer a.mu.Unlock()
	return obj{"total_tokens": a.tokens, "tool_uses": a.tools, "duration_ms": time.Since(a.begun).Milliseconds()}
}

// frame adds what every task frame carries.
func (a *subagent) frame(subtype string, o obj) obj {
	o["type"], o["subtype"], o["task_id"], o["run_id"] = "system", subtype, a.id, a.runID
	return o
}

// mark adds what every message frame of the subagent carries.
func (a *subagent) mark(o obj) {
	o["parent_tool_use_id"], o["agent_id"] = a.toolUse, a.id
	o["subagent_type"], o["task_description"] = a.kind, a.description
}

func runAgent(ctx context.Context, t *thread, c toolCall) toolResult {
	var in struct {
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
		Type        string `json:"subagent_type"`
		Model       string `json:"model"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	s := t.s
	a := &subagent{id: "a" + randomHex(8), runID: "0" + randomHex(4) + "-" + randomHex(4), kind: in.Type,
		description: in.Description, toolUse: c.ID, model: in.Model, begun: time.Now()}
	if a.kind == "" {
		a.kind = "general-purpose"
	}
	dir := strings.TrimSuffix(s.main.tr.path, ".jsonl")
	path := ""
	if dir != "" {
		path = filepath.Join(dir, "subagents", "agent-"+a.id+".jsonl")
	}
	sub := &thread{s: s, hist: &history{}, tr: newTranscript(path, s.cwd, s.id, a.id), sub: a, turn: t.turn}
	defer sub.tr.close()
	s.emit(a.frame("task_started", obj{"tool_use_id": c.ID, "description": a.description, "subagent_type": a.kind,
		"is_backgrounded": false, "spawn_depth": 1, "task_type": "local_agent", "prompt": in.Prompt}))
	sub.begin(ctx, in.Prompt)
	end := sub.converse(ctx)
	sub.writeMeta(path)
	return sub.handBack(ctx, end)
}

// begin opens the conversation with the prompt.
func (t *thread) begin(ctx context.Context, prompt string) {
	as := t.hook(ctx, "SubagentStart", t.sub.kind, obj{})
	t.emit(obj{"type": "user", "timestamp": now(), "message": obj{"role": "user", "content": []obj{{"type": "text", "text": prompt}}}})
	t.hist.addText("user", prompt)
	t.tr.link(obj{"type": "user", "promptId": t.s.promptID(), "message": obj{"role": "user", "content": prompt}})
	t.environment()
	for _, text := range as.contexts() {
		t.systemText("hook_additional_context", "SubagentStart hook additional context: "+text, obj{})
	}
}

// handBack ends the task and makes the Agent call's result.
func (t *thread) handBack(ctx context.Context, end ending) toolResult {
	a, s := t.sub, t.s
	status := "completed"
	switch {
	case ctx.Err() != nil:
		status = "killed"
	case end.api != nil:
		status = "failed"
	}
	s.emit(a.frame("task_updated", obj{"patch": obj{"status": status, "end_time": time.Now().UnixMilli()}}))
	s.emit(a.frame("task_notification", obj{"tool_use_id": a.toolUse, "status": status, "summary": end.text,
		"output_file": filepath.Join(os.TempDir(), "claude-tasks", a.id+".output"), "usage": a.usage()}))
	if end.api != nil {
		return failed("%s", end.text)
	}
	u := a.usage()
	report := "  " + strings.ReplaceAll(end.text, "\n", "\n  ")
	text := fmt.Sprintf("[Subagent hand-back] What the subagent reports, in a model's words and not the user's:\n%s\nagentId: %s\n"+
		"<usage>subagent_tokens: %d\ntool_uses: %d\nduration_ms: %d</usage>", report, a.id, u["total_tokens"], u["tool_uses"], u["duration_ms"])
	return toolResult{content: []obj{{"type": "text", "text": text}}, detail: obj{
		"status": "completed", "agentId": a.id, "agentType": a.kind, "content": []obj{{"type": "text", "text": end.text}},
		"resolvedModel": t.model(), "totalDurationMs": u["duration_ms"], "totalTokens": u["total_tokens"], "totalToolUseCount": u["tool_uses"],
	}}
}

// writeMeta writes the file beside a subagent's transcript.
func (t *thread) writeMeta(path string) {
	if path == "" {
		return
	}
	meta := obj{"agentType": t.sub.kind, "isBuiltIn": true, "description": t.sub.description, "toolUseId": t.sub.toolUse,
		"spawnDepth": 1, "requestShape": "foreground", "model": t.model(), "finished": true}
	// Like the transcript itself: a session goes on without its files.
	_ = os.WriteFile(strings.TrimSuffix(path, ".jsonl")+".meta.json", encode(meta), 0o644)
}
