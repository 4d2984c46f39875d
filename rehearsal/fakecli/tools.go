package fakecli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	verdictTool = "StructuredOutput"
	askUser     = "AskUserQuestion"
)

// tool is something a model can call.
type tool struct {
	toolSpec
	run toolFunc
}

type toolFunc func(ctx context.Context, t *thread, c toolCall) *toolResult

// toolCall is a tool_use block.
type toolCall struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// toolResult is the outcome of a call.
type toolResult struct {
	content any // text, or blocks
	isError bool
	denied  bool
}

func failed(format string, args ...any) *toolResult {
	return &toolResult{content: fmt.Sprintf(format, args...), isError: true}
}

func denied(reason string) *toolResult {
	return &toolResult{content: reason, isError: true, denied: true}
}

// rejected is the result of a call that an interrupt stopped (text of CLI 2.1.329).
func rejected() *toolResult {
	return failed("The user doesn't want to proceed with this tool use. It was rejected and may have been done in part.")
}

// builtins are the tools that scenarios call, in the order in which init lists them.
var builtins = []tool{
	{spec("Agent", "Starts an agent that does a task and reports back."), nil}, // set in init
	{spec(askUser, "Asks the user questions with options."), runAskUser},
	{spec("Bash", "Executes a bash command and returns its output."), runBash},
	{spec("Edit", "Replaces text in a file."), fileTool(edit)},
	{spec("Grep", "Searches files for a regular expression."), fileTool(grep)},
	{spec("Read", "Reads a file."), fileTool(read)},
	{spec("Write", "Writes a file."), fileTool(write)},
}

func init() { builtins[0].run = runAgent } // which looks at the list itself

func spec(name, description string) toolSpec {
	return toolSpec{name, description, json.RawMessage(`{"type":"object"}`)}
}

// chooseBuiltins applies --tools and deny rules.
func chooseBuiltins(f flags, deny []string) []tool {
	wanted := splitRules(f["--tools"])
	return slices.DeleteFunc(slices.Clone(builtins), func(t tool) bool {
		return covers(deny, t.Name) || f.has("--tools") && !slices.Contains(wanted, t.Name)
	})
}

// toolset is what a thread's model may call: a subagent gets neither the Agent tool nor the
// verdict.
func (t *thread) toolset() []tool {
	s := t.s
	out := slices.DeleteFunc(slices.Clone(s.builtin), func(b tool) bool { return t.sub != nil && b.Name == "Agent" })
	if s.verdicts() && t.sub == nil {
		verdict := toolSpec{verdictTool, "Ends the turn with the answer in the required form.",
			json.RawMessage(s.flags.get("--json-schema"))}
		out = append(out, tool{verdict, runVerdict})
	}
	for _, tl := range guarded(s, &s.mcpTools) {
		if !covers(s.deny, tl.Name) {
			out = append(out, tl)
		}
	}
	return out
}

// find returns the tool of a call, or the result of a call that cannot be made.
func (t *thread) find(c toolCall) (tool, *toolResult) {
	set := t.toolset()
	i := slices.IndexFunc(set, func(tl tool) bool { return tl.Name == c.Name })
	if i < 0 {
		return tool{}, failed("<tool_use_error>Error: No such tool available: %s</tool_use_error>", c.Name)
	}
	return set[i], nil
}

// runAskUser is reached if the host allows the call without an answer in it.
func runAskUser(context.Context, *thread, toolCall) *toolResult {
	return failed("The user did not answer the questions.")
}

// verdicts reports whether a turn ends with a verdict.
func (s *session) verdicts() bool { return s.flags.has("--json-schema") }

// runVerdict takes a verdict; the turn ends with the first.
func runVerdict(_ context.Context, t *thread, c toolCall) *toolResult {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.turn.verdict == nil {
		t.turn.verdict = c.Input
	}
	return &toolResult{content: "Structured output provided successfully"}
}

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
