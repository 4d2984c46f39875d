package fakecli

import (
	"context"
	"encoding/json"
)

// listener turns an arriving answer into frames.
type listener struct {
	t   *thread         // nil outside of the conversation
	ctx context.Context // of the turn
}

// opened is called with the head of the answer.
func (l *listener) opened() {
	if l.t == nil || l.t.sub != nil || l.t.turn.replayed {
		return
	}
	l.t.turn.replayed = true
	l.t.s.replay(l.t.turn.message)
}

// event is called with every event of the stream.
func (l *listener) event(a *answer, data json.RawMessage) {
	if l.t != nil && l.t.sub == nil && l.t.s.flags.has("--include-partial-messages") {
		l.t.emit(obj{"type": "stream_event", "event": data, "api_message_id": a.ID})
	}
}

// block is called with every content block that is complete.
func (l *listener) block(a *answer, block json.RawMessage) {
	t, id := l.t, a.append(block)
	if t == nil {
		return
	}
	var c toolCall
	_ = json.Unmarshal(block, &c) // blocks of other shapes are passed through
	called := c.Type == "tool_use"
	if t.sub == nil {
		t.s.account.read(a.opening)
	}
	if called {
		t.s.faults.toolComes()
		if t.sub != nil {
			t.sub.calls(t.s, a.opening.context()+len(c.Input)/4, c)
		}
	}
	if t.sub == nil || called { // the texts of subagents are not shown
		t.show(obj{"type": "assistant", "uuid": id, "message": a.message(block, a.opening, "")})
	}
	if called {
		t.s.faults.toolUsed(t.s)
	}
}

// partial is called with the unfinished text of an answer that was cut off.
func (l *listener) partial(a *answer, text json.RawMessage) {
	if l.t == nil || context.Cause(l.ctx) == errTerminated {
		return
	}
	id := a.append(text)
	if l.t.sub == nil {
		l.t.s.account.read(a.opening)
		l.t.show(obj{"type": "assistant", "uuid": id, "message": a.message(text, a.opening, ""), "aborted": true})
	}
}

// show emits an assistant frame; a turn's first one names its messages.
func (t *thread) show(frame obj) {
	if t.sub == nil && !t.turn.named {
		t.turn.named = true
		t.turn.nameMessages(frame)
	}
	t.emit(frame)
}

// append adds a block, and returns the uuid of its frame and line.
func (a *answer) append(block json.RawMessage) (uuid string) {
	a.Content, a.uuids = append(a.Content, block), append(a.uuids, newUUID())
	return a.uuids[len(a.uuids)-1]
}

// message is one block of the answer as frames and lines have it.
func (a *answer) message(block json.RawMessage, u usage, stop string) obj {
	return obj{"id": a.ID, "type": "message", "role": "assistant", "model": a.Model, "content": []json.RawMessage{block},
		"stop_reason": nullable(stop), "usage": u}
}

// record adds an answer, as far as it came, to the conversation and the transcript.
func (t *thread) record(a *answer) {
	t.add("assistant", a.Content...)
	for i, block := range a.Content {
		t.tr.link(obj{"type": "assistant", "uuid": a.uuids[i], "message": a.message(block, a.Usage, a.Stop)})
	}
}
