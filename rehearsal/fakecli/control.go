package fakecli

import (
	"encoding/json"
	"slices"
	"strings"
)

// controlRequest is what is read of any control request of the host.
type controlRequest struct {
	Subtype      string                   `json:"subtype"`
	Hooks        map[string][]hookMatcher `json:"hooks"`
	Servers      []string                 `json:"sdkMcpServers"`
	Schema       json.RawMessage          `json:"jsonSchema"`
	SystemPrompt []string                 `json:"systemPrompt"`
	AppendPrompt string                   `json:"appendSystemPrompt"`
	CancelQueued bool                     `json:"cancel_queued"`
	Question     string                   `json:"question"`
	Model        string                   `json:"model"`
	Mode         string                   `json:"mode"`
}

// control serves a request of the host.
func (s *session) control(id string, raw json.RawMessage) {
	var r controlRequest
	if err := json.Unmarshal(raw, &r); err != nil {
		s.refuse(id, "", err.Error())
		return
	}
	switch {
	case s.faults.refusesControl():
		s.refuse(id, "", "stand-in fault: control-errors")
	case r.Subtype == "initialize" && s.faults.silentInit():
	case r.Subtype == "side_question":
		s.background.Go(func() { s.sideQuestion(id, r.Question) })
	case r.Subtype == "set_model":
		s.background.Go(func() { s.setModel(id, r.Model) })
	case r.Subtype == "initialize":
		s.initialize(id, r)
	case r.Subtype == "interrupt":
		s.interrupt(id, r.CancelQueued)
	case r.Subtype == "set_permission_mode":
		s.setMode(id, r.Mode)
	case r.Subtype == "get_context_usage":
		s.respond(id, s.contextUsage())
	case r.Subtype == "get_usage":
		s.respond(id, s.account.session())
	case r.Subtype == "mcp_status":
		s.respond(id, obj{"mcpServers": s.mcpStatus()})
	default:
		s.refuse(id, "unsupported_request", "Unsupported control request subtype: "+r.Subtype)
	}
}

func (s *session) respond(id string, payload obj) {
	s.emit(obj{"type": "control_response", "response": obj{"subtype": "success", "request_id": id, "response": payload}})
}

func (s *session) refuse(id, code, text string) {
	body := obj{"subtype": "error", "request_id": id, "error": text}
	if code != "" {
		body["error_code"] = code
	}
	s.emit(obj{"type": "control_response", "response": body})
}

// initialize may come late and again: hooks are replaced, the schema is not.
func (s *session) initialize(id string, r controlRequest) {
	if s.verdictSchema() == nil && len(r.Schema) > 0 {
		schema, err := newVerdictSchema(r.Schema)
		if err != nil {
			s.refuse(id, "", "jsonSchema is not a valid JSON Schema: "+err.Error())
			return
		}
		s.mu.Lock()
		s.schema = schema
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.hooks = r.Hooks
	if len(r.SystemPrompt) > 0 {
		s.systemText = strings.Join(r.SystemPrompt, "\n\n")
	}
	if r.AppendPrompt != "" {
		s.appendText = r.AppendPrompt
	}
	state, mode := s.state, s.mode
	s.mu.Unlock()
	s.connect(r.Servers)
	s.respond(id, obj{"claude_code_version": version, "stand_in": true, "current_permission_mode": mode,
		"session_state": state, "hooks_applied": true, "hook_on_failure_supported": true, "capabilities": capabilities})
}

func (s *session) interrupt(id string, cancelQueued bool) {
	payload := obj{}
	if cancelQueued {
		gone, _ := s.inbox.take()
		payload["cancelled"] = uuidsOf(gone)
		for _, m := range gone {
			s.lifecycle(m.uuid, "cancelled")
		}
	}
	payload["still_queued"] = s.inbox.waiting()
	s.respond(id, payload)
	if t := s.currentTurn(); t != nil {
		t.cancel(errInterrupted)
	}
}

// setModel tries a named model with a call before it takes it (observed with CLI 2.1.329).
// The change is in the stream and in the history.
func (s *session) setModel(id, name string) {
	model := resolveModel(name)
	if name == "" {
		model = resolveModel(s.flags.get("--model"))
	} else {
		r := modelRequest{Model: model, System: s.system(nil)[:1], Messages: appendMessage(nil, "user", textBlock("Hi"))}
		body, err := s.api.post(s.ctx, r)
		if err != nil {
			s.refuse(id, "check_failed", err.Error())
			return
		}
		body.Close()
	}
	s.mu.Lock()
	s.model = model
	s.mu.Unlock()
	text := "<local-command-stdout>Set model to `" + model + "`</local-command-stdout>"
	uuid := newUUID()
	s.replayText(uuid, text)
	s.main.add("user", textBlock(text))
	s.main.linkUser(uuid, text, nil)
	s.respond(id, obj{"model": model})
}

// permissionModes are those that can be chosen; this CLI is never started for bypassPermissions.
var permissionModes = []string{"default", "manual", "acceptEdits", "auto", "dontAsk", "plan"}

func (s *session) setMode(id, mode string) {
	switch {
	case mode == "bypassPermissions":
		s.refuse(id, "bypass_not_launched", "the session was not launched for bypassPermissions")
		return
	case !slices.Contains(permissionModes, mode):
		s.refuse(id, "invalid_mode", "the mode must be one of "+strings.Join(permissionModes, ", "))
		return
	case mode == "manual":
		mode = "default"
	}
	s.mu.Lock()
	s.mode = mode
	s.mu.Unlock()
	s.respond(id, obj{"mode": mode})
	s.emit(obj{"type": "system", "subtype": "status", "status": nil, "permissionMode": mode})
}

// sideQuestion asks the model outside of the conversation.
func (s *session) sideQuestion(id, question string) {
	s.emit(obj{"type": "system", "subtype": "control_request_progress", "request_id": id, "status": "started"})
	r := s.main.request()
	r.Messages = appendMessage(r.Messages, "user", textBlock(
		"<system-reminder>This is a side question: one answer, without tools.</system-reminder>\n\n"+question))
	a, err := s.aside(r)
	if err != nil {
		s.refuse(id, "", err.Error())
		return
	}
	s.respond(id, obj{"response": a.text(), "synthetic": false})
}
