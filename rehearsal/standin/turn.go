package standin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"
)

// turn is what a message, or several merged ones, set off; it ends in one result.
type turn struct {
	s       *session
	message message // merged
	begun   time.Time
	cancel  context.CancelCauseFunc

	mu        sync.Mutex
	all       []message // that went into the turn
	uuids     []string  // of those that have one
	folded    []string
	users     int // user frames of the main thread
	usage     usage
	denials   []obj
	verdicts  verdictState
	announced bool // the first assistant frame named the messages
	replayed  bool
	stopping  bool // a Stop hook, or the enforcement, made the model go on
	enforced  bool
}

// verdictState is how far the turn's verdict has come.
type verdictState struct {
	accepted    json.RawMessage
	refusals    int
	lastRefusal string
}

func (t *turn) verdictState() verdictState {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.verdicts
}

func (t *turn) acceptVerdict(v json.RawMessage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verdicts.accepted == nil {
		t.verdicts.accepted = v
	}
}

func (t *turn) refuseVerdict(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.verdicts.refusals++
	t.verdicts.lastRefusal = why
}

func (t *turn) countUser() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users++
}

func (t *turn) addUsage(u usage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage = t.usage.plus(u)
}

func (t *turn) denied(c toolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.denials = append(t.denials, obj{"tool_name": c.Name, "tool_use_id": c.ID, "tool_input": c.Input})
}

func (t *turn) stopActive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopping
}

func (t *turn) setStopActive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopping = true
}

// enforceOnce tells, once per turn, that a missing verdict is to be asked for.
func (t *turn) enforceOnce() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.enforced
	t.enforced = true
	return first
}

// replay re-emits the turn's message when the model's first output arrives.
func (t *turn) replay() {
	t.mu.Lock()
	first := !t.replayed
	t.replayed = true
	t.mu.Unlock()
	if first {
		t.s.replay(t.message)
	}
}

// firstOutput names the turn's messages on its first assistant frame.
func (t *thread) firstOutput(frame obj) {
	if t.sub != nil {
		return
	}
	t.turn.mu.Lock()
	defer t.turn.mu.Unlock()
	if !t.turn.announced {
		t.turn.announced = true
		nameMessages(frame, t.turn.uuids)
	}
}

func nameMessages(frame obj, uuids []string) {
	if len(uuids) > 0 {
		frame["user_message_uuid"], frame["user_message_uuids"] = uuids[len(uuids)-1], slices.Clone(uuids)
	}
}

// mergeMessages makes one message of a batch: texts joined by newlines, named by
// the last uuid.
func mergeMessages(batch []message) message {
	m := batch[len(batch)-1]
	if len(batch) == 1 {
		return m
	}
	var texts []string
	var others []json.RawMessage
	for _, b := range batch {
		texts = append(texts, b.text())
		others = append(others, b.nonText()...)
	}
	joined := strings.Join(texts, "\n")
	for _, b := range batch[:len(batch)-1] {
		if b.uuid != "" {
			m.merged = append(m.merged, b.uuid)
		}
	}
	m.blocks, m.content = append([]json.RawMessage{textBlock(joined)}, others...), encode(joined)
	return m
}

func (m message) nonText() (out []json.RawMessage) {
	for _, b := range m.blocks {
		var k struct{ Type string }
		if json.Unmarshal(b, &k) == nil && k.Type != "text" {
			out = append(out, b)
		}
	}
	return out
}

// runTurn takes a batch of messages from the inbox to the result.
func (s *session) runTurn(batch []message) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	t := &turn{s: s, message: mergeMessages(batch), begun: time.Now(), cancel: cancel, all: slices.Clone(batch)}
	for i, m := range batch {
		if m.uuid != "" {
			t.uuids = append(t.uuids, m.uuid)
		}
		if i < len(batch)-1 {
			s.replay(m)
		}
	}
	s.startTurn(t)
	defer s.endTurn()
	for _, m := range batch {
		s.diary.message("took", s.id, m)
		s.lifecycle(m.uuid, "started")
		s.main.tr.note(obj{"type": "queue-operation", "operation": "dequeue", "timestamp": now()})
	}
	s.faults.turnStarts(s)
	s.mcp.settle()
	s.closePast()
	end := s.perform(ctx, t)
	if context.Cause(s.ctx) == errTerminated {
		return
	}
	s.finish(t, end)
}

// outcome is what perform came to: a conversation's ending, or the result of
// something that needed no model.
type outcome struct {
	ending
	local   bool // no model was asked
	command string
}

// perform runs what the message asks for.
func (s *session) perform(ctx context.Context, t *turn) outcome {
	m := t.message
	as := s.main.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
	s.emitInit(t)
	if text, stopped := s.blockedPrompt(as, m); stopped {
		return outcome{local: true, ending: ending{text: text}}
	}
	if name := m.command(); name != "" {
		return outcome{local: true, command: name, ending: ending{text: s.runCommand(ctx, t, name)}}
	}
	s.recordPrompt(m, as.contexts())
	if e := s.faults.refusal(); e != nil {
		text := e.text(s.currentModel(), s.api.gateway())
		s.main.showAPIError(e, text)
		return outcome{ending: ending{reason: "api_error", isError: true, api: e, text: text, stop: "stop_sequence"}}
	}
	if !s.api.loggedIn() {
		const text = "Not logged in · Please run /login"
		e := &apiError{status: 401, kind: "authentication_error", message: text}
		s.main.showAPIError(e, text)
		return outcome{ending: ending{reason: "api_error", isError: true, api: e, text: text, stop: "stop_sequence"}}
	}
	return outcome{ending: s.main.converse(ctx)}
}

// blockedPrompt applies what UserPromptSubmit hooks said against the prompt. A
// hook that did not answer in time drops the prompt.
func (s *session) blockedPrompt(as hookAnswers, m message) (text string, stopped bool) {
	var reason string
	switch why, blocked := as.block(); {
	case blocked:
		text, reason = "UserPromptSubmit operation blocked by hook:\n"+why, why
	case as.timedOut():
		text, reason = "UserPromptSubmit hook timed out", "timeout"
	default:
		return "", false
	}
	text += "\n\nOriginal prompt: " + m.text()
	s.emit(obj{"type": "system", "subtype": "informational", "content": text, "level": "warning", "prevent_continuation": true,
		"prompt_submit_outcome": obj{"kind": "blocked_by_hook", "prompt_kept": false, "reason": reason}})
	return text, true
}

// recordPrompt puts the message into the conversation and the transcript.
func (s *session) recordPrompt(m message, contexts []string) {
	s.main.hist.add(entry{role: "user", blocks: m.blocks, prompt: true})
	line := obj{"type": "user", "message": obj{"role": "user", "content": m.content}, "promptId": s.promptID(),
		"permissionMode": s.perms.currentMode(), "promptSource": s.source(), "turnOrigin": s.origin()}
	if m.uuid != "" {
		line["uuid"] = m.uuid
	}
	if len(m.merged) > 0 {
		line["mergedSendUuids"] = m.merged
	}
	s.main.tr.link(line)
	if !s.introduced {
		s.introduced = true
		s.main.environment()
		s.main.tr.note(obj{"type": "api-request-shape", "timestamp": now(), "version": version, "shape": obj{"system": s.system(nil)}})
	}
	for _, text := range contexts {
		s.main.systemText("hook_additional_context", "UserPromptSubmit hook additional context: "+text, obj{})
	}
}

// fold takes messages that came meanwhile into the running turn.
func (t *thread) fold(ctx context.Context) {
	s := t.s
	for _, m := range s.inbox.fold(ctx) {
		as := t.hook(ctx, "UserPromptSubmit", "", obj{"prompt": m.text()})
		if _, blocked := as.block(); blocked || as.timedOut() {
			s.lifecycle(m.uuid, "cancelled")
			continue
		}
		s.replay(m)
		s.diary.message("took", s.id, m)
		s.lifecycle(m.uuid, "started")
		s.main.tr.note(obj{"type": "queue-operation", "operation": "remove", "timestamp": now(),
			"content": m.text(), "reason": "absorbed_mid_turn", "commandUuid": m.uuid})
		t.systemText("queued_command", "The user sent a new message while you were working:\n"+m.text(),
			obj{"prompt": m.content, "source_uuid": m.uuid, "commandMode": "prompt"})
		if m.uuid != "" {
			t.turn.mu.Lock()
			t.turn.all = append(t.turn.all, m)
			t.turn.uuids, t.turn.folded = append(t.turn.uuids, m.uuid), append(t.turn.folded, m.uuid)
			t.turn.mu.Unlock()
		}
	}
}
