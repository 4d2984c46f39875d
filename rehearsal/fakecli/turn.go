package fakecli

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
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
	subtype string // "" = success
	reason  string // terminal_reason
	stop    string // stop_reason of the last answer
	text    string
	isError bool
	errors  []string
	status  int // of the API, if it failed
}

// runTurn processes a message, and those that join it, up to the result.
func (s *session) runTurn(m message) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	t := &turn{messages: []message{m}, begun: time.Now(), cancel: cancel}
	set(s, &s.turn, t)
	defer set(s, &s.turn, nil)
	s.main.turn = t
	s.ledger.message("took", s.id, m)
	s.lifecycle(m.uuid, "started")
	s.faults.turnStarts(s)
	s.handshakes.Wait()
	s.closeOpenCalls()
	s.main.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
	s.emitInit(t)
	s.recordPrompt(m)
	s.replay(m)
	s.main.injectMessages(ctx)
	end := s.main.perform(ctx)
	if context.Cause(s.ctx) != errTerminated {
		s.finish(t, end)
	}
}

// perform calls the model, unless a fault prevents it.
func (t *thread) perform(ctx context.Context) ending {
	if e := t.s.faults.refusal(); e != nil {
		return t.fail(e)
	}
	return t.converse(ctx)
}

// recordPrompt adds the message to the conversation and the transcript.
func (s *session) recordPrompt(m message) {
	s.main.add("user", m.blocks...)
	source := "sdk"
	if s.typed {
		source = "typed"
	}
	s.main.linkUser(m.uuid, m.content, obj{"promptSource": source})
	s.main.addHookContexts()
}

// injectMessages adds messages that came meanwhile to the running turn.
func (t *thread) injectMessages(ctx context.Context) {
	s := t.s
	for _, m := range s.take() {
		t.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
		s.replay(m)
		s.ledger.message("took", s.id, m)
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
		"num_turns": 1 + t.users, "stop_reason": nullable(end.stop), "terminal_reason": end.reason,
		"duration_ms": time.Since(t.begun).Milliseconds(), "usage": t.usage, "user_message_uuids": uuidsOf(t.messages),
		"total_cost_usd": a.cost, "modelUsage": maps.Clone(a.total), "model_usage_since_last_result": a.sinceResult}
	a.sinceResult = modelUsage{}
	state, verdict := costState{"cost-state", s.id, a.cost, maps.Clone(a.total)}, t.verdict
	s.failed = 0
	if end.isError {
		s.failed = 1
	}
	s.mu.Unlock()
	if end.reason == "completed" && verdict != nil {
		o["structured_output"] = verdict
	}
	if end.subtype != "" {
		o["subtype"], o["errors"] = end.subtype, end.errors
		delete(o, "result")
	}
	if end.status != 0 {
		o["api_error_status"] = end.status
	}
	s.main.tr.note(state)
	outcome := "completed"
	if end.isError || strings.HasPrefix(end.reason, "aborted_") {
		outcome = "cancelled"
	}
	for _, m := range t.messages[1:] {
		s.lifecycle(m.uuid, outcome)
	}
	for _, m := range t.messages {
		s.ledger.message("ended", s.id, m)
	}
	for range s.faults.resultCopies() {
		delete(o, "uuid")
		s.emit(o)
	}
	s.lifecycle(t.messages[0].uuid, outcome)
	if len(s.waiting()) == 0 {
		s.emit(obj{"type": "system", "subtype": "session_state_changed", "state": "idle"})
	}
}
