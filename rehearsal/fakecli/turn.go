package fakecli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// turn is what a message, or several merged ones, started; it ends in one result.
type turn struct {
	s       *session
	message message // merged
	begun   time.Time
	cancel  context.CancelCauseFunc

	// Only the goroutine that runs the turn uses these.
	all      []message // that went into the turn
	uuids    []string  // of those that have one
	folded   []string  // of those that joined while it ran
	usage    usage
	named    bool // the first assistant frame named the messages
	replayed bool // the message was repeated to the host
	enforced bool // a missing verdict was asked for
	stopping bool // a Stop hook, or the enforcement, made the model continue

	// session.mu guards these: the calls of subagents run side by side.
	users    int // user frames of the main thread
	denials  []obj
	verdict  json.RawMessage
	refusals int // of verdicts
}

func (t *turn) countUser() {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.users++
}

func (t *turn) denied(c toolCall) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.denials = append(t.denials, obj{"tool_name": c.Name, "tool_use_id": c.ID, "tool_input": c.Input})
}

func (t *turn) nameMessages(frame obj) {
	if n := len(t.uuids); n > 0 {
		frame["user_message_uuid"], frame["user_message_uuids"] = t.uuids[n-1], slices.Clone(t.uuids)
	}
}

// ending is how a turn, or a subagent, ended.
type ending struct {
	subtype string // "" = success
	reason  string // terminal_reason; "" = no model was asked
	stop    string // stop_reason of the last answer
	text    string
	isError bool
	errors  []string
	api     *apiError
}

// runTurn takes a batch of messages from the inbox to the result.
func (s *session) runTurn(batch []message) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	t := &turn{s: s, message: mergeMessages(batch), all: slices.Clone(batch), uuids: uuidsOf(batch),
		begun: time.Now(), cancel: cancel}
	s.setTurn(t)
	defer s.setTurn(nil)
	s.main.turn = t
	s.setState("running")
	for i, m := range batch {
		if i < len(batch)-1 {
			s.replay(m) // the last one follows with the first output
		}
		s.ledger.message("took", s.id, m)
		s.lifecycle(m.uuid, "started")
	}
	s.faults.turnStarts(s)
	s.handshakes.Wait()
	s.closePast()
	end := s.perform(ctx, t)
	if context.Cause(s.ctx) != errTerminated {
		s.finish(t, end)
	}
}

// perform asks the model, unless a hook or a fault is in the way.
func (s *session) perform(ctx context.Context, t *turn) ending {
	m := t.message
	answers := s.main.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
	s.emitInit(t)
	if reason, blocked := answers.block(); blocked {
		text := "UserPromptSubmit operation blocked by hook:\n" + reason + "\n\nOriginal prompt: " + m.text()
		s.emit(obj{"type": "system", "subtype": "informational", "content": text, "prevent_continuation": true,
			"prompt_submit_outcome": obj{"kind": "blocked_by_hook", "prompt_kept": false, "reason": reason}})
		return ending{text: text}
	}
	s.recordPrompt(m, answers.contexts())
	if e := s.faults.refusal(); e != nil {
		return s.main.fail(e)
	}
	if s.env["ANTHROPIC_API_KEY"] == "" && s.env["ANTHROPIC_AUTH_TOKEN"] == "" {
		const text = "Not logged in · Please run /login"
		return s.main.fail(&apiError{status: 401, kind: "authentication_error", said: text})
	}
	return s.main.converse(ctx)
}

// recordPrompt adds the message to the conversation and the transcript.
func (s *session) recordPrompt(m message, contexts []string) {
	s.main.add("user", m.blocks...)
	extra := obj{"promptSource": s.promptSource()}
	if len(m.merged) > 0 {
		extra["mergedSendUuids"] = m.merged
	}
	s.main.linkUser(m.uuid, m.content, extra)
	if !s.introduced {
		s.introduced = true
		s.main.introduce()
	}
	s.main.remember("UserPromptSubmit", contexts)
	s.main.tellContexts()
}

// fold takes messages that came meanwhile into the running turn.
func (t *thread) fold(ctx context.Context) {
	s := t.s
	batch, _ := s.inbox.take()
	for _, m := range batch {
		answers := t.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
		if _, blocked := answers.block(); blocked {
			s.lifecycle(m.uuid, "cancelled")
			continue
		}
		s.replay(m)
		s.ledger.message("took", s.id, m)
		s.lifecycle(m.uuid, "started")
		t.systemText("queued_command", "The user sent a new message while you were working:\n"+m.text(),
			obj{"prompt": m.content, "source_uuid": m.uuid, "commandMode": "prompt"})
		t.turn.all = append(t.turn.all, m)
		if m.uuid != "" {
			t.turn.uuids, t.turn.folded = append(t.turn.uuids, m.uuid), append(t.turn.folded, m.uuid)
		}
	}
}

// finish writes the turn's result. By then all of the turn is in the transcript.
func (s *session) finish(t *turn, end ending) {
	s.mu.Lock()
	o := obj{"type": "result", "subtype": "success", "is_error": end.isError, "result": end.text,
		"result_index": s.results, "num_turns": 0, "stop_reason": nullable(end.stop), "api_error_status": nil,
		"duration_ms": time.Since(t.begun).Milliseconds(), "usage": t.usage, "queued_turn_count": 0,
		"permission_denials": append([]obj{}, t.denials...)}
	if end.reason != "" {
		o["num_turns"], o["terminal_reason"] = 1+t.users, end.reason
	}
	if end.reason == "completed" && t.verdict != nil {
		o["structured_output"] = t.verdict
	}
	s.results++
	s.failed = end.isError
	s.mu.Unlock()
	t.nameMessages(o)
	if end.subtype != "" {
		o["subtype"], o["errors"] = end.subtype, end.errors
		delete(o, "result")
	}
	if end.api != nil && end.api.status != 0 {
		o["api_error_status"], o["api_error_type"] = end.api.status, end.api.kind
	}
	s.main.tr.note(s.account.report(o))
	state := "completed"
	if end.isError || strings.HasPrefix(end.reason, "aborted_") {
		state = "cancelled"
	}
	for _, id := range t.folded {
		s.lifecycle(id, state)
	}
	for _, m := range t.all {
		s.ledger.message("ended", s.id, m)
	}
	for range s.faults.resultCopies() {
		delete(o, "uuid")
		s.emit(o)
	}
	for _, id := range t.uuids[:len(t.uuids)-len(t.folded)] {
		s.lifecycle(id, state)
	}
	if s.inbox.empty() {
		s.setState("idle")
	}
}
