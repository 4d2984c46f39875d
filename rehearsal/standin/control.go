package standin

import (
	"encoding/json"
	"fmt"
	"strings"
)

// controlResult is what became of a control request.
type controlResult struct {
	payload obj
	refused string
	code    string
	then    func() // after the answer is written
}

// control serves a request of the host.
func (s *session) control(id string, raw json.RawMessage) {
	var head struct{ Subtype string }
	_ = json.Unmarshal(raw, &head) // another shape has no subtype, which is unsupported
	if s.faults.refusesControl() {
		s.respond(id, controlResult{refused: "stand-in fault: control-errors"})
		return
	}
	if head.Subtype == "initialize" && s.faults.silentInit() {
		return
	}
	switch head.Subtype {
	case "side_question":
		s.aside.Go(func() { s.respond(id, s.sideQuestion(id, raw)) })
		return
	case "set_model":
		s.aside.Go(func() { s.respond(id, s.setModelRequest(raw)) })
		return
	}
	serve, ok := controlHandlers[head.Subtype]
	if !ok {
		name := head.Subtype
		if name == "" {
			name = "undefined"
		}
		s.respond(id, controlResult{refused: "Unsupported control request subtype: " + name, code: "unsupported_request"})
		return
	}
	s.respond(id, serve(s, raw))
}

func (s *session) respond(id string, r controlResult) {
	body := obj{"subtype": "success", "request_id": id}
	switch {
	case r.refused != "":
		body["subtype"], body["error"] = "error", r.refused
		if r.code != "" {
			body["error_code"] = r.code
		}
	case r.payload != nil:
		body["response"] = r.payload
	}
	s.emit(obj{"type": "control_response", "response": body})
	if r.then != nil {
		r.then()
	}
}

// controlHandlers by subtype: what drives sessions asks for no more.
var controlHandlers = map[string]func(*session, json.RawMessage) controlResult{
	"initialize":          (*session).initialize,
	"interrupt":           (*session).interrupt,
	"set_permission_mode": (*session).setPermissionMode,
	"get_context_usage": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: s.contextUsage()}
	},
	"get_usage": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: obj{"session": s.ledger.spentSoFar(), "subscription_type": nil,
			"rate_limits_available": false, "rate_limits": nil, "behaviors": nil}}
	},
	"mcp_status": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: obj{"mcpServers": s.mcp.report()}}
	},
}

// initialize may come late and again: hooks are replaced, the schema is not.
func (s *session) initialize(raw json.RawMessage) controlResult {
	var in struct {
		Hooks        map[string][]hookMatcher `json:"hooks"`
		Servers      []string                 `json:"sdkMcpServers"`
		Schema       json.RawMessage          `json:"jsonSchema"`
		SystemPrompt json.RawMessage          `json:"systemPrompt"`
		AppendPrompt string                   `json:"appendSystemPrompt"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return controlResult{refused: "Invalid initialize request: " + err.Error()}
	}
	s.hooks.set(in.Hooks)
	if err := s.adoptSchema(in.Schema); err != nil {
		return controlResult{refused: err.Error()}
	}
	s.mu.Lock()
	var text string
	var parts []string
	if json.Unmarshal(in.SystemPrompt, &text) == nil && text != "" {
		s.systemText = text
	} else if json.Unmarshal(in.SystemPrompt, &parts) == nil && len(parts) > 0 {
		s.systemText = strings.Join(parts, "\n\n")
	}
	if in.AppendPrompt != "" {
		s.appendText = in.AppendPrompt
	}
	s.mu.Unlock()
	s.mcp.connect(s.ctx, in.Servers)
	return controlResult{payload: obj{
		"commands": []obj{}, "agents": []obj{{"name": "general-purpose", "description": "General-purpose agent"}},
		"output_style": "default", "available_output_styles": []string{"default"}, "models": modelList(),
		"account": obj{"tokenSource": "none", "apiKeySource": s.keySource(), "apiProvider": "firstParty"},
		"pid":     s.pid, "claude_code_version": version, "stand_in": true, "current_permission_mode": s.perms.currentMode(),
		"hooks_applied": true, "hook_on_failure_supported": true, "session_state": s.currentState(),
		"pending_permission_requests": []obj{}, "capabilities": capabilities,
	}}
}

// adoptSchema takes the verdict's schema if there is none yet.
func (s *session) adoptSchema(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" || s.verdictSchema() != nil {
		return nil
	}
	check, err := parseSchema(raw)
	if err != nil {
		return fmt.Errorf("jsonSchema is not a valid JSON Schema: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schema = &verdictSchema{raw, check}
	return nil
}

func modelList() []obj {
	var out []obj
	for _, alias := range []string{"default", "opus", "fable", "sonnet", "haiku"} {
		out = append(out, obj{"value": alias, "resolvedModel": modelAliases[alias], "displayName": alias, "supportsEffort": true})
	}
	return out
}

func (s *session) interrupt(raw json.RawMessage) controlResult {
	var in struct {
		CancelQueued bool `json:"cancel_queued"`
	}
	_ = json.Unmarshal(raw, &in) // a plain interrupt has nothing else
	payload := obj{}
	if in.CancelQueued {
		gone := s.inbox.cancel()
		payload["cancelled"] = gone
		for _, id := range gone {
			s.lifecycle(id, "cancelled")
		}
	}
	payload["still_queued"] = s.inbox.waiting()
	return controlResult{payload: payload, then: func() {
		if t := s.currentTurn(); t != nil {
			t.cancel(errInterrupted)
		}
	}}
}

// setModelRequest tries a named model with a call before it takes it (observed
// with CLI 2.1.329).
func (s *session) setModelRequest(raw json.RawMessage) controlResult {
	var in struct{ Model string }
	_ = json.Unmarshal(raw, &in) // no model means the session's first
	if in.Model != "" {
		r := modelRequest{model: in.Model, effort: "low", session: s.id, system: []json.RawMessage{textBlock(billingHeader)},
			messages: []wireMessage{{Role: "user", Content: []json.RawMessage{textBlock("Hi")}}}}
		if _, err := s.api.try(s.ctx, r, true, silent{}); err != nil {
			return controlResult{refused: err.Error(), code: "check_failed"}
		}
	}
	s.setModel(in.Model)
	return controlResult{payload: obj{"model": s.currentModel()}}
}

func (s *session) setPermissionMode(raw json.RawMessage) controlResult {
	var in struct{ Mode string }
	_ = json.Unmarshal(raw, &in) // no mode is an invalid one
	if code, message := s.perms.setMode(in.Mode); code != "" {
		return controlResult{refused: message, code: code}
	}
	mode := s.perms.currentMode()
	return controlResult{payload: obj{"mode": mode}, then: func() {
		s.emit(obj{"type": "system", "subtype": "status", "status": nil, "permissionMode": mode})
	}}
}
