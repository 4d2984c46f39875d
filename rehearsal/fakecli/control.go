package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
)

// Control requests go both ways. The reader of stdin serves those of the host, the program that started the
// CLI, and delivers the host's answers to ours: permissions, hooks and MCP calls.

// reply is the host's answer, or a refusal with its reason.
type reply struct {
	body json.RawMessage
	err  error
}

// refusal is the error that the host answered.
type refusal string

func (r refusal) Error() string { return string(r) }

// errStreamClosed says with the CLI's text that stdin ended, so that no answer can come.
//
//lint:ignore ST1005 the CLI capitalizes it
var errStreamClosed = errors.New("Tool permission stream closed before response received")

// ask sends a request to the host, waits for its answer and decodes it. If ctx ends first, it withdraws the
// request.
func (s *session) ask(ctx context.Context, request obj, result any) error {
	id := newUUID()
	answer := make(chan reply, 1) // at most one answer, so resolve never blocks
	s.mu.Lock()
	if s.pending == nil {
		s.mu.Unlock()
		return errStreamClosed
	}
	s.pending[id] = answer
	s.mu.Unlock()
	s.emit(obj{"type": "control_request", "request_id": id, "request": request})
	select {
	case r := <-answer:
		if r.err != nil || len(r.body) == 0 {
			return r.err
		}
		return json.Unmarshal(r.body, result)
	case <-ctx.Done():
		s.resolve(id, reply{})
		s.emit(obj{"type": "control_cancel_request", "request_id": id})
		return context.Cause(ctx)
	}
}

// resolve delivers an answer. An answer to a request that is not pending is ignored.
func (s *session) resolve(id string, r reply) {
	s.mu.Lock()
	answer, ok := s.pending[id]
	delete(s.pending, id)
	s.mu.Unlock()
	if ok {
		answer <- r
	}
}

// hangUp ends the conversation with the host: pending requests get no answer, and no more messages come.
func (s *session) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, answer := range s.pending {
		answer <- reply{err: errStreamClosed} // it never blocks
	}
	s.pending = nil
	s.endOfInput()
}

// controlRequest holds the fields that are read from the host's control requests.
type controlRequest struct {
	Subtype      string                   `json:"subtype"`
	Hooks        map[string][]hookMatcher `json:"hooks"`
	Servers      []string                 `json:"sdkMcpServers"`
	SystemPrompt []string                 `json:"systemPrompt"`
	AppendPrompt string                   `json:"appendSystemPrompt"`
	CancelQueued bool                     `json:"cancel_queued"`
	Question     string                   `json:"question"`
	Mode         string                   `json:"mode"`
	Settings     json.RawMessage          `json:"settings"`
}

// control serves a request of the host.
func (s *session) control(id string, r controlRequest) {
	switch {
	case s.faults.is("control-errors"):
		s.refuse(id, "stand-in fault: control-errors", "")
	case r.Subtype == "initialize" && s.faults.is("silent-init"):
	case r.Subtype == "initialize":
		s.initialize(id, r)
	case r.Subtype == "interrupt":
		s.interrupt(id, r.CancelQueued)
	case r.Subtype == "side_question":
		s.background.Go(func() { s.sideQuestion(id, r.Question) })
	case r.Subtype == "get_context_usage":
		s.respond(id, s.contextUsage())
	case r.Subtype == "get_usage":
		s.respond(id, s.usage())
	case r.Subtype == "set_permission_mode":
		s.setMode(id, r.Mode)
	case r.Subtype == "apply_flag_settings":
		s.applySettings(id, r.Settings)
	case r.Subtype == "list_permission_rules":
		s.respond(id, s.permissionRules())
	case r.Subtype == "mcp_status":
		s.respond(id, obj{"mcpServers": []obj{}})
	default:
		s.refuse(id, "Unsupported control request subtype: "+r.Subtype, "unsupported_request")
	}
}

func (s *session) respond(id string, payload obj) {
	o := obj{"subtype": "success", "request_id": id}
	if payload != nil {
		o["response"] = payload
	}
	s.emit(obj{"type": "control_response", "response": o})
}

func (s *session) refuse(id, text, code string) {
	o := obj{"subtype": "error", "request_id": id, "error": text}
	if code != "" {
		o["error_code"] = code
	}
	s.emit(obj{"type": "control_response", "response": o})
}

// initialize may come late and again: hooks are replaced.
func (s *session) initialize(id string, r controlRequest) {
	s.mu.Lock()
	s.hooks = r.Hooks
	s.systemText = strings.Join(append(append([]string{s.systemText}, r.SystemPrompt...), r.AppendPrompt), "\n\n")
	s.mu.Unlock()
	for _, name := range r.Servers {
		s.handshakes.Go(func() { s.connect(name) })
	}
	s.respond(id, obj{"claude_code_version": version, "stand_in": true, "current_permission_mode": guarded(s, &s.mode),
		"hooks_applied": true})
}

func (s *session) interrupt(id string, cancelQueued bool) {
	var cancelled []string
	if cancelQueued {
		cancelled = uuidsOf(s.take())
	}
	for _, uuid := range cancelled {
		s.lifecycle(uuid, "cancelled")
	}
	payload := obj{"still_queued": s.waiting()}
	if cancelQueued {
		payload["cancelled"] = cancelled
	}
	s.respond(id, payload)
	if t := guarded(s, &s.turn); t != nil {
		t.cancel(errInterrupted)
	}
}

// sideQuestion asks the model outside of the conversation.
func (s *session) sideQuestion(id, question string) {
	a, err := s.main.call(s.ctx, s.main.request(textBlock("<system-reminder>This is a side question: one answer, "+
		"without tools.</system-reminder>\n\n"+question)), false)
	if err != nil {
		s.refuse(id, err.Error(), "")
		return
	}
	s.respond(id, obj{"response": textOf(a.Content), "synthetic": false})
}
