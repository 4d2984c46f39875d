package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Why a turn's context ended.
var (
	errInterrupted = errors.New("interrupted") // the turn ends with a result
	errTerminated  = errors.New("terminated")  // the process leaves without one
)

// thread is a conversation with a model: the session's own, or a subagent's.
type thread struct {
	s    *session
	tr   *transcriptFile
	sub  *subagent // nil on the main thread
	turn *turn     // the running turn

	// session.mu guards these: subagents run concurrently, and control requests read them.
	messages []wireMessage
	contexts []string // from hooks, added after the results of the calls
}

// appendMessage adds blocks to a conversation: neighbouring messages of one role are joined.
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

// emit writes a message frame, marked with its thread.
func (t *thread) emit(o obj) {
	o["parent_tool_use_id"] = nil
	if t.sub != nil {
		maps.Copy(o, obj{"parent_tool_use_id": t.sub.toolUse, "agent_id": t.sub.id, "subagent_type": t.sub.kind})
	}
	o["timestamp"] = now()
	t.s.emit(o)
}

// converse calls the model and runs its tools until the turn is over.
func (t *thread) converse(ctx context.Context) ending {
	for {
		if end := t.overBudget(); end != nil {
			return *end
		}
		a, err := t.call(ctx, t.request(), true)
		calls := calls(a.Content)
		switch {
		case err != nil:
		case t.sub == nil:
			t.turn.usage = sum(t.turn.usage, a.Usage)
		default:
			t.sub.tokens = a.Usage.Context() + a.Usage.Output
		}
		if err == nil || ctx.Err() != nil {
			t.record(a)
			t.runTools(ctx, calls)
		}
		switch {
		case ctx.Err() != nil:
			return t.cutOff(context.Cause(ctx), len(calls) > 0)
		case err != nil:
			return t.fail(err)
		}
		if end := t.after(ctx, a, len(calls)); end != nil {
			return *end
		}
	}
}

// overBudget ends the turn of a session that has used up its budget: --max-cost of a run relies on it
// within a turn.
func (t *thread) overBudget() *ending {
	most, err := strconv.ParseFloat(t.s.flags.get("--max-budget-usd"), 64)
	if t.sub != nil || err != nil || most <= 0 || guarded(t.s, &t.s.account.cost) < most {
		return nil
	}
	return &ending{subtype: "error_max_budget_usd", reason: "budget_exhausted", isError: true,
		errors: []string{fmt.Sprintf("Reached maximum budget ($%v)", most)}}
}

// enforceText asks for the verdict if an answer has none.
const enforceText = "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. " +
	"Call this tool now."

// after determines the effect of an answer on the turn; nil: the model is called again.
func (t *thread) after(ctx context.Context, a *answer, calls int) *ending {
	verdict := guarded(t.s, &t.turn.verdict)
	switch {
	case calls == 0 && t.wantsVerdict() && !t.turn.enforced:
		t.turn.enforced = true
		t.addUserMessage(textBlock(enforceText), obj{"isSynthetic": true}, obj{"isMeta": true})
	case calls == 0:
		return &ending{reason: "completed", stop: a.Stop, text: textOf(a.Content)}
	case t.sub != nil:
	case verdict != nil:
		return &ending{reason: "completed", stop: a.Stop, text: string(verdict)}
	default:
		t.injectMessages(ctx)
	}
	return nil
}

// addUserMessage adds a message of role user that the host did not send: to the stream, the
// conversation and the transcript.
func (t *thread) addUserMessage(block json.RawMessage, inFrame, inLine obj) {
	content := []json.RawMessage{block}
	id := newUUID()
	frame := obj{"type": "user", "message": obj{"role": "user", "content": content}, "uuid": id}
	maps.Copy(frame, inFrame)
	t.add("user", content...)
	t.linkUser(id, content, inLine)
	if t.sub == nil {
		t.s.mu.Lock()
		t.turn.users++
		t.s.mu.Unlock()
	}
	t.emit(frame)
}

// cutOff completes a conversation that an interrupt ended. If the process exits without a result (SIGTERM),
// it adds nothing.
func (t *thread) cutOff(cause error, tools bool) ending {
	end := ending{subtype: "error_during_execution", reason: "aborted_streaming", isError: true}
	marker := "[Request interrupted by user]"
	if tools {
		end.reason, end.stop, marker = "aborted_tools", "tool_use", "[Request interrupted by user for tool use]"
	}
	if cause != errTerminated && t.sub == nil {
		end.errors = []string{"[ede_diagnostic] result_type=user"}
		t.addUserMessage(textBlock(marker), nil, nil)
	}
	return end
}

// fail ends a turn whose model call failed: a synthetic assistant message that the model
// never sees.
func (t *thread) fail(err error) ending {
	e := &apiError{text: "API Error: " + err.Error()}
	errors.As(err, &e)
	id, m, class := newUUID(), syntheticMessage(e.text), cmp.Or(apiErrors[e.status], "unknown")
	t.emit(obj{"type": "assistant", "uuid": id, "message": m, "error": class, "is_api_error_message": true,
		"api_error_status": e.status})
	t.tr.link(obj{"type": "assistant", "uuid": id, "message": m, "error": class, "isApiErrorMessage": true})
	return ending{reason: "api_error", isError: true, status: e.status, text: e.text, stop: "stop_sequence"}
}

// apiErrors are the CLI's names for failures of the API, by status.
var apiErrors = map[int]string{401: "authentication_failed", 429: "rate_limit",
	500: "server_error", 503: "server_error", 529: "server_error"}

// synthetic is the model name in assistant frames that no model produced.
const synthetic = "<synthetic>"

// syntheticMessage is an assistant message with zero usage.
func syntheticMessage(text string) obj {
	return obj{"id": newUUID(), "type": "message", "role": "assistant", "model": synthetic, "stop_reason": "stop_sequence",
		"content": []json.RawMessage{textBlock(text)}, "usage": usage{}}
}
