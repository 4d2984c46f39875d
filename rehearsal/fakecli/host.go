package fakecli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// Control requests go both ways. The reader of stdin serves those of the host, the program that started the
// CLI, and delivers the host's answers to ours: permissions, hooks and MCP calls.

// reply is the host's answer, or a refusal with its reason.
type reply struct {
	body json.RawMessage
	err  error
}

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
		set(s, &s.mode, r.Mode)
		s.respond(id, obj{"mode": r.Mode})
	case r.Subtype == "apply_flag_settings":
		s.applySettings(id, r.Settings)
	case r.Subtype == "list_permission_rules":
		s.respond(id, obj{"state": obj{"rules": s.rules()}})
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

// inbound is a line from the host.
type inbound struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   *controlRequest `json:"request"`
	Response  *struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	UUID    string `json:"uuid"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// read reads lines from stdin until it ends or a line is malformed. It never waits for a turn.
func (s *session) read(stdin io.Reader) {
	r := bufio.NewReader(stoppableReader{stdin, s.faults}) // lines are unbounded: 120 MB were seen to work
	for {
		line, err := r.ReadBytes('\n')
		if s.faults.readingStopped.Load() {
			hang()
		}
		s.receive(line)
		if err != nil {
			// The end of input does not stop the session: queued messages still run, without a host to ask.
			s.hangUp()
			return
		}
	}
}

// receive handles one line. Unknown lines are ignored.
func (s *session) receive(line []byte) {
	var in inbound
	_ = json.Unmarshal(line, &in) // other lines have no type
	switch r := in.Response; {
	case in.Type == "control_request" && in.Request != nil:
		s.control(in.RequestID, *in.Request)
	case in.Type == "control_response" && r != nil && r.Subtype == "error":
		s.resolve(r.RequestID, reply{err: errors.New(r.Error)})
	case in.Type == "control_response" && r != nil:
		s.resolve(r.RequestID, reply{body: r.Response})
	case in.Type == "user" && !s.faults.swallows():
		s.userMessage(message{uuid: in.UUID, blocks: contentBlocks(in.Message.Content), content: in.Message.Content})
	}
}

// message is a user message from the host.
type message struct {
	uuid    string            // "" if the host gave none
	blocks  []json.RawMessage // its content as blocks
	content json.RawMessage   // its content as it was sent, for the replay
}

func (m message) text() string { return textOf(m.blocks) }

func uuidsOf(messages []message) []string {
	ids := []string{}
	for _, m := range messages {
		if m.uuid != "" {
			ids = append(ids, m.uuid)
		}
	}
	return ids
}

// userMessage queues a message. A message whose uuid came before, here or to an earlier process, is dropped
// as a repetition.
func (s *session) userMessage(m message) {
	s.mu.Lock()
	answered, repeat := s.known[m.uuid]
	s.known[m.uuid] = answered
	s.mu.Unlock()
	if m.uuid == "" || !repeat {
		s.lifecycle(m.uuid, "queued") // before a turn can take it
		s.inbox.Put(m, len(m.content), backlog.Limit{})
		return
	}
	if !slices.Contains(s.waiting(), m.uuid) {
		s.replay(m)
	}
	if answered {
		s.lifecycle(m.uuid, "completed")
	}
}

// next waits for the message of the next turn; ok is false if no more can come. Further waiting messages
// join the turn as it starts; the CLI makes one message of all of them.
func (s *session) next() (m message, ok bool) {
	for s.ctx.Err() == nil {
		last := s.inputEnded.Err() != nil // read first: nothing is queued after the end of input
		if first, _, _ := s.inbox.Take(1); len(first) > 0 {
			return first[0], true
		} else if last {
			break
		}
		select {
		case <-s.inbox.Wake():
		case <-s.inputEnded.Done():
		case <-s.ctx.Done():
		}
	}
	return message{}, false
}

// take empties the inbox.
func (s *session) take() []message {
	all, _, _ := s.inbox.Take(0)
	return all
}

func (s *session) waiting() []string { return uuidsOf(s.inbox.All()) }

// In a terminal the fake CLI is a line-based conversation, with only what a takeover needs.

const terminalPrompt = "> "

// welcome shows the last answer of the session.
func (s *session) welcome() {
	last := ""
	for _, m := range s.main.messages { // no other goroutine uses it yet
		if text := textOf(m.Content); m.Role == "assistant" && text != "" {
			last = text
		}
	}
	s.out.write([]byte("Claude Code stand-in, session " + s.id + "; /exit leaves\n" + last + "\n" + terminalPrompt))
}

// readTyped reads lines until /exit or the end of the terminal.
func (s *session) readTyped(stdin io.Reader) {
	defer s.hangUp()
	for lines := bufio.NewReader(stdin); ; {
		line, err := lines.ReadString('\n')
		text := strings.TrimSpace(line)
		if text == "/exit" || err != nil {
			return
		}
		if text != "" {
			s.userMessage(message{uuid: newUUID(), blocks: []json.RawMessage{textBlock(text)}, content: encode(text)})
		}
	}
}

// mcpServer is an MCP server of the host, reached through mcp_message.
type mcpServer struct {
	s    *session
	name string
}

// connect requests the tools of a server. If that fails, it has none.
func (s *session) connect(name string) {
	ctx, sv := s.ctx, mcpServer{s, name}
	var list struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	err := sv.call(ctx, "initialize", obj{"protocolVersion": "2025-11-25", "capabilities": obj{},
		"clientInfo": obj{"name": "claude-code", "version": version}}, &struct{}{})
	if err == nil {
		_ = sv.send(ctx, obj{"method": "notifications/initialized"}, &struct{}{}) // its answer has no meaning
		err = sv.call(ctx, "tools/list", obj{}, &list)
	}
	if err != nil {
		fmt.Fprintf(s.stderr, "MCP server %q: %v\n", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range list.Tools {
		full := toolSpec{"mcp__" + name + "__" + t.Name, t.Description, t.InputSchema}
		s.mcpTools = append(s.mcpTools, tool{full, sv.run})
	}
}

func (sv mcpServer) send(ctx context.Context, message obj, response any) error {
	message["jsonrpc"] = "2.0"
	return sv.s.ask(ctx, obj{"subtype": "mcp_message", "server_name": sv.name, "message": message}, response)
}

func (sv mcpServer) call(ctx context.Context, method string, params obj, result any) error {
	var w struct {
		Response struct {
			Result json.RawMessage           `json:"result"`
			Error  *struct{ Message string } `json:"error"`
		} `json:"mcp_response"`
	}
	err := sv.send(ctx, obj{"id": 1, "method": method, "params": params}, &w)
	switch {
	case err != nil:
		return err
	case w.Response.Error != nil:
		return errors.New(w.Response.Error.Message)
	}
	return json.Unmarshal(w.Response.Result, result)
}

func (sv mcpServer) run(ctx context.Context, _ *thread, c toolCall) *toolResult {
	var res struct {
		Content []json.RawMessage `json:"content"`
		IsError bool              `json:"isError"`
	}
	err := sv.call(ctx, "tools/call", obj{"name": strings.TrimPrefix(c.Name, "mcp__"+sv.name+"__"),
		"arguments": c.Input, "_meta": obj{"claudecode/toolUseId": c.ID}}, &res)
	switch {
	case err != nil:
		return failed(err.Error())
	case res.IsError:
		return failed(textOf(res.Content))
	}
	return &toolResult{content: res.Content}
}
