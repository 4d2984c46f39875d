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
	"time"
)

// turn is the work on a message and those that join it; it ends with one result.
type turn struct {
	begun  time.Time
	cancel context.CancelCauseFunc

	// Only the goroutine that runs the turn uses these.
	messages []message // the one that began it, and those that joined it
	usage    usage
	enforced bool // a missing verdict was requested

	// session.mu guards these: the calls of subagents run concurrently.
	users   int // user frames of the main thread
	verdict json.RawMessage
}

// ending is how a turn, or a subagent, ended.
type ending struct {
	text    string
	isError bool
	more    obj // of the result's frame
}

// runTurn processes a message, and those that join it, up to the result.
func (s *session) runTurn(m message) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	t := &turn{messages: []message{m}, begun: time.Now(), cancel: cancel}
	set(s, &s.turn, t)
	defer set(s, &s.turn, nil)
	s.main.turn = t
	s.lifecycle(m.uuid, "started")
	s.faults.used.Store(false)
	s.faults.turn.Add(1)
	s.strike(turnStart)
	s.handshakes.Wait()
	s.closeOpenCalls()
	s.main.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
	s.emitInit(t)
	s.main.add("user", m.blocks...)
	source := "sdk"
	if s.typed {
		source = "typed"
	}
	s.main.linkUser(m.uuid, m.content, obj{"promptSource": source})
	s.main.addHookContexts()
	s.replay(m)
	s.main.injectMessages(ctx)
	var end ending
	if x, ok := s.faults.on("limit"); ok {
		resets := time.Now().Add(time.Duration(x.number(3600)) * time.Second).Unix()
		end = s.main.fail(&apiError{429, fmt.Sprintf("Claude AI usage limit reached|%d", resets)})
	} else if s.faults.is("auth") {
		end = s.main.fail(&apiError{401, "Failed to authenticate. API Error: 401 invalid x-api-key"})
	} else {
		end = s.main.converse(ctx)
	}
	if context.Cause(s.ctx) != errTerminated {
		s.finish(t, end)
	}
}

// injectMessages adds messages that came meanwhile to the running turn.
func (t *thread) injectMessages(ctx context.Context) {
	s := t.s
	for _, m := range s.take() {
		t.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
		s.replay(m)
		s.lifecycle(m.uuid, "started")
		t.systemText("queued_command", "The user sent a new message while you were working:\n"+m.text(),
			obj{"prompt": m.content, "source_uuid": m.uuid, "commandMode": "prompt"})
		t.addHookContexts()
		t.turn.messages = append(t.turn.messages, m)
	}
}

// finish writes the turn's result. By then all of the turn is in the transcript.
func (s *session) finish(t *turn, end ending) {
	s.mu.Lock()
	a := &s.account
	o := obj{"type": "result", "subtype": "success", "is_error": end.isError, "result": end.text,
		"num_turns": 1 + t.users, "stop_reason": nil,
		"duration_ms": time.Since(t.begun).Milliseconds(), "usage": t.usage, "user_message_uuids": uuidsOf(t.messages),
		"total_cost_usd": a.cost, "modelUsage": maps.Clone(a.total), "model_usage_since_last_result": a.sinceResult}
	a.sinceResult = modelUsage{}
	state := costState{"cost-state", s.id, a.cost, maps.Clone(a.total)}
	outcome := "completed"
	if s.failed = 0; end.isError {
		s.failed, outcome = 1, "cancelled"
	}
	s.mu.Unlock()
	if maps.Copy(o, end.more); o["errors"] != nil {
		delete(o, "result")
	}
	s.main.tr.note(state)
	for _, m := range t.messages[1:] {
		s.lifecycle(m.uuid, outcome)
	}
	copies := 1
	if s.faults.is("no-result") {
		copies = 0
	} else if s.faults.is("double-result") {
		copies = 2
	}
	for range copies {
		delete(o, "uuid")
		s.emit(o)
	}
	s.lifecycle(t.messages[0].uuid, outcome)
	if len(s.waiting()) == 0 {
		s.emit(obj{"type": "system", "subtype": "session_state_changed", "state": "idle"})
	}
}

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
			u := &t.turn.usage
			*u = usage{Input: u.Input + a.Usage.Input, CacheCreation: u.CacheCreation + a.Usage.CacheCreation,
				CacheRead: u.CacheRead + a.Usage.CacheRead, Output: u.Output + a.Usage.Output}
		default:
			t.sub.tokens = a.Usage.Context() + a.Usage.Output
		}
		if err == nil || ctx.Err() != nil {
			t.add("assistant", a.Content...) // as far as it has arrived
			for i, uuid := range a.uuids {
				t.tr.link(obj{"type": "assistant", "uuid": uuid, "message": a.message(a.Content[i : i+1])})
			}
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
	return &ending{isError: true, more: obj{"subtype": "error_max_budget_usd", "terminal_reason": "budget_exhausted",
		"errors": []string{fmt.Sprintf("Reached maximum budget ($%v)", most)}}}
}

// enforceText asks for the verdict if an answer has none.
const enforceText = "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. " +
	"Call this tool now."

// after determines the effect of an answer on the turn; nil: the model is called again.
func (t *thread) after(ctx context.Context, a *answer, calls int) *ending {
	verdict := guarded(t.s, &t.turn.verdict)
	completed := obj{"terminal_reason": "completed", "stop_reason": nullable(a.Stop)}
	switch {
	case calls == 0 && t.wantsVerdict() && !t.turn.enforced:
		t.turn.enforced = true
		t.addUserMessage(textBlock(enforceText), obj{"isSynthetic": true}, obj{"isMeta": true})
	case calls == 0:
		return &ending{text: textOf(a.Content), more: completed}
	case t.sub != nil:
	case verdict != nil:
		completed["structured_output"] = verdict
		return &ending{text: string(verdict), more: completed}
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
	more, marker := obj{"subtype": "error_during_execution", "terminal_reason": "aborted_streaming",
		"errors": []string{"[ede_diagnostic] result_type=user"}}, "[Request interrupted by user]"
	if tools {
		more["terminal_reason"], more["stop_reason"] = "aborted_tools", "tool_use"
		marker = "[Request interrupted by user for tool use]"
	}
	if cause != errTerminated && t.sub == nil {
		t.addUserMessage(textBlock(marker), nil, nil)
	}
	return ending{isError: true, more: more}
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
	return ending{e.text, true, obj{"terminal_reason": "api_error", "stop_reason": "stop_sequence",
		"api_error_status": e.status}}
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
