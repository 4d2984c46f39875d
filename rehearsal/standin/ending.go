package standin

import (
	"context"
	"encoding/json"
)

// ending says how a turn, or a subagent, came to its end.
type ending struct {
	subtype string // "" = success
	reason  string // terminal_reason
	stop    string // stop_reason of the last answer
	text    string
	isError bool
	errors  []string
	api     *apiError
	// apiClass is what result frames call api_error.
	apiClass string
}

// cutOff closes a conversation that an interrupt ended. On the way out without a
// result (SIGTERM) nothing more is said.
func (t *thread) cutOff(cause error, l *listener, tools bool) *ending {
	end := &ending{subtype: "error_during_execution", reason: "aborted_streaming", isError: true, stop: l.last}
	marker := "[Request interrupted by user]"
	if tools {
		end.reason, marker = "aborted_tools", "[Request interrupted by user for tool use]"
	}
	if cause == errTerminated || t.sub != nil {
		return end
	}
	shown := "null"
	if l.last != "" {
		shown = l.last
	}
	end.errors = []string{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=" + shown}
	message := obj{"role": "user", "content": []obj{{"type": "text", "text": marker}}}
	id := newUUID()
	t.emit(obj{"type": "user", "uuid": id, "timestamp": now(), "message": message})
	t.turn.countUser()
	t.hist.addText("user", marker)
	t.tr.link(obj{"type": "user", "uuid": id, "message": message, "promptId": t.s.promptID()})
	return end
}

// apiFailure ends a turn whose model call failed for good.
func (t *thread) apiFailure(ctx context.Context, err error, model string) *ending {
	e, ok := err.(*apiError)
	if !ok {
		e = &apiError{message: err.Error()}
	}
	text := e.text(model, t.s.api.gateway())
	t.showAPIError(e, text)
	if t.sub == nil {
		t.hook(ctx, "StopFailure", "", obj{"error": e.class(), "last_assistant_message": text})
	}
	reason := "api_error"
	if e.tooLong() {
		reason = "prompt_too_long"
	}
	return &ending{reason: reason, isError: true, api: e, text: text, stop: "stop_sequence"}
}

// showAPIError shows a failure as a synthetic assistant message. The model never
// sees it.
func (t *thread) showAPIError(e *apiError, text string) {
	m := syntheticMessage(text, "stop_sequence")
	id := newUUID()
	frame := obj{"type": "assistant", "uuid": id, "timestamp": now(), "message": m, "error": e.class(), "is_api_error_message": true}
	if e.status != 0 {
		frame["api_error_status"] = e.status
	}
	if e.kind != "" {
		frame["api_error_type"] = e.kind
	}
	t.firstOutput(frame)
	t.emit(frame)
	t.tr.link(obj{"type": "assistant", "uuid": id, "message": m, "error": e.class(), "isApiErrorMessage": true})
}

// syntheticMessage is an assistant message with zero usage.
func syntheticMessage(text, stop string) obj {
	return obj{"id": newUUID(), "type": "message", "role": "assistant", "model": synthetic, "stop_reason": stop,
		"stop_sequence": nil, "content": []json.RawMessage{textBlock(text)}, "usage": usage{}.full()}
}
