package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// synthetic is the model of assistant frames that no model made.
const synthetic = "<synthetic>"

// thread is a conversation with a model: the session's own, or a subagent's.
type thread struct {
	s    *session
	tr   *transcript
	sub  *subagent // nil on the main thread
	turn *turn     // the turn that runs

	// session.mu guards these: subagents run side by side, control requests read them.
	messages []wireMessage
	contexts []string // from hooks, for after the results of the calls
}

// appendMessage adds blocks to a conversation: neighbours of one role become one message.
func appendMessage(messages []wireMessage, role string, blocks ...json.RawMessage) []wireMessage {
	if len(blocks) == 0 {
		return messages
	}
	if last := len(messages) - 1; last >= 0 && messages[last].Role == role {
		merged := wireMessage{role, slices.Concat(messages[last].Content, blocks)}
		return append(messages[:last:last], merged)
	}
	return append(messages, wireMessage{role, blocks})
}

func (t *thread) add(role string, blocks ...json.RawMessage) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.messages = appendMessage(t.messages, role, blocks...)
}

// size estimates the tokens of the conversation, and of what followed the last answer, four
// bytes each.
func (t *thread) size() (all, unread int) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, m := range t.messages {
		n := 0
		for _, b := range m.Content {
			n += len(b) / 4
		}
		all, unread = all+n, unread+n
		if m.Role == "assistant" {
			unread = 0
		}
	}
	return all, unread
}

// introduce tells a new conversation where it is, as a message of role system.
func (t *thread) introduce() {
	t.systemText("environment", "# Environment\n - Primary working directory: "+t.s.cwd, nil)
}

// emit shows a message frame, marked with whose it is.
func (t *thread) emit(o obj) {
	switch {
	case o["type"] == "system":
	case t.sub != nil:
		maps.Copy(o, obj{"parent_tool_use_id": t.sub.toolUse, "agent_id": t.sub.id, "subagent_type": t.sub.kind})
	default:
		o["parent_tool_use_id"] = nil
	}
	o["timestamp"] = now()
	t.s.emit(o)
}

func (t *thread) model() string {
	if t.sub != nil && t.sub.model != "" && t.sub.model != "inherit" {
		return resolveModel(t.sub.model)
	}
	return t.s.currentModel()
}

// reminder begins every conversation, as with the CLI: the sender's words come after it.
var reminder = textBlock("<system-reminder>\nA stand-in plays Claude Code here.\n</system-reminder>\n")

// request is the next request to the model.
func (t *thread) request() modelRequest {
	r := modelRequest{Model: strings.TrimSuffix(t.model(), "[1m]"), Stream: true, System: t.s.system(t.sub)}
	r.Output.Effort = t.s.effort
	for _, tl := range t.toolset() {
		r.Tools = append(r.Tools, tl.toolSpec)
	}
	r.Messages = []wireMessage{{"user", []json.RawMessage{reminder}}}
	if t.sub != nil {
		r.agent = t.sub.id
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, m := range t.messages {
		r.Messages = appendMessage(r.Messages, m.Role, m.Content...)
	}
	return r
}

// converse calls the model and runs its tools until the turn is over.
func (t *thread) converse(ctx context.Context) ending {
	for {
		if end := t.overBudget(); end != nil {
			return *end
		}
		a, err := t.call(ctx)
		calls := a.calls()
		if err == nil || ctx.Err() != nil {
			t.record(a)
			t.runTools(ctx, calls)
		}
		var end *ending
		switch {
		case ctx.Err() != nil:
			end = t.cutOff(context.Cause(ctx), a, len(calls) > 0)
		case err != nil:
			failure := t.fail(err)
			end = &failure
		default:
			end = t.after(ctx, a, len(calls))
		}
		if end != nil {
			return *end
		}
	}
}

// call asks the model once. The answer is as far as it came, also with an error.
func (t *thread) call(ctx context.Context) (*answer, error) {
	r := t.request()
	if t.sub == nil && t.s.flags.has("--include-partial-messages") {
		t.emit(obj{"type": "system", "subtype": "status", "status": "requesting"})
	}
	begun := time.Now()
	body, err := t.s.api.post(ctx, r)
	if err != nil {
		return &answer{}, err
	}
	defer body.Close()
	a, err := readStream(body, &listener{t, ctx})
	if err == nil {
		t.s.account.add(r.Model, a.Usage, time.Since(begun))
		if t.sub == nil {
			t.turn.usage = t.turn.usage.plus(a.Usage)
		} else {
			t.sub.tokens = a.Usage.context() + a.Usage.Output
		}
	}
	return a, err
}

// overBudget ends the turn of a session that has spent what it may.
func (t *thread) overBudget() *ending {
	most, err := strconv.ParseFloat(t.s.flags.get("--max-budget-usd"), 64)
	if t.sub != nil || err != nil || most <= 0 || t.s.account.spent() < most {
		return nil
	}
	return &ending{subtype: "error_max_budget_usd", reason: "budget_exhausted", isError: true,
		errors: []string{fmt.Sprintf("Reached maximum budget ($%v)", most)}}
}

// maxRefusals is how many invalid verdicts a turn survives.
const maxRefusals = 5

// after decides what an answer means for the turn; nil: the model is called again.
func (t *thread) after(ctx context.Context, a *answer, calls int) *ending {
	t.s.mu.Lock()
	verdict, refusals := t.turn.verdict, t.turn.refusals
	t.s.mu.Unlock()
	switch {
	case calls == 0:
		return t.answered(ctx, a)
	case t.sub != nil:
		return nil
	case verdict != nil:
		if t.stopHooks(ctx, a) {
			return nil
		}
		return &ending{reason: "completed", stop: a.Stop, text: string(verdict)}
	case refusals >= maxRefusals:
		return &ending{subtype: "error_max_structured_output_retries", reason: "structured_output_retry_exhausted",
			isError: true, stop: a.Stop,
			errors: []string{fmt.Sprintf("Failed to provide valid structured output after %d attempts", refusals)}}
	}
	t.fold(ctx)
	return nil
}

const enforceText = "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. " +
	"Call this tool now."

// answered handles an answer without tool calls: the model thinks it is done.
func (t *thread) answered(ctx context.Context, a *answer) *ending {
	enforced := t.sub == nil && t.s.verdictSchema() != nil && !t.turn.enforced
	if enforced {
		t.turn.enforced = true
		t.inject(enforceText)
	}
	on := t.stopHooks(ctx, a)
	t.turn.stopping = t.turn.stopping || on || enforced
	if on || enforced {
		return nil
	}
	return &ending{reason: "completed", stop: a.Stop, text: a.text()}
}

// stopHooks asks the Stop (or SubagentStop) hooks; on means that the model continues.
func (t *thread) stopHooks(ctx context.Context, a *answer) (on bool) {
	event, extra := "Stop", obj{"stop_hook_active": t.sub == nil && t.turn.stopping, "last_assistant_message": a.text()}
	if t.sub != nil {
		event = "SubagentStop"
		extra["agent_transcript_path"] = t.tr.path
	}
	answers := t.hook(ctx, event, "", extra)
	reason, on := answers.block()
	if texts := answers.contexts(); !on && len(texts) > 0 {
		reason, on = strings.Join(texts, "\n"), true
	}
	if on {
		t.inject(event + " hook feedback:\n" + reason)
	}
	return on
}

// inject adds a synthetic user message to the conversation.
func (t *thread) inject(text string) {
	t.sayAsUser(textBlock(text), obj{"isSynthetic": true}, obj{"isMeta": true})
}

// cutOff closes a conversation that an interrupt ended. On the way out without a result
// (SIGTERM) nothing more is said.
func (t *thread) cutOff(cause error, a *answer, tools bool) *ending {
	end := &ending{subtype: "error_during_execution", reason: "aborted_streaming", isError: true, stop: a.Stop}
	marker, shown := "[Request interrupted by user]", "null"
	if tools {
		end.reason, end.stop, marker = "aborted_tools", "tool_use", "[Request interrupted by user for tool use]"
		shown = end.stop
	}
	if cause != errTerminated && t.sub == nil {
		end.errors = []string{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=" + shown}
		t.sayAsUser(textBlock(marker), nil, nil)
	}
	return end
}

// fail ends a turn whose model call failed: a synthetic assistant message that the model
// never sees.
func (t *thread) fail(err error) ending {
	e := &apiError{message: err.Error()}
	errors.As(err, &e)
	text, id := e.text(), newUUID()
	m := syntheticMessage(text, "stop_sequence")
	frame := obj{"type": "assistant", "uuid": id, "message": m, "error": e.class(), "is_api_error_message": true}
	if e.status != 0 {
		frame["api_error_status"] = e.status
	}
	t.show(frame)
	t.tr.link(obj{"type": "assistant", "uuid": id, "message": m, "error": e.class(), "isApiErrorMessage": true})
	end := ending{reason: "api_error", isError: true, api: e, text: text, stop: "stop_sequence"}
	if e.tooLong() {
		end.reason = "prompt_too_long"
	}
	return end
}

// syntheticMessage is an assistant message with zero usage.
func syntheticMessage(text, stop string) obj {
	return obj{"id": newUUID(), "type": "message", "role": "assistant", "model": synthetic, "stop_reason": stop,
		"content": []json.RawMessage{textBlock(text)}, "usage": usage{}}
}
