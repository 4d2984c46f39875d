package fakecli

import "strings"

// controlRequest is what is read of any control request of the host.
type controlRequest struct {
	Subtype      string                   `json:"subtype"`
	Hooks        map[string][]hookMatcher `json:"hooks"`
	Servers      []string                 `json:"sdkMcpServers"`
	SystemPrompt []string                 `json:"systemPrompt"`
	AppendPrompt string                   `json:"appendSystemPrompt"`
	CancelQueued bool                     `json:"cancel_queued"`
	Question     string                   `json:"question"`
}

// control serves a request of the host.
func (s *session) control(id string, r controlRequest) {
	switch {
	case s.faults.lasting("control-errors"):
		s.refuse(id, "", "stand-in fault: control-errors")
	case r.Subtype == "initialize" && s.faults.lasting("silent-init"):
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
	case r.Subtype == "mcp_status":
		s.respond(id, obj{"mcpServers": []obj{}})
	default:
		s.refuse(id, "unsupported_request", "Unsupported control request subtype: "+r.Subtype)
	}
}

func (s *session) respond(id string, payload obj) {
	s.emit(obj{"type": "control_response",
		"response": obj{"subtype": "success", "request_id": id, "response": payload}})
}

func (s *session) refuse(id, code, text string) {
	s.emit(obj{"type": "control_response",
		"response": obj{"subtype": "error", "request_id": id, "error": text, "error_code": code}})
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
	s.respond(id, obj{"claude_code_version": version, "stand_in": true, "current_permission_mode": s.mode,
		"hooks_applied": true})
}

func (s *session) interrupt(id string, cancelQueued bool) {
	payload := obj{}
	if cancelQueued {
		gone := uuidsOf(s.inbox.take())
		payload["cancelled"] = gone
		for _, uuid := range gone {
			s.lifecycle(uuid, "cancelled")
		}
	}
	payload["still_queued"] = s.inbox.waiting()
	s.respond(id, payload)
	if t := guarded(s, &s.turn); t != nil {
		t.cancel(errInterrupted)
	}
}

// sideQuestion asks the model outside of the conversation.
func (s *session) sideQuestion(id, question string) {
	r := s.main.request()
	r.Messages = appendMessage(r.Messages, "user", textBlock(
		"<system-reminder>This is a side question: one answer, without tools.</system-reminder>\n\n"+question))
	a, err := s.api.call(s.ctx, r, nil)
	if err != nil {
		s.refuse(id, "", err.Error())
		return
	}
	s.spend(r.Model, a.Usage)
	s.respond(id, obj{"response": a.text(), "synthetic": false})
}
