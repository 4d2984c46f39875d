package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// listener turns an arriving answer into frames, history and tool calls.
type listener struct {
	t     *thread
	run   *toolRun
	begun time.Time

	a      *answer
	blocks []shownBlock
	last   string // stop reason, as results of interrupted turns show it
}

// shownBlock waits for the transcript: its line carries the final stop reason and
// usage, which come after it.
type shownBlock struct {
	uuid  string
	block json.RawMessage
	use   bool
}

func (l *listener) opened(a *answer) {
	l.a = a
	if l.t.sub == nil {
		l.t.turn.replay()
	}
}

func (l *listener) message(block json.RawMessage) obj {
	a := l.a
	return obj{"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": []json.RawMessage{block},
		"stop_reason": nil, "stop_sequence": nil, "usage": a.opening, "context_management": nil}
}

func (l *listener) block(block json.RawMessage) {
	t := l.t
	var use toolCall
	var kind struct{ Type string }
	_ = json.Unmarshal(block, &kind) // blocks of other shapes are passed through
	isUse := kind.Type == "tool_use" && json.Unmarshal(block, &use) == nil
	b := shownBlock{newUUID(), block, isUse}
	l.blocks = append(l.blocks, b)
	t.hist.add(entry{role: "assistant", id: l.a.id, blocks: []json.RawMessage{block}})
	if t.sub == nil {
		t.s.ledger.reading(l.a.opening)
	}
	if isUse && t.sub != nil {
		t.sub.calls(l.a.opening, use.Input)
		t.progress(use)
	}
	if isUse {
		t.s.faults.toolComes()
	}
	if t.sub == nil || isUse {
		frame := obj{"type": "assistant", "uuid": b.uuid, "timestamp": now(), "message": l.message(block), "request_id": l.a.requestID}
		if tl := findTool(t.toolset(), use.Name); isUse && tl != nil && tl.server != "" {
			frame["tool_use_meta"] = []obj{{"id": use.ID, "display_name": displayName(use.Name), "server_display_name": tl.server,
				"tool_name": mcpToolName(use.Name)}}
		}
		t.firstOutput(frame)
		t.emit(frame)
	}
	if isUse {
		l.run.add(use)
		t.s.faults.toolUsed(l.run.ctx, t.s)
	}
}

// progress says what a subagent does.
func (t *thread) progress(c toolCall) {
	what := t.s.describeCall(c)
	if what == "" {
		what = c.Name
	}
	t.s.emit(t.sub.frame("task_progress", obj{"tool_use_id": t.sub.toolUse, "description": "Running " + what,
		"subagent_type": t.sub.kind, "usage": t.sub.usage(), "last_tool_name": c.Name}))
}

func (l *listener) event(data json.RawMessage) {
	if l.t.s.partialMessages && l.t.sub == nil && l.a != nil {
		l.t.emit(obj{"type": "stream_event", "event": data, "api_message_id": l.a.id})
	}
}

// partial keeps what an interrupted answer had said.
func (l *listener) partial(text json.RawMessage) {
	if l.a == nil || context.Cause(l.run.ctx) == errTerminated {
		return
	}
	b := shownBlock{uuid: newUUID(), block: text}
	l.blocks = append(l.blocks, b)
	l.t.hist.add(entry{role: "assistant", id: l.a.id, blocks: []json.RawMessage{text}})
	if l.t.sub == nil {
		l.t.s.ledger.reading(l.a.opening)
		frame := obj{"type": "assistant", "uuid": b.uuid, "timestamp": now(), "message": l.message(text), "aborted": true}
		l.t.firstOutput(frame)
		l.t.emit(frame)
	}
}

func (l *listener) retrying(attempt, most int, delay time.Duration, e *apiError) {
	f := obj{"type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": most,
		"retry_delay_ms": delay.Milliseconds(), "error_status": nil, "error": e.class()}
	if e.status != 0 {
		f["error_status"] = e.status
	}
	l.t.s.emit(f)
}

// record writes the answer's lines once it is complete, or cut off.
func (l *listener) record(a *answer) {
	if a == nil {
		return
	}
	l.last = a.stopReason
	uses := false
	for _, b := range l.blocks {
		uses = uses || b.use
		m := l.message(b.block)
		m["usage"], m["stop_reason"] = a.usage.full(), nullable(a.stopReason)
		l.t.tr.link(obj{"type": "assistant", "uuid": b.uuid, "message": m, "requestId": a.requestID,
			"requestedModel": l.t.model(), "effort": l.t.s.effort()})
	}
	if l.last == "" && uses {
		l.last = "tool_use"
	}
}

// closeStream ends the stream events of an answer that was cut off.
func (l *listener) closeStream() {
	if l.a == nil {
		return
	}
	for _, e := range []string{
		fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, max(0, len(l.blocks)-1)),
		`{"type":"message_delta","delta":{"container":null,"stop_reason":null}}`,
		`{"type":"message_stop"}`,
	} {
		l.event(json.RawMessage(e))
	}
}
