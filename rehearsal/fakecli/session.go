package fakecli

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
)

// session is one running fake CLI.
type session struct {
	id, cwd string
	flags   flags
	env     environment
	stderr  io.Writer
	out     *lineWriter
	host    *host
	inbox   *inbox
	account *account
	faults  *faults
	ledger  ledger
	api     *apiClient
	main    *thread

	builtin           []tool // never changed
	allow, deny, asks []rule // never changed
	typed             bool   // a person types, in a terminal
	past              *past  // of a resumed session, until the first turn closes it
	introduced        bool   // the conversation has its environment message

	ctx        context.Context
	cancel     context.CancelCauseFunc
	handshakes sync.WaitGroup // with MCP servers
	background sync.WaitGroup // control requests that take time

	// mu guards what follows. It is never held during I/O or across a question to the host.
	mu         sync.Mutex
	mode       string // of permissions
	model      string
	effort     string
	systemText string // replaces the usual prompt
	appendText string
	schema     *verdictSchema
	hooks      map[string][]hookMatcher // by event
	servers    map[string]*mcpServer
	turn       *turn
	state      string // running, requires_action or idle
	questions  int    // permission questions open
	results    int
	failed     bool // the last result was an error
	exit       *int
}

func (s *session) currentModel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model
}

func (s *session) currentMode() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

func (s *session) verdictSchema() *verdictSchema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schema
}

func (s *session) currentTurn() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

func (s *session) setTurn(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = t
}

// emit writes a frame. Control frames go out as they are, others get the session's id and a
// uuid. A terminal shows the results alone.
func (s *session) emit(o obj) {
	kind, _ := o["type"].(string)
	if !strings.HasPrefix(kind, "control_") {
		if _, ok := o["uuid"]; !ok {
			o["uuid"] = newUUID()
		}
		o["session_id"] = s.id
		if o["subtype"] == "init" {
			o["session_id"] = s.faults.sessionToName(s.id)
		}
	}
	switch {
	case !s.typed:
		s.out.write(encode(o))
	case kind == "result":
		text, _ := o["result"].(string)
		s.out.write([]byte(text))
		s.out.write([]byte(terminalPrompt))
	}
}

func (s *session) lifecycle(uuid, state string) {
	if uuid != "" {
		s.emit(obj{"type": "command_lifecycle", "command_uuid": uuid, "state": state})
	}
}

// replay repeats a user message (--replay-user-messages).
func (s *session) replay(m message) {
	if s.flags.has("--replay-user-messages") {
		s.replayText(m.uuid, m.content)
	}
}

func (s *session) replayText(uuid string, content any) {
	message := obj{"role": "user", "content": content}
	o := obj{"type": "user", "isReplay": true, "parent_tool_use_id": nil, "message": message}
	if uuid != "" {
		o["uuid"] = uuid
	}
	s.emit(o)
}

// setState shows a change of the session's state. With from it changes only one of those.
func (s *session) setState(state string, from ...string) {
	s.mu.Lock()
	changed := s.state != state && (len(from) == 0 || slices.Contains(from, s.state))
	if changed {
		s.state = state
	}
	s.mu.Unlock()
	if changed && s.env["CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"] == "1" {
		s.emit(obj{"type": "system", "subtype": "session_state_changed", "state": state})
	}
}

// countQuestion counts open permission questions: any of them makes the session require
// action.
func (s *session) countQuestion(change int) {
	s.mu.Lock()
	s.questions += change
	state := "running"
	if s.questions > 0 {
		state = "requires_action"
	}
	s.mu.Unlock()
	s.setState(state)
}

// capabilities are those that drivers look for.
var capabilities = []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "msg_lifecycle_v1"}

// emitInit shows the session at the start of every turn.
func (s *session) emitInit(t *turn) {
	var names []string
	for _, tl := range s.main.toolset() {
		names = append(names, strings.Replace(tl.Name, "Agent", "Task", 1)) // init calls it that
	}
	source := "none"
	if s.env["ANTHROPIC_API_KEY"] != "" {
		source = "ANTHROPIC_API_KEY"
	}
	s.emit(obj{"type": "system", "subtype": "init", "cwd": s.cwd, "tools": names, "mcp_servers": s.mcpStatus(),
		"model": s.currentModel(), "permissionMode": s.currentMode(), "apiKeySource": source, "claude_code_version": version,
		"stand_in": true, "capabilities": capabilities, "user_message_uuids": t.uuids})
}
