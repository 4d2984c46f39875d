package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// inbound is a line from the host.
type inbound struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  *struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	UUID    string `json:"uuid"`
	Message *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Priority    string `json:"priority"`
	ShouldQuery *bool  `json:"shouldQuery"`
	Composed    bool   `json:"client_composed"`
}

// read takes lines from stdin until it ends or one is malformed. It never waits
// for a turn: requests that take time are answered aside.
func (s *session) read(stdin io.Reader) {
	r := bufio.NewReader(stdin) // lines are unbounded: 120 MB were seen to work
	for {
		line, err := r.ReadBytes('\n')
		if s.faults.deaf() {
			<-s.ctx.Done()
			return
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if bad := s.receive(line); bad != nil {
				fmt.Fprintln(s.stderr, bad)
				one := 1
				s.leave(&one, errTerminated)
				return
			}
		}
		if err != nil {
			// End of input is no stop: what is queued still runs, without a host to ask.
			s.host.close()
			s.inbox.close()
			return
		}
	}
}

// receive handles one line. The error is fatal, in the CLI's words.
func (s *session) receive(line []byte) error {
	var in inbound
	switch line[0] {
	case '{':
	case '[', '"':
		if json.Valid(line) {
			return nil
		}
	default:
		var n float64
		if json.Unmarshal(line, &n) == nil && string(line) != "null" {
			return nil
		}
	}
	if string(line) == "null" {
		return fmt.Errorf("Error parsing streaming input line (type=unknown, %d chars): TypeError", len(line))
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return fmt.Errorf("Error parsing streaming input line (type=unknown, %d chars): SyntaxError", len(line))
	}
	switch in.Type {
	case "control_request":
		if len(in.Request) == 0 || string(in.Request) == "null" {
			return errors.New("Error: Missing request on control_request")
		}
		s.control(in.RequestID, in.Request)
	case "control_response":
		if in.Response != nil {
			s.answered(line, in)
		}
	case "user":
		return s.userMessage(in)
	}
	return nil
}

// answered hands the host's answer on; with --replay-user-messages the CLI echoes it.
func (s *session) answered(line []byte, in inbound) {
	r := reply{body: in.Response.Response}
	if in.Response.Subtype == "error" {
		r.refused = in.Response.Error
		if r.refused == "" {
			r.refused = "unknown error"
		}
	}
	if s.replays {
		s.out.write(bytes.Clone(line))
	}
	s.host.resolve(in.Response.RequestID, r)
}

func (s *session) userMessage(in inbound) error {
	role := "undefined"
	if in.Message != nil {
		role = in.Message.Role
	}
	if role != "user" {
		return fmt.Errorf("Error: Expected message role 'user', got '%s'", role)
	}
	blocks, err := contentBlocks(in.Message.Content)
	if err != nil {
		return errors.New("Error: Expected message content to be a string or a list of blocks")
	}
	m := message{uuid: in.UUID, blocks: blocks, content: in.Message.Content, priority: in.Priority,
		noQuery: in.ShouldQuery != nil && !*in.ShouldQuery, composed: in.Composed}
	if len(m.content) == 0 {
		m.content = json.RawMessage(`""`)
	}
	switch s.inbox.admit(m.uuid) {
	case repeated:
		s.replay(m)
		return nil
	case inQueue:
		return nil
	case pastDone:
		s.lifecycle(m.uuid, "completed")
		return nil
	}
	s.setState(s.stateWhenAsked())
	s.lifecycle(m.uuid, "queued")
	s.transcript().note(obj{"type": "queue-operation", "operation": "enqueue", "timestamp": now(), "content": m.text()})
	s.inbox.push(m)
	if t := s.currentTurn(); t != nil && m.priority == "now" {
		t.makeWay()
	}
	return nil
}

// stateWhenAsked is the state after a message came: an open question stays open.
func (s *session) stateWhenAsked() string {
	if st := s.currentState(); st != "idle" {
		return st
	}
	return "running"
}

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
	if head.Subtype == "side_question" {
		s.aside.Go(func() { s.respond(id, s.sideQuestion(id, raw)) })
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

// controlHandlers by subtype. Requests that only need to succeed do so.
var controlHandlers = map[string]func(*session, json.RawMessage) controlResult{
	"initialize":           (*session).initialize,
	"interrupt":            (*session).interrupt,
	"end_session":          (*session).endSession,
	"set_model":            (*session).setModelRequest,
	"set_permission_mode":  (*session).setPermissionMode,
	"cancel_async_message": (*session).cancelMessage,
	"mcp_message":          (*session).mcpNotice,
	"get_context_usage": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: s.contextUsage()}
	},
	"get_session_cost": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: obj{"text": s.ledger.text()}}
	},
	"mcp_status": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: obj{"mcpServers": s.mcp.report()}}
	},
	"get_binary_version": func(*session, json.RawMessage) controlResult {
		return controlResult{payload: obj{"version": version}}
	},
	"get_settings": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: obj{"effective": obj{}, "sources": []obj{}, "applied": obj{"model": s.currentModel(), "effort": s.effort()}}}
	},
	"list_permission_rules": func(s *session, _ json.RawMessage) controlResult {
		return controlResult{payload: obj{"state": obj{"rules": []obj{}, "workspaceDirectories": []obj{}, "originalCwd": s.cwd}}}
	},
	"stop_task":               succeed,
	"apply_flag_settings":     succeed,
	"set_max_thinking_tokens": succeed,
	"rename_session":          succeed,
	"background_tasks":        succeed,
}

func succeed(*session, json.RawMessage) controlResult { return controlResult{payload: obj{}} }

// initialize may come late and again: hooks are replaced, the schema is not.
func (s *session) initialize(raw json.RawMessage) controlResult {
	var in struct {
		Hooks   map[string][]hookMatcher `json:"hooks"`
		Servers []string                 `json:"sdkMcpServers"`
		Configs map[string]struct {
			Timeout int `json:"timeout"`
		} `json:"sdkMcpServerConfigs"`
		Schema       json.RawMessage     `json:"jsonSchema"`
		SystemPrompt json.RawMessage     `json:"systemPrompt"`
		AppendPrompt string              `json:"appendSystemPrompt"`
		Agents       map[string]agentDef `json:"agents"`
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
	if in.Agents != nil {
		s.agents = in.Agents
	}
	s.mu.Unlock()
	timeouts := map[string]time.Duration{}
	for name, c := range in.Configs {
		timeouts[name] = time.Duration(c.Timeout) * time.Millisecond
	}
	s.mcp.connect(s.ctx, in.Servers, timeouts)
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

func (s *session) endSession(json.RawMessage) controlResult {
	return controlResult{then: func() { s.leave(nil, errInterrupted) }}
}

func (s *session) setModelRequest(raw json.RawMessage) controlResult {
	var in struct{ Model string }
	_ = json.Unmarshal(raw, &in) // no model means the session's first
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

func (s *session) cancelMessage(raw json.RawMessage) controlResult {
	var in struct {
		UUID string `json:"message_uuid"`
	}
	_ = json.Unmarshal(raw, &in) // no uuid cancels nothing
	gone := in.UUID != "" && len(s.inbox.cancel(in.UUID)) > 0
	return controlResult{payload: obj{"cancelled": gone}, then: func() {
		if gone {
			s.lifecycle(in.UUID, "cancelled")
		}
	}}
}

// mcpNotice takes a notification of one of the host's MCP servers.
func (s *session) mcpNotice(raw json.RawMessage) controlResult {
	var in struct {
		Server  string `json:"server_name"`
		Message struct{ Method string }
	}
	if json.Unmarshal(raw, &in) == nil && in.Message.Method == "notifications/tools/list_changed" {
		return controlResult{payload: obj{}, then: func() { s.mcp.relist(s.ctx, in.Server) }}
	}
	return controlResult{payload: obj{}}
}

// sideQuestion asks the model outside the conversation.
func (s *session) sideQuestion(id string, raw json.RawMessage) controlResult {
	var in struct{ Question string }
	_ = json.Unmarshal(raw, &in) // an empty question is still one
	s.emit(obj{"type": "system", "subtype": "control_request_progress", "request_id": id, "status": "started"})
	r := s.main.request()
	r.messages = append(r.messages, wireMessage{Role: "user", Content: []json.RawMessage{textBlock(
		"<system-reminder>This is a side question from the user. You must answer this question directly in a single response. " +
			"You have NO tools available.</system-reminder>\n\n" + in.Question)}})
	begun := time.Now()
	a, err := s.api.call(s.ctx, r, silent{})
	if err != nil {
		return controlResult{refused: err.Error()}
	}
	s.ledger.add(r.model, a.usage, false, time.Since(begun))
	return controlResult{payload: obj{"response": a.text(), "synthetic": false}}
}
