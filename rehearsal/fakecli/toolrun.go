package fakecli

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// calls are the tool calls of an answer.
func (a *answer) calls() (calls []toolCall) {
	for _, raw := range a.Content {
		var c toolCall
		if json.Unmarshal(raw, &c) == nil && c.Type == "tool_use" {
			calls = append(calls, c)
		}
	}
	return calls
}

// runTools runs the calls of one answer: Agent calls side by side, others in order. (The real
// CLI begins while the answer still streams.)
func (t *thread) runTools(ctx context.Context, calls []toolCall) {
	var agents sync.WaitGroup
	for _, c := range calls {
		if c.Name == "Agent" {
			agents.Go(func() { t.deliver(c, t.execute(ctx, c)) })
			continue
		}
		agents.Wait()
		t.deliver(c, t.execute(ctx, c))
	}
	agents.Wait()
	t.tellContexts()
	if len(calls) > 0 {
		t.s.faults.toolsRan(ctx)
	}
}

// execute takes one call through the checks, hooks, permission and the tool.
func (t *thread) execute(ctx context.Context, c toolCall) *toolResult {
	tl, unusable := t.find(c)
	switch {
	case ctx.Err() != nil:
		return rejected()
	case unusable != nil:
		return unusable
	}
	c, refused := t.permit(ctx, c)
	switch {
	case ctx.Err() != nil:
		return rejected()
	case refused != nil:
		return refused
	}
	begun := time.Now()
	res := tl.run(ctx, t, c)
	if context.Cause(ctx) == errInterrupted {
		return rejected()
	}
	if ctx.Err() == nil {
		t.afterwards(ctx, c, res, time.Since(begun))
	}
	return res
}

// afterwards calls the hooks that receive the outcome.
func (t *thread) afterwards(ctx context.Context, c toolCall, res *toolResult, took time.Duration) {
	event := "PostToolUse"
	extra := obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID, "duration_ms": took.Milliseconds()}
	if res.isError {
		event = "PostToolUseFailure"
		extra["error"], extra["is_interrupt"] = res.content, false
	} else {
		extra["tool_response"] = res.content
	}
	answers := t.hook(ctx, event, c.Name, extra)
	t.remember(event+":"+c.Name, answers.contexts())
}

// deliver shows a result to the host, the model and the transcript.
func (t *thread) deliver(c toolCall, res *toolResult) {
	block := obj{"type": "tool_result", "tool_use_id": c.ID, "content": res.content, "is_error": res.isError}
	decision := "accept"
	if res.denied {
		decision = "reject"
	}
	meta := []obj{{"id": c.ID, "permission_decision": obj{"decision": decision}}}
	t.sayAsUser(encode(block), obj{"tool_result_meta": meta}, nil)
}
